package podtemplate

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestUnknownFieldsOfStruct(t *testing.T) {
	type inner struct {
		Name string            `json:"name"`
		Map  map[string]string `json:"map"`
		Skip string            `json:"-"`
	}
	type outer struct {
		inner    `json:",inline"`
		Quantity resource.Quantity  `json:"quantity"`
		Pointer  *inner             `json:"pointer,omitempty"`
		List     []inner            `json:"list"`
		Nested   map[string][]inner `json:"nested"`
		Any      any                `json:"any"`
	}

	for text, want := range map[string]any{
		`{}`:                             nil,
		`{"name":"a","map":{"x":"y"}}`:   nil,
		`{"quantity":"1","list":[]}`:     nil,
		`{"list":[{"name":"a"},{}]}`:     nil,
		`{"pointer":null,"list":null}`:   nil,
		`{"-":1}`:                        map[string]any{"-": 1.0},
		`{"Name":"case matters"}`:        map[string]any{"Name": "case matters"},
		`{"pointer":{"q":1,"name":"a"}}`: map[string]any{"pointer": map[string]any{"q": 1.0}},
		`{"list":[{"name":"a"},{"q":1},{"name":"b","q":2}]}`: map[string]any{"list": []any{map[string]any{"name": "a"},
			map[string]any{"q": 1.0}, map[string]any{"name": "b", "q": 2.0}}},
		`{"nested":{"k":[{"q":1}]}}`: map[string]any{"nested": map[string]any{"k": []any{map[string]any{"q": 1.0}}}},
	} {
		var tree any
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, unknownFields(tree, reflect.TypeFor[outer]())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
