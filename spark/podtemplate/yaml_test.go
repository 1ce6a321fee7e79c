package podtemplate

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// TestScalarsHaveTheTypesOfYAML12 checks the types of scalars against the JSON schema of YAML 1.2 (chapter 10.2 of its
// specification), and against the resolver of SnakeYAML Engine, which Spark uses. Words and numbers that only YAML 1.1
// knows are text.
func TestScalarsHaveTheTypesOfYAML12(t *testing.T) {
	number := func(text string) any { return json.Number(text) }
	for text, want := range map[string]any{
		"": nil, "null": nil, "Null": "Null", "NULL": "NULL", "~": "~",
		"true": true, "false": false, "True": "True", "FALSE": "FALSE", "yes": "yes", "No": "No", "on": "on",
		"off": "off", "y": "y",
		"0": number("0"), "5": number("5"), "-7": number("-7"), "-0": number("0"),
		"12345678901234567890123": number("12345678901234567890123"),
		"007":                     "007", "00": "00", "-01": "-01", "+5": "+5", "0o17": "0o17", "0x1F": "0x1F",
		"0b11": "0b11", "1_000": "1_000", "1:30": "1:30",
		"1.": number("1.0"), "1.50": number("1.5"), "-0.0": number("-0.0"), "1e3": number("1000.0"),
		"1E+3": number("1000.0"), "1e-5": number("1.0E-5"),
		"12345678.5": number("1.23456785E7"), "1e-400": number("0.0"), "1e400": "Infinity", "-1e400": "-Infinity",
		".5": ".5", "-.5": "-.5", "01.5": "01.5", "+1.5": "+1.5", "1e": "1e", "1.5.2": "1.5.2", "1,5": "1,5",
		".inf": "Infinity", "-.inf": "-Infinity", ".nan": "NaN", "+.inf": "+.inf", ".Inf": ".Inf", ".NaN": ".NaN",
		"-.nan":      "-.nan",
		"2001-12-14": "2001-12-14", "2001-12-14T21:59:43Z": "2001-12-14T21:59:43Z", "<<": "<<", "=": "=",
		"'7'": "7", `"true"`: "true", "''": "", "'null'": "null", "|\n    7\n": "7\n", ">-\n    null\n": "null",
		"&anchor 7": number("7"), "&anchor": nil,
		"!!str 7": "7", "!!str": "", "!!str null": "null", "!!int 8": number("8"), "!!int '8'": number("8"),
		"!!int -0":  number("0"),
		"!!float 8": number("8"), "!!float 1.50": number("1.5"), "!!bool true": true, "!!bool 'false'": false,
		"!!null x": nil, "!!null ''": nil,
		"!!seq [!!str 1, 2]": []any{"1", number("2")}, "!!map {a: 1}": map[string]any{"a": number("1")}, "[]": []any{},
		"{}": map[string]any{},
	} {
		tree, err := parseYAML([]byte("v: " + text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}

		if diff := cmp.Diff(map[string]any{"v": want}, tree); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestKeysAreText checks that a key that is a scalar becomes text. A number has the text that Java gives it.
func TestKeysAreText(t *testing.T) {
	for text, want := range map[string]string{
		"a: x": "a", "7: x": "7", "1.50: x": "1.5", "-0: x": "0", "010: x": "010", "true: x": "true", "~: x": "~",
		"'': x": "", "'null': x": "null",
		"'<<': x": "<<", `"<<": x`: "<<", "!!str 7: x": "7", "!!str <<: x": "<<", "? |\n  a\n: x": "a\n",
		".inf: x": "Infinity", "&a b: x": "b",
	} {
		tree, err := parseYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}

		if diff := cmp.Diff(map[string]any{want: "x"}, tree); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestOneDocumentMayHaveContent checks that empty documents are ignored, and that the version directive of the document
// does not matter.
func TestOneDocumentMayHaveContent(t *testing.T) {
	for text, want := range map[string]any{
		"": nil, "# nothing\n": nil, "---\n": nil, "---\n...\n---\nnull\n": nil,
		"a: b": map[string]any{"a": "b"}, "---\n---\na: b\n": map[string]any{"a": "b"},
		"a: b\n---\n":                 map[string]any{"a": "b"},
		"a: b\n---\n# no more\n...\n": map[string]any{"a": "b"}, "null\n---\na: b": map[string]any{"a": "b"},
		"%YAML 1.2\n---\na: b": map[string]any{"a": "b"}, "%YAML 1.3 # later\n---\na: b": map[string]any{"a": "b"},
		"\n# a\r\n%YAML\t1.2\r\n---\r\na: b\r\n":   map[string]any{"a": "b"},
		"%TAG ! tag:x,2000:\n%YAML 1.2\n---\na: b": map[string]any{"a": "b"},
		"words": "words", "7": json.Number("7"), "- a": []any{"a"},
		"a: |\n  %YAML 1.2\n": map[string]any{"a": "%YAML 1.2\n"},
	} {
		before := []byte(text)

		tree, err := parseYAML(before)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}

		if diff := cmp.Diff(want, tree); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}

		if string(before) != text {
			t.Errorf("%q was changed to %q", text, before)
		}
	}
}

// TestYAMLErrorsSayWhatToDo checks the errors of YAML that the parser can read, but that a pod cannot contain. Each
// error has the line and what to do.
func TestYAMLErrorsSayWhatToDo(t *testing.T) {
	const noType = ", which means nothing in a pod; remove the tag"
	for text, want := range map[string]string{
		"a: 1\nb:\n  c: 1\n  'c': 2":     "has the key c twice in one object, the second time at line 4; keep one of them",
		"1.0: a\n1.00: b":                "has the key 1.0 twice in one object, the second time at line 2; keep one of them",
		"a: 1\n---\n- b":                 "has a second YAML document at line 3, but only one is allowed; remove the others",
		"a: 1\n---\n~":                   "has a second YAML document at line 3, but only one is allowed; remove the others",
		"a: &x [*x]":                     "cannot be read: line 1: has an alias to a value that contains the alias; write out the value",
		"a: &x {b: c}\n*x : c":           "has a key at line 1 that is not text; put quotation marks around it",
		"a:\n  <<: {b: c}":               "has the merge key << at line 2: merge keys are not supported, and Spark does not merge either; write out the fields",
		"a: b\nnull: c":                  "has a key at line 2 that is not text; put quotation marks around it",
		"? [a, b]\n: c":                  "has a key at line 1 that is not text; put quotation marks around it",
		"a: 1\nb: !!timestamp 2001-12-4": "has the tag !!timestamp at line 2" + noType,
		"a: !!set {b}":                   "has the tag !!set at line 1" + noType,
		"a: !!seq {}":                    "has the tag !!seq at line 1" + noType,
		"a: !!map []":                    "has the tag !!map at line 1" + noType,
		"a: !!seq b":                     "has the tag !!seq at line 1" + noType,
		"a:\n- !mine b":                  "has the tag !mine at line 2" + noType,
		"!mine a: b":                     "has the tag !mine at line 1" + noType,
		"a: !!int 1.5":                   `has at line 1 the tag !!int before "1.5", but this value has another type; remove the tag`,
		"a: !!int 0x1F":                  `has at line 1 the tag !!int before "0x1F", but this value has another type; remove the tag`,
		"a: !!float true":                `has at line 1 the tag !!float before "true", but this value has another type; remove the tag`,
		"a: !!bool yes":                  `has at line 1 the tag !!bool before "yes", but this value has another type; remove the tag`,
		"!!bool 1: a":                    `has at line 1 the tag !!bool before "1", but this value has another type; remove the tag`,
	} {
		if tree, err := parseYAML([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q is %v, and the error is %v, want %s", text, tree, err, want)
		}
	}
}

// TestHostileYAMLIsShortInErrors checks that no error quotes more than a part of a long text, and that a text with
// aliases takes little memory.
func TestHostileYAMLIsShortInErrors(t *testing.T) {
	long := strings.Repeat("x", 100_000)

	bomb := "a: &a [x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c]\n", c, c, c-1, c-1)
	}

	for name, text := range map[string]string{
		"a long key":          long + ": 1\n" + long + ": 2",
		"a long tag":          "a: !" + long + " b",
		"a long alias":        "a: *" + long,
		"a long tagged value": "a: !!int " + long,
		"many aliases":        bomb,
		"aliases of a text":   "a: &a " + long + "\nb: [" + strings.Repeat("*a,", 40_000) + "]",
		"aliases as keys":     "a: &a " + long + "\nb: [" + strings.Repeat("{*a : *a},", 20_000) + "]",
		"an alias of itself":  "a: &a {b: [*a, *a]}",
		"no YAML":             "a: [" + long,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		if _, err := FromFile([]byte(text), "4.1.4"); err == nil || len(err.Error()) > 400 {
			t.Errorf("%s: the error is %.500v", name, err)
		}

		runtime.ReadMemStats(&after)

		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
			t.Errorf("%s: %d MB were allocated", name, allocated>>20)
		}
	}
}

