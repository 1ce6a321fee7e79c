package podtemplate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnknownFieldsHavePaths checks that Unknown returns each unknown field with its path, and returns an unknown
// object only once. If a pod has a field of the same name at another place, the result also names that place.
func TestUnknownFieldsHavePaths(t *testing.T) {
	for text, want := range map[string][]UnknownField{
		`{}`: nil,
		`{"spec":{"containers":[{"name":"a","securityContext":{"capabilities":{"add":["X"]}}}],"nodeSelector":{"a":"b"}}}`: nil,
		`{"spec":{"capabilities":{"add":["NET_ADMIN"]}}}`:                                                                  {{"spec.capabilities", "spec.containers[].securityContext.capabilities"}},
		`{"spec":{"nodeselector":{"a":"b"},"containers":[]}}`:                                                              {{"spec.nodeselector", "spec.nodeSelector"}},
		`{"spec":{"containers":[{"name":"a"},{"name":"b","fo.o":1}]}}`:                                                     {{"spec.containers[1].fo.o", ""}},
		`{"spec":{"securityContext":{"later":{"a":{"b":1}}}}}`:                                                             {{"spec.securityContext.later", ""}},
		`{"metadata":{"later":1},"tolerations":[]}`:                                                                        {{"metadata.later", ""}, {"tolerations", "spec.tolerations"}},
	} {
		template, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, template.Unknown()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestUnknownFieldsAreBounded checks that Unknown returns 20 fields of a template with many unknown fields.
func TestUnknownFieldsAreBounded(t *testing.T) {
	var fields []string
	for i := range 500 {
		fields = append(fields, fmt.Sprintf(`"x%d":{}`, i))
	}

	template, err := Read([]byte(`{"spec":{` + strings.Join(fields, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}

	if n := len(template.Unknown()); n != maxUnknown {
		t.Errorf("%d fields, want %d", n, maxUnknown)
	}
}
