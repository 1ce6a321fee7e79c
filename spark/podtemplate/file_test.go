package podtemplate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFromFile checks that files have the meaning that Spark gives them: YAML 1.2, and scalars of the field's type.
// spark/submit compares the same rules with recordings of spark-submit (the cases template-yaml-* and template-json-*).
func TestFromFile(t *testing.T) {
	for text, want := range map[string]string{
		"spec: {nodeName: y}":                                                           `{"spec":{"nodeName":"y"}}`,
		"spec: {nodeName: 8080}":                                                        `{"spec":{"nodeName":"8080"}}`,
		"spec: {nodeName: 1.50}":                                                        `{"spec":{"nodeName":"1.5"}}`,
		"spec: {nodeName: 1e400}":                                                       `{"spec":{"nodeName":"Infinity"}}`,
		"spec: {nodeName: 0x1F}":                                                        `{"spec":{"nodeName":"0x1F"}}`,
		"spec: {nodeName: 12345678901234567890}":                                        `{"spec":{"nodeName":"12345678901234567890"}}`,
		"spec: {nodeName: !!str 7}":                                                     `{"spec":{"nodeName":"7"}}`,
		"spec: {nodeName: null}":                                                        `{"spec":{"nodeName":null}}`,
		"spec: {nodeName: 'null'}":                                                      `{"spec":{"nodeName":"null"}}`,
		"spec: {nodeName: ~}":                                                           `{"spec":{"nodeName":"~"}}`,
		"spec: {nodeName: {a: 7}}":                                                      `{"spec":{"nodeName":{"a":7}}}`,
		"spec: {nodeSelector: {gpu: true, yes: 010}}":                                   `{"spec":{"nodeSelector":{"gpu":"true","yes":"010"}}}`,
		"metadata: {annotations: {7: a, true: b}}":                                      `{"metadata":{"annotations":{"7":"a","true":"b"}}}`,
		"spec: {hostNetwork: 'TRUE'}":                                                   `{"spec":{"hostNetwork":true}}`,
		"spec: {hostNetwork: ' false '}":                                                `{"spec":{"hostNetwork":false}}`,
		"spec: {hostNetwork: 2}":                                                        `{"spec":{"hostNetwork":true}}`,
		"spec: {hostNetwork: 0}":                                                        `{"spec":{"hostNetwork":false}}`,
		"spec: {hostNetwork: ''}":                                                       `{"spec":{"hostNetwork":null}}`,
		"spec: {hostNetwork: yes}":                                                      `{"spec":{"hostNetwork":"yes"}}`,
		"spec: {priority: ' 010 '}":                                                     `{"spec":{"priority":10}}`,
		"spec: {priority: ''}":                                                          `{"spec":{"priority":null}}`,
		"spec: {priority: '1.0'}":                                                       `{"spec":{"priority":"1.0"}}`,
		"spec: {priority: 1e30}":                                                        `{"spec":{"priority":1.0E30}}`,
		"spec: {securityContext: {runAsUser: '185'}}":                                   `{"spec":{"securityContext":{"runAsUser":185}}}`,
		"spec: {containers: [{args: [-p, 80, true]}]}":                                  `{"spec":{"containers":[{"args":["-p","80","true"]}]}}`,
		"spec: {containers: [{resources: {limits: {cpu: 2, memory: 1e3}}}]}":            `{"spec":{"containers":[{"resources":{"limits":{"cpu":"2","memory":"1000.0"}}}]}}`,
		"spec: {containers: [{livenessProbe: {tcpSocket: {port: 80}}}]}":                `{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":80}}}]}}`,
		"spec: {containers: [{livenessProbe: {tcpSocket: {port: '80'}}}]}":              `{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":"80"}}}]}}`,
		"spec: {containers: [{livenessProbe: {tcpSocket: {port: 8.5}}}]}":               `{"spec":{"containers":[{"livenessProbe":{"tcpSocket":{"port":8.5}}}]}}`,
		"spec: {later: {a: yes, b: 010, c: 7, d: 1.50, e: true, f: ~, g: [1e3]}}":       `{"spec":{"later":{"a":"yes","b":"010","c":7,"d":1.5,"e":true,"f":"~","g":[1000.0]}}}`,
		"spec: {later: {a: .inf, b: -.inf, c: .nan, d: -0, e: !!int '8', f: !!null x}}": `{"spec":{"later":{"a":"Infinity","b":"-Infinity","c":"NaN","d":0,"e":8,"f":null}}}`,
		"# a\n%YAML 1.2\n---\nspec: {nodeName: y}\n...\n":                               `{"spec":{"nodeName":"y"}}`,
		"%YAML 1.1 # old\r\n---\r\nspec: {nodeName: y}\r\n":                             `{"spec":{"nodeName":"y"}}`,
		"---\n---\nspec: {}\n---\n# no more\n":                                          `{"spec":{}}`,
		"{spec: {nodeName: 7}}":                                                         `{"spec":{"nodeName":"7"}}`,
		"spec: {nodeName: 'a&b', hostname: '*b'}":                                       `{"spec":{"hostname":"*b","nodeName":"a&b"}}`,
		"spec: &unused\n  nodeName: |\n    7\n":                                         `{"spec":{"nodeName":"7\n"}}`,
		` {"spec": {"nodeName": "y"}, "later": 1.50} `:                                  ` {"spec": {"nodeName": "y"}, "later": 1.50} `,
		`{"spec": {"nodeName": 1.50}, "later": 1.50}`:                                   `{"later":1.50,"spec":{"nodeName":"1.50"}}`,
	} {
		got, err := FromFile([]byte(text), "4.1.4")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}

		got = []byte(strings.ReplaceAll(string(got), `\u0026`, "&"))
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}

		if !json.Valid(got) {
			t.Errorf("%s: %s is not JSON", text, got)
		}
	}
}