// TestDepthIsLimited checks that every reader accepts 100 levels of lists and objects and rejects 101, whatever is
// inside the innermost one. FromFile rejects JSON of more than 64 levels, as Read does.
func TestDepthIsLimited(t *testing.T) {
	const says = "is nested more than 100 lists and objects deep; use fewer levels"
	objects := func(levels int, inner string) string {
		return strings.Repeat(`{"a": `, levels-1) + "{" + inner + "}" + strings.Repeat("}", levels-1)
	}

	lists := func(levels int, inner string) string {
		return `{"a": ` + strings.Repeat("[", levels-1) + inner + strings.Repeat("]", levels-1) + "}"
	}
	for shape, nested := range map[string]func(levels int, inner string) string{"objects": objects, "lists": lists} {
		for _, inner := range []string{"", `"b": 1`} {
			if shape == "lists" {
				inner = strings.TrimPrefix(inner, `"b": `)
			}

			for reader, read := range map[string]func(json string) error{
				"DecodeJSON": func(json string) error { _, err := DecodeJSON([]byte(json)); return err },
				"Decode":     func(json string) error { _, err := Decode([]byte(json)); return err },
				"YAML":       func(json string) error { _, err := parseYAML([]byte(json)); return err },
			} {
				if err := read(nested(maxDepth, inner)); err != nil {
					t.Errorf("%s of %d %s around %q: %v", reader, maxDepth, shape, inner, err)
				}

				if err := read(nested(maxDepth+1, inner)); err == nil || err.Error() != says {
					t.Errorf("%s of %d %s around %q: the error is %v", reader, maxDepth+1, shape, inner, err)
				}
			}
		}
	}

	for levels, accepted := range map[int]bool{bounds.MaxDepth: true, bounds.MaxDepth + 1: false} {
		if _, err := FromFile([]byte(objects(levels, "")), "4.1.4"); (err == nil) != accepted {
			t.Errorf("FromFile of %d objects: %v", levels, err)
		}
	}

	if _, err := Decode([]byte(`{"a": "` + strings.Repeat(`[{\"`, 200) + `"}`)); err != nil {
		t.Errorf("brackets in a text count as levels: %v", err)
	}
}

