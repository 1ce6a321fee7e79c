package templates

import (
	"fmt"
	"strings"
)

// places are templates with a place for a value that a parser of YAML may read in several ways. The list of values
// follows each place.
var places = []struct {
	template string
	values   []string
}{
	// Modes of files, which Spark 4 reads as octal, and other integers, which it does not.
	{"spec: {volumes: [{name: v, configMap: {name: c, defaultMode: %s}}]}", numbers},
	{"spec: {volumes: [{name: v, secret: {secretName: s, items: [{key: k, path: p, mode: %s}]}}]}", numbers},
	{"spec: {volumes: [{name: v, projected: {sources: [{downwardAPI: {items: [{path: p, mode: %s, fieldRef: {fieldPath: f}}]}}]}}]}", numbers},
	{"spec: {priority: %s}", numbers},
	{"spec: {terminationGracePeriodSeconds: %s}", numbers},
	{"spec: {containers: [{name: c, ports: [{containerPort: %s}]}]}", numbers},
	{"spec: {containers: [{name: c, livenessProbe: {httpGet: {port: %s}}}]}", []string{"0o400", "0400", "'8080.0'"}},
	{"spec: {future: {mode: %s}}", numbers},
	{`{"spec":{"volumes":[{"name":"v","configMap":{"name":"c","defaultMode":%s}}]}}`, []string{"256", `"0o400"`, `"0O400"`, `"0400"`, `"0x100"`, "30.5", "256.0"}},
	{`{"spec":{"terminationGracePeriodSeconds":%s}}`, []string{`"0o17"`, `"010"`, "30.5", "9007199254740993.5", "30.0", "-0.5"}},
	// Texts.
	{"metadata:\n  annotations:\n    a: %s\n", texts},
	{"metadata:\n  annotations:\n    - %s\n", []string{`"a\/b"`}},
	{"metadata: {annotations: {%s: c, d: 'e\\/f'}}", []string{`"a\/b"`, `? "a\/b"`, `'a\/b'`, `a\/b`}},
	{"# \"\\/\nspec: {nodeName: %s}", []string{`"a\/b"`, `'a\/b'`}},
	// Aliases.
	{"metadata: {labels: &l {a: b}, annotations: %s}", []string{"*l", "{<<: *l}", "{b: *l}", "{*l : b}"}},
	{"metadata: {labels: {a: &x %s, b: *x}}", []string{"b", "1", "'1'", "1.50", "true", "010", "!!str 1", "<<", "null", `"a\/b"`}},
	{"metadata: {labels: {a: &x %s, *x : c}}", []string{"b", "7", "1.50", "true"}},
	{"metadata: {labels: {a: &x 1}}\nspec: {priority: *x, hostname: *x, %s}", []string{"nodeName: *x", "nodeName: *y", "hostNetwork: *x"}},
	{"mode: &m %s\nspec: {volumes: [{name: v, secret: {defaultMode: *m}}]}", []string{"0400", "0o400", "256"}},
	{"spec:\n  containers:\n  - {name: a, env: &e [{name: A, value: %s}]}\n  - {name: b, env: *e}\n  - {name: c, resources: {limits: &r {cpu: 1}, requests: *r}}\n", []string{"1", "b"}},
	{"x: &a {k: &b [1, 2], j: *b}\ny: %s\nspec: {nodeName: n}", []string{"*a", "[*a, *b]", "&a [*b]", "&c [*c]", "{z: &c {z: *c}}"}},
	{"metadata: {labels: {a: &x b, c: &x d, e: *x}}%s", []string{"\n", "\n---\n"}},
	{"metadata: {labels: {b: *x, a: &x %s}}", []string{"b"}},
	{"metadata: {labels: &l {a: b}}\nx: [%s]\n", []string{strings.Repeat("*l,", 50), strings.Repeat("*l,", 51)}},
	// Kinds.
	{"kind: %s\nspec: {nodeName: n}", []string{"Pod", "pod", "POD", "''", "null", "Job", "7", "&k Pod"}},
	{`{"kind":%s,"spec":{"nodeName":"n"}}`, []string{`"Pod"`, `"pod"`, `""`, "null", "7"}},
}

var numbers = []string{
	"256", "0o400", "0O400", "0400", "00400", "'0o400'", "'0400'", "!!str 0400", "'256'", "0o888", "0888", "0409", "0", "00", "0o", "0x100", "'0x100'", "0b11", "1:30", "4_0",
	"+0400", "-0400", "' 0400'", "'0400 '", "''", "017777777777", "037777777777", "0o40000000000",
	"8080.0", "8.08e3", "8080.5", "-30.9", "0.9", "-0.5", "'8080.0'", "'8080.5'", "2147483647.9", "9007199254740993.5", "1e30", "1e400", ".5",
}

var texts = []string{
	`"a\/b"`, "\"a\\/b\n      c\\/d\"", "\"a\\/\n\n      b\\/\"", `"\/"`, `"\\/"`, `"\\\/"`, `"\x2F\/\x2f\u002F"`, `"\qb"`, `!!str "a\/b"`, `'a\/b'`, `a\/b`, `x\x2Fy\/z`, "|\n      a\\/b", ">-\n      a\\/b \"c\\/d\"",
	`"x\x01y"`, `"x\u0001y"`, `"x\ey"`, `"x\0y"`, `"x\Ny"`, `"x\u2028y"`, "\"x\ty\"", "\"x\x01y\"", "x\x01y", "\"x\x1by\"", "\"x\x7fy\"", "\"x\u0085y\"", "x\u0085y", "\"x \u2028 y\"", "x # y\u2028    b: c", "\U0001f600",
}

// forms returns the templates with each value at its places.
func forms() (out []Template) {
	for i, place := range places {
		for _, value := range place.values {
			out = append(out, Template{fmt.Sprintf("form %d %s", i, value), fmt.Sprintf(place.template, value)})
		}
	}
	return out
}