func TestFromFileRefuses(t *testing.T) {
	deep := strings.Repeat("{a: ", maxDepth+2) + strings.Repeat("}", maxDepth+2)
	for text, says := range map[string]string{
		"":                     "contains no pod",
		"words":                "contains no pod",
		"[]":                   "contains no pod",
		`["a"]`:                "contains no pod",
		"a: b: c":              "is neither JSON nor YAML: mapping values are not allowed",
		"spec:\n\t- a":         "is neither JSON nor YAML: line 2",
		"%YAML 2.0\n---\na: b": "is neither JSON nor YAML: ",
		"a: 1\nb: 2\na: 3":     "has the key a twice in one object, the second time at line 3; keep one of them",
		"a: {1: x, '1': y}":    "has the key 1 twice",
		"a: 1\n---\n\nb: 2\n":  "has a second YAML document at line 4, but only one is allowed; remove the others",
		"a: &x {b: *x}":        "cannot be read: line 1: has an alias to a value that contains the alias; write out the value",
		"a: *x":                "is neither JSON nor YAML: unknown anchor 'x' referenced",
		"a:\n- \"b\": x\x01":   `has the character \x01 at line 2, behind the key b; put the value in double quotation marks, and write the character as \x01`,
		"a: |\n  x: y\x7f":     `has the character \u007f at line 2, behind the key x; put`,
		"# a\u2028b: c":        `has the character \u2028 at line 1; put`,
		`a: "\q\/"`:            "is neither JSON nor YAML: found unknown escape character",
		`a: ["\/", \x2F\x2f\u002F\u002f\U0000002F\U0000002f]`: "is neither JSON nor YAML: found unknown escape character",
		"a: {<<: {b: c}}":  "has the merge key << at line 1",
		"a: !!binary aGk=": "has the tag !!binary at line 1, which means nothing in a pod; remove the tag",
		"a: !mine {}":      "has the tag !mine at line 1",
		"a: !mine []":      "has the tag !mine at line 1",
		"a: !!int x":       `has at line 1 the tag !!int before "x", but this value has another type`,
		"a: !!bool 7":      "the tag !!bool",
		"null: a":          "has a key at line 1 that is not text",
		"[a]: b":           "has a key at line 1 that is not text",
		"{a: b}: c":        "has a key at line 1 that is not text",
		deep:               fmt.Sprintf("is nested more than %d lists and objects deep; use fewer levels", maxDepth),
		strings.ReplaceAll(deep, "a:",
			`"a":`): fmt.Sprintf("is nested more than %d lists and objects deep; use fewer levels", maxDepth),
	} {
		if _, err := FromFile([]byte(text), "4.1.4"); err == nil || !strings.Contains(err.Error(), says) ||
			len(err.Error()) > 400 {
			t.Errorf("%.60s: the error is %v, want %q in it", text, err, says)
		}
	}
}

// TestWrongTypesNameTheirField checks that Read rejects a value that FromFile cannot convert, and names the field.
func TestWrongTypesNameTheirField(t *testing.T) {
	for text, says := range map[string]string{
		"spec: {hostNetwork: yes}":                                   `spec.hostNetwork: is the text "yes", not a boolean; write true or false`,
		"spec: {priority: 7.9}":                                      "spec.priority: is the number 7.9, not a whole number; write one such as 1",
		"spec: {priority: 0o10}":                                     `spec.priority: is the text "0o10", not a whole number; write 8`,
		"spec: {volumes: [{name: v, secret: {defaultMode: 0888}}]}":  `spec.volumes[0].secret.defaultMode: is the text "0888", not a whole number; write 888`,
		"spec: {volumes: [{name: v, secret: {defaultMode: +0400}}]}": `spec.volumes[0].secret.defaultMode: is the text "+0400", not a whole number; write 256`,
		"spec: {priority: '1.0'}":                                    `spec.priority: is the text "1.0", not a whole number; write one such as 1`,
		"spec: {priority: true}":                                     "spec.priority: is the boolean true, not a whole number; write one such as 1",
		"spec: {nodeName: [a]}":                                      "spec.nodeName: is a list, not text; write a single text",
		"spec: {nodeSelector: [a]}":                                  "spec.nodeSelector: is a list, not a map; write a line KEY: TEXT for each entry, without a hyphen",
		"spec: {containers: [{name: a, tty: x}]}":                    `spec.containers[0].tty: is the text "x", not a boolean; write true or false`,
	} {
		data, err := FromFile([]byte(text), "4.1.4")
		if err != nil {
			t.Fatal(err)
		}

		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: the error is %v, want %q in it", text, err, says)
		}
	}
}

// TestOldSparkReadsModesAsDecimals checks the integers that Spark 3.5 reads in another way than later releases.
func TestOldSparkReadsModesAsDecimals(t *testing.T) {
	for text, want := range map[string][2]string{
		"spec: {volumes: [{name: v, secret: {defaultMode: 0400}}]}":  {`400`, `256`},
		"spec: {volumes: [{name: v, secret: {defaultMode: 0o400}}]}": {`"0o400"`, `256`},
		"spec: {volumes: [{name: v, secret: {defaultMode: 40.5}}]}":  {`40`, `40.5`},
	} {
		for i, version := range []string{"3.5.9", "4.0.5"} {
			got, err := FromFile([]byte(text), version)
			if want := `{"spec":{"volumes":[{"name":"v","secret":{"defaultMode":` + want[i] + `}}]}}`; err != nil ||
				string(got) != want {
				t.Errorf("Spark %s: %s becomes %s, %v, want %s", version, text, got, err, want)
			}
		}
	}
}