// FuzzFromFile checks that the result of FromFile is a JSON object that FromFile does not change again, that Decode can
// read it, and that errors are short.
func FuzzFromFile(f *testing.F) {
	for _, seed := range []string{
		"spec: {nodeName: 7, hostNetwork: 'TRUE', priority: ' 010 '}", `{"spec":{"nodeName":1.50,"hostNetwork":-0}}`,
		"%YAML 1.2\n---\na: !!int '8'",
		"a: &x {b: c}\nd: *x", "a: \"\\/\"\nb: c\\/d\\x2F",
		"spec: {volumes: [{secret: {defaultMode: 0o400}}], terminationGracePeriodSeconds: 1.5}",
		"spec: {containers: [{resources: {limits: {cpu: 2}}, livenessProbe: {tcpSocket: {port: 8.5}}}]}",
		"? |\n a\n: .nan",
		strings.Repeat("a: {", 3), "[]", "a: 1e400", "\ufeffa: b", "a: \"\\ud800\"", "{a: 1}\n---\n",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := FromFile(data, "4.1.4")
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("an error of %d bytes: %v", len(err.Error()), err)
			}
			return
		}

		if _, err := Decode(once); err != nil {
			t.Errorf("%q becomes %q, which cannot be read: %v", data, once, err)
		}

		if twice, err := FromFile(once, "4.1.4"); err != nil || string(twice) != string(once) {
			t.Errorf("%q becomes %q, and then %q, %v", data, once, twice, err)
		}
	})
}
