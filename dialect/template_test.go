package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestTemplateContainer(t *testing.T) {
	for text, want := range map[string]string{
		`{"spec":{"containers":[{"name":"spark"},{"name":"b"}]}}`: "", // Spark uses the first container by default
		`{"spec":{"containers":[{"name":"a"},{"name":"spark"}]}}`: "spark",
		`{"spec":{"containers":[{"name":"a"}]}}`:                  "",
		`{}`:                                                      "", `[`: "",
	} {
		if got := TemplateContainer(&runtime.RawExtension{Raw: []byte(text)}, "spark"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := TemplateContainer(nil, "spark"); got != "" {
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

func TestOwnKeys(t *testing.T) {
	var fields []string
	for _, wrong := range append(ReservedKeys("metadata.labels", "labels", []string{"a", "sparkoperator.dev/x", "x/sparkoperator.dev"}),
		ReservedConfLabels(map[string]string{"spark.kubernetes.driver.label.sparkoperator.dev/a": "1", "spark.kubernetes.driver.label.b": "1"})...) {
		fields = append(fields, wrong.Field)
	}
	if diff := cmp.Diff([]string{"metadata.labels[sparkoperator.dev/x]", "spec.sparkConf[spark.kubernetes.driver.label.sparkoperator.dev/a]"}, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
