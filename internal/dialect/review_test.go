package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTemplateWarningsNameTheFieldAndItsPlace checks the two sorts of fields that the API server drops without a
// message: a field at the wrong place, and a field that no pod has.
func TestTemplateWarningsNameTheFieldAndItsPlace(t *testing.T) {
	const unknown = " is not a field of a pod as this operator knows it, and has no effect unless your Kubernetes is newer and has this field; correct the name, or remove the field"
	for text, want := range map[string][]string{
		``:   nil,
		`{}`: nil,
		`{`:  nil, // validation reports the fault
		`{"spec":{"containers":[{"name":"a"}],"priorityClassName":"b"}}`: nil,
		`{"tolerations":[]}`:         {"spec.driver.template.tolerations: has no effect at this place; a pod has this field at spec.tolerations"},
		`{"spec":{"nodeSelectr":1}}`: {"spec.driver.template.spec.nodeSelectr:" + unknown},
		`{"spec":{"zzz":1,"hostNetwerk":true}}`: {
			"spec.driver.template.spec.hostNetwerk:" + unknown, "spec.driver.template.spec.zzz:" + unknown,
		},
	} {
		if diff := cmp.Diff(want, TemplateWarnings("spec.driver.template", &runtime.RawExtension{Raw: []byte(text)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	if got := TemplateWarnings("spec.driver.template", nil); got != nil {
		t.Errorf("without a template: %v", got)
	}
}
