package worst

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Raw returns the JSON of a value of type T in which the given field has n items. The functions in change adjust the
// value before it is encoded, for example to remove parts that the surrounding object sets itself.
func Raw[T any](t *testing.T, field Field, n int, change ...func(*T)) *runtime.RawExtension {
	t.Helper()

	value := new(T)
	field.Fill(value, n)

	for _, c := range change {
		c(value)
	}

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: text}
}
