package bounds

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sample is a type that has fields of all sorts (see the type sort).
type sample struct {
	corev1.ResourceRequirements `json:",inline"`

	Containers []corev1.Container            `json:"containers,omitempty"`
	Few        []string                      `json:"few,omitempty" bounds:"max=3"`
	Short      *string                       `json:"short,omitempty" bounds:"max=5"`
	Labels     map[string]string             `json:"labels,omitempty"`
	Lists      map[string][]map[string][]int `json:"lists,omitempty"`
	Raw        *runtime.RawExtension         `json:"raw,omitempty"`
	Template   *runtime.RawExtension         `json:"template,omitempty" bounds:"as=PodTemplateSpec"`
	Port       intstr.IntOrString            `json:"port,omitzero"`
	Count      *int32                        `json:"count,omitempty"`
	Bytes      []byte                        `json:"bytes,omitempty"`
	Inner      *sample                       `json:"inner,omitempty"`
	Unseen     string                        `json:"-"`
}

var sampleShape = ShapeOf[sample]()

func repeated(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

func entries(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":"v"`, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func TestCheckNamesTheFieldAndTheLimit(t *testing.T) {
	const huge = `1e2000000000`

	long := strings.Repeat("1", 1_000_000)
	for _, test := range []struct{ name, in, path, message string }{
		{"quantity in a list", `{"containers":[{"name":"a"},{"resources":{"limits":{"memory":"1Gi","cpu":"` + huge +
			`"}}}]}`, "spec.containers[1].resources.limits[cpu]", "at most 2 digits"},
		{"quantity of an inlined struct", `{"limits":{"cpu":"` + huge + `"}}`, "spec.limits[cpu]", "at most 2 digits"},
		{"quantity as a number", `{"limits":{"cpu":` + huge + `}}`, "spec.limits[cpu]", "at most 2 digits"},
		{"quantity behind a pointer", `{"template":{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"` + huge + `"}}]}}}`,
			"spec.template.spec.volumes[0].emptyDir.sizeLimit", "at most 2 digits"},
		{"divisor", `{"containers":[{"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"` + huge + `"}}}]}]}`,
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor", "at most 2 digits"},
		{"long mantissa", `{"limits":{"cpu":"` + long + `"}}`, "spec.limits[cpu]",
			"at most 64 characters, and this one has 1000000"},
		{"long number", `{"count":` + long + `}`, "spec.count", "at most 64 characters"},
		{"long exponent with zeros", `{"limits":{"cpu":"1e0000000000000000099"}}`, "spec.limits[cpu]", "has 19"},
		{"escaped key", `{"lim\u0069ts":{"cpu":"` + huge + `"}}`, "spec.limits[cpu]", "at most 2 digits"},
		{"type that contains itself", `{"inner":{"inner":{"limits":{"cpu":"` + huge + `"}}}}`,
			"spec.inner.inner.limits[cpu]", "at most 2 digits"},
		{"long list", `{"containers":` + repeated("{}", MaxItems+1) + `}`, "spec.containers", "more than 1000 items"},
		{"list with a limit of its own", `{"few":["a","b","c","d"]}`, "spec.few", "more than 3 items"},
		{"long map", `{"labels":` + entries(MaxEntries+1) + `}`, "spec.labels", "more than 2000 entries"},
		{"list in maps", `{"lists":{"a":[{"b":` + repeated("1", MaxItems+1) + `}]}}`, "spec.lists[a][0][b]",
			"more than 1000 items"},
		{"list in a field without a type", `{"raw":{"x":` + repeated("1", MaxItems+1) + `}}`, "spec.raw.x",
			"more than 1000 items"},
		{"map in a field without a type", `{"raw":{"x":` + entries(MaxEntries+1) + `}}`, "spec.raw.x",
			"more than 2000 entries"},
		{"long text", `{"short":"abcdef"}`, "spec.short", "has 6 characters, and at most 5"},
		{"long time", `{"template":{"metadata":{"creationTimestamp":"` + long + `"}}}`,
			"spec.template.metadata.creationTimestamp", "at most 253"},
		{"deep", strings.Repeat(`{"inner":`, 100) + "1" + strings.Repeat("}", 100),
			"spec" + strings.Repeat(".inner", 64), "more than 64 lists and objects deep"},
		{"long key", `{"limits":{"` + strings.Repeat("k", 1000) + `":"` + huge + `"}}`,
			"spec.limits[" + strings.Repeat("k", 63) + "...]", "at most 2 digits"},
		{"two cases", `{"template":{"spec":{"hostPID":true,"hostpid":false}}}`, "spec.template.spec.hostpid",
			"differs from hostPID in the same object only by upper and lower case"},
		{"two cases with others between them",
			`{"template":{"spec":{"HostPID":true,"containers":[],"unknown":{},"HOSTpid":false}}}`,
			"spec.template.spec.HOSTpid", "differs from HostPID"},
		{"two cases of a name without a field", `{"template":{"spec":{"newField":true,"newfield":false}}}`,
			"spec.template.spec.newfield", "differs from newField"},
		{"long s", `{"template":{"spec":{"containers":[],"container\u017f":[{}]}}}`, "spec.template.spec.containerſ",
			"differs from containers"},
		{"long s without an escape", `{"template":{"spec":{"containerſ":[{}],"containers":[]}}}`,
			"spec.template.spec.containers", "differs from containerſ"},
		{"kelvin sign", `{"template":{"spec":{"volumes":[{"di\u212a":1,"dik":2}]}}}`,
			"spec.template.spec.volumes[0].dik", "differs from diK"},
		{"twice", `{"few":["a"],"labels":{},"few":["b"]}`, "spec.few", "is set twice in the same object"},
		{"twice, once with an escape", `{"few":["a"],"f\u0065w":["b"]}`, "spec.few", "is set twice in the same object"},
		{"twice in a map", `{"labels":{"b":"1","a":"2","b":"3"}}`, "spec.labels[b]", "is set twice in the same object"},
		{"twice without a type", `{"raw":{"x":{"b":1,"b":2}}}`, "spec.raw.x.b", "is set twice in the same object"},
		{"many values", `{"raw":` + repeated(repeated("1", 999), 11) + `}`, "", "exceeds the limit of 10000 values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := Check([]byte(test.in), sampleShape, "spec")
			if f == nil {
				t.Fatal("no fault")
			}

			if test.path != "" && f.Path != test.path || !strings.Contains(f.Message, test.message) ||
				!strings.Contains(f.Message, "; ") {
				t.Errorf("%v\nwant path %s and message %q with advice", f, test.path, test.message)
			}
		})
	}
}

func TestCheckFindsNothing(t *testing.T) {
	for name, in := range map[string]string{
		"empty":  `{}`,
		"null":   `null`,
		"blanks": " {\n\t\"few\" : [ \"a\" , \"b\" ] , \"labels\" : { } }\r\n",
		"the maximum numbers": `{"few":["a","b","c"],"short":"abcde","labels":` + entries(MaxEntries) +
			`,"containers":` + repeated("{}", MaxItems) + `}`,
		"characters, not bytes": `{"short":"äöü\u00e4\ud83d\ude00"}`,
		"quantities": `{"limits":{"cpu":1,"memory":"2Gi","x":null,"y":"1e99","z":"` +
			strings.Repeat("9", 64) + `"}}`,
		"a map with the key limits":         `{"labels":{"limits":"1e2000000000"}}`,
		"a text that looks like a quantity": `{"raw":{"x":"1e2000000000"},"bytes":"` + strings.Repeat("A", 5000) + `"}`,
		"keys that differ in case":          `{"labels":{"Team":"a","team":"b"},"raw":{"A":1,"a":2},"limits":{"a/B":1,"a/b":1}}`,
		"fields that are objects of a map":  `{"template":{"spec":{"nodeSelector":{"s":"a","\u017f":"b","S":"c"}}}}`,
		"a field in another case":           `{"template":{"spec":{"hostpid":true,"limit\u017f":{"cpu":"1e2000000000"}}}}`,
		"no JSON":                           `{"limits":{"cpu"`,
	} {
		if f := Check([]byte(in), sampleShape, "spec"); f != nil {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// TestCheckAllocatesNothing checks that the number of the scanner's allocations does not grow with the text.
func TestCheckAllocatesNothing(t *testing.T) {
	in := []byte(`{"few":["a","b"],"labels":` + entries(1000) + `,"containers":` +
		repeated(`{"name":"a","env":[{"name":"x","value":"y\"z"}]}`, 900) + `}`)
	if n := testing.AllocsPerRun(20, func() {
		if f := Check(in, sampleShape, "spec"); f != nil {
			t.Fatal(f)
		}
	}); n > 20 {
		t.Errorf("%v allocations to check %d bytes", n, len(in))
	}
}

// FuzzCheck checks that the scanner does not panic on any text. It also decodes each text that the scanner accepts, and
// checks that the value exceeds neither the maximum depth nor the maximum number of items in a list.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `"`, `{"limits":{"cpu":"1e2000000000"}}`, `{"few":["a","b","c","d"]}`,
		`{"a":{"b":[1,2,{"c":null}]}}`, `{"limits":{"cpu":`, `}{][,:`, "{\"\\", `{"x":"\`,
		`{"inner":{"limits":{"a":1e5,"b":"1Ki"}},"short":"\u00e4\ud83d"}`, strings.Repeat("[", 100),
		strings.Repeat(`{"inner":`, 70), `{"lists":{"a":[{"b":[1,2]}]}}`,
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, in []byte) {
		fault := Check(in, sampleShape, "spec")

		s := scanner{in: in}
		for s.at < len(in) {
			before := s.at
			if s.skip(); s.at == before {
				s.at++
			}
		}

		var tree any
		if json.Unmarshal(in, &tree) != nil {
			return
		}

		if fault == nil {
			if message := tooMuch(tree, 0); message != "" {
				t.Errorf("%s in %q is let through", message, in)
			}
			var typed sample
			_ = json.Unmarshal(in, &typed) // which is fast
		}
	})
}

func tooMuch(tree any, depth int) string {
	if depth > MaxDepth {
		return "depth"
	}

	switch tree := tree.(type) {
	case []any:
		if len(tree) > MaxItems {
			return "a list"
		}

		for _, element := range tree {
			if message := tooMuch(element, depth+1); message != "" {
				return message
			}
		}
	case map[string]any:
		for _, element := range tree {
			if message := tooMuch(element, depth+1); message != "" {
				return message
			}
		}
	}
	return ""
}
