package worst

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Raw is a value of a type with a field full of items, less what a fuller object has of itself.
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
