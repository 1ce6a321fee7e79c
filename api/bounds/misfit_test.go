package bounds

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// everySort has a field of each sort.
type everySort struct {
	Text     *string            `json:"text,omitempty"`
	Time     metav1.Time        `json:"time,omitzero"`
	Quantity *resource.Quantity `json:"quantity,omitempty"`
	List     []string           `json:"list,omitempty"`
	Table    map[string]string  `json:"table,omitempty"`
	Object   *corev1.EnvVar     `json:"object,omitempty"`
	Cores    *int32             `json:"cores,omitempty"`
	Wide     int64              `json:"wide,omitempty"`
	Boolean  bool               `json:"boolean,omitempty"`
	Part     string             `json:"coreRequest,omitempty"`
}

var everyShape = ShapeOf[everySort]()

// TestMisfitsAreWhatTheDecoderRefuses puts values of each form into fields of each sort. Misfits must find a fault at
// the field if, and only if, the decoder refuses the value, and must say what to write without a word of Go.
func TestMisfitsAreWhatTheDecoderRefuses(t *testing.T) {
	values := []string{
		`"x"`, `"true"`, `"2"`, `""`, `3`, `0.5`, `1e2`, `3000000000`, `99999999999999999999`, `true`, `null`, `[]`,
		`{}`, `["x"]`, `[1]`, `[null]`, `{"name":"x"}`, `{"name":1}`, `"` + strings.Repeat("9", 64) + `"`,
	}
	for field := range everyShape.fields {
		for _, value := range values {
			text := fmt.Appendf(nil, "{%q:%s}", field, value)
			err := utiljson.Unmarshal(text, &everySort{})

			faults := Misfits(text, everyShape, "")
			switch {
			case err != nil && field == "time" && len(faults) == 0: // the text of a time, which the decoder reports
			case len(faults) == 0 && (field == "wide" || field == "cores") && value == "1e2": // the decoder of trees takes it
			case (err != nil) != (len(faults) > 0):
				t.Errorf("%s: the decoder says %v, but the faults are %v", text, err, faults)
			}

			for _, fault := range faults {
				if !strings.HasPrefix(fault.Path, field) || !strings.Contains(fault.Message, "; ") ||
					strings.ContainsAny(fault.Message, "*") || strings.Contains(fault.Message, "int32") {
					t.Errorf("%s: %v", text, fault)
				}
			}
		}
	}
}

// TestMisfits checks the messages, the order and the number of faults, and that no message shows a secret.
func TestMisfits(t *testing.T) {
	for text, want := range map[string]string{
		`{"cores":0.1,"text":1,"list":[1,"a",true]}`: `spec.cores: is the number 0.1, not a whole number; for a part of a CPU, write coreRequest: "0.1" and leave this field out` + "\n" +
			"spec.text: is the number 1, not text; put it in quotes\nspec.list[0]: is the number 1, not text; put it in quotes\nspec.list[2]: is the boolean true, not text; put it in quotes",
		`{"wide":99999999999999999999}`:                               "spec.wide: is the number 99999999999999999999, not in the range of the field; write a number from -9223372036854775808 to 9223372036854775807",
		`{"table":{"my.password":123,"a.b":4}}`:                       "spec.table[my.password]: is a number, not text; put it in quotes\nspec.table[a.b]: is the number 4, not text; put it in quotes",
		`{"object":{"name":"PASSWORD","value":123}}`:                  "spec.object.value: is a number, not text; put it in quotes",
		`{"object":"x"}`:                                              `spec.object: is the text "x", not an object; write its fields (name, value, valueFrom)`,
		`{"quantity":"much","quantity":"more"}`:                       "spec.quantity: \"much\" is not a quantity; write one such as 500m or 2Gi\nspec.quantity: \"more\" is not a quantity; write one such as 500m or 2Gi\nspec.quantity: is set twice in the same object; remove one of the two",
		`{"table":{"a\nb":true}}`:                                     `spec.table[a\nb]: is the boolean true, not text; put it in quotes`,
		`{"list":[` + strings.Repeat("1,", 30) + `1]}`:                strings.TrimSuffix(repeatedFaults(20), "\n"),
		`{"boolean":"no","time":[],"table":{"a":{}},"cores":"1e400"}`: "spec.boolean: is the text \"no\", not a boolean; write true or false\nspec.time: is a list, not text; write a single text\nspec.table[a]: is an object, not text; write a single text, in quotes if it has a colon\nspec.cores: is the text \"1e400\", not a whole number; write one such as 1",
	} {
		if got := Join(Misfits([]byte(text), everyShape, "spec")); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func repeatedFaults(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("spec.list[%d]: is the number 1, not text; put it in quotes\n", i)
	}
	return text
}

// FuzzMisfits checks that no text makes Misfits fail, and that it finds a fault in each JSON object that the decoder
// cannot decode into a type without texts of times.
func FuzzMisfits(f *testing.F) {
	f.Add([]byte(`{"cores":1.5,"list":[{}],"table":[]}`))
	f.Add([]byte(`{"time":3,"quantity":{"a":[`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var tree map[string]any

		faults := Misfits(in, everyShape, "spec")
		if utiljson.Unmarshal(in, &tree) != nil || reflect.ValueOf(tree["time"]).Kind() == reflect.String {
			return
		}

		if err := utiljson.Unmarshal(in, &everySort{}); err != nil && len(faults) == 0 &&
			!strings.ContainsAny(string(in), ".eE") {
			t.Errorf("%s: %v, but no fault", in, err)
		}
	})
}
