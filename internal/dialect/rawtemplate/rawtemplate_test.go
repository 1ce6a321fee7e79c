package rawtemplate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// TestBytes checks that a field that is not set has no bytes, and that the bytes of a field are those of the user.
func TestBytes(t *testing.T) {
	for name, raw := range map[string]*runtime.RawExtension{"no field": nil, "an empty field": {}} {
		if got := Bytes(raw); got != nil {
			t.Errorf("%s has %q", name, got)
		}
	}

	for _, want := range []string{"", "{}", "null", " null\n", `"null"`, "nul", " {} ", `{"a": 1}`} {
		if got := string(Bytes(&runtime.RawExtension{Raw: []byte(want)})); got != want {
			t.Errorf("the JSON of %q is %q", want, got)
		}
	}
}

func TestContainer(t *testing.T) {
	for text, want := range map[string]string{
		`{"spec":{"containers":[{"name":"spark"},{"name":"b"}]}}`: "", // Spark uses the first container by default
		`{"spec":{"containers":[{"name":"a"},{"name":"spark"}]}}`: "spark",
		`{"spec":{"containers":[{"name":"a"}]}}`:                  "",
		`{}`:                                                      "", `[`: "",
	} {
		if got := Container(&runtime.RawExtension{Raw: []byte(text)}, "spark"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}

	if got := Container(nil, "spark"); got != "" {
		t.Errorf("without a template: %q", got)
	}
}

func TestPrivilegeEscalation(t *testing.T) {
	for name, c := range map[string]struct {
		context *corev1.SecurityContext
		want    *bool
	}{
		"no context":                           {nil, nil},
		"a context without the setting":        {&corev1.SecurityContext{Privileged: new(false)}, nil},
		"a context with the setting":           {&corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Privileged: new(true)}, new(false)},
		"privileged":                           {&corev1.SecurityContext{Privileged: new(true)}, new(true)},
		"a capability that implies escalation": {&corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN", "CAP_SYS_ADMIN"}}}, new(true)},
		"another capability":                   {&corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}, nil},
	} {
		if diff := cmp.Diff(c.want, PrivilegeEscalation(c.context)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPodTemplateIsEmptyIfItCannotBeParsed checks that no part of an invalid template is used. The part before the
// fault would otherwise be used.
func TestPodTemplateIsEmptyIfItCannotBeParsed(t *testing.T) {
	many := `{"spec":{"schedulerName":"a","containers":[` + strings.TrimSuffix(strings.Repeat("{},", 1001), ",") + `]}}`
	for name, c := range map[string]struct{ text, scheduler string }{
		"valid": {`{"spec":{"schedulerName":"a"}}`, "a"}, "no text": {``, ""}, "null": {`null`, ""}, "not an object": {`[1]`, ""},
		"cut off": {`{"spec":{"schedulerName":"a"}`, ""}, "a wrong type after it": {`{"spec":{"schedulerName":"a","tolerations":5}}`, ""}, "beyond a limit": {many, ""},
	} {
		if got := Pod(&runtime.RawExtension{Raw: []byte(c.text)}); got.Spec.SchedulerName != c.scheduler || len(got.Spec.Containers) > 0 {
			t.Errorf("%s: %+v", name, got.Spec)
		}
	}

	if got := Pod(nil); got.Spec.SchedulerName != "" {
		t.Errorf("without a template: %+v", got)
	}

	_, err := Read(&runtime.RawExtension{Raw: []byte(many)})

	fault, ok := errors.AsType[*bounds.Fault](err)
	if !ok || fault.Path != "spec.containers" || fault.Message != "has more than 1000 items; make the list shorter" {
		t.Errorf("beyond a limit the error is %v", err)
	}
}

func TestMetadata(t *testing.T) {
	for text, want := range map[string][2]map[string]string{
		`{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},"spec":{"containers":5}}`: {{"a": "b"}, {"c": "d"}},
		`{"metadata":{"labels":{"a":"b"}}}`:                                                 {{"a": "b"}, nil},
		`{"labels":{"a":"b"}}`:                                                              {},
		`{"metadata":{"labels":{"a":5},"annotations":{"c":"d"}}}`:                           {},
		`{"metadata":{"annotations":{"c":"d"},"labels":[]}}`:                                {},
		`{"metadata":null}`:                                                                 {}, `null`: {}, `{`: {}, ``: {},
	} {
		labels, annotations := Metadata(&runtime.RawExtension{Raw: []byte(text)})
		if diff := cmp.Diff(want, [2]map[string]string{labels, annotations}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	if labels, annotations := Metadata(nil); labels != nil || annotations != nil {
		t.Errorf("without a template: %v, %v", labels, annotations)
	}
}

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
		if diff := cmp.Diff(want, Warnings("spec.driver.template", &runtime.RawExtension{Raw: []byte(text)})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	if got := Warnings("spec.driver.template", nil); got != nil {
		t.Errorf("without a template: %v", got)
	}
}
