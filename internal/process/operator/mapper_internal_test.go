package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// countedMapper is a RESTMapper that counts its calls.
type countedMapper struct {
	meta.RESTMapper
	asked int
}

func (c *countedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.asked++
	return c.RESTMapper.RESTMapping(kind, versions...)
}

func TestMappingsAskOnceForWhatIsServed(t *testing.T) {
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	served := meta.NewDefaultRESTMapper([]schema.GroupVersion{pod.GroupVersion()})
	behind := &countedMapper{RESTMapper: served}
	m := &mappings{RESTMapper: behind}

	for range 2 {
		if _, err := m.RESTMapping(pod.GroupKind(), pod.Version); !meta.IsNoMatchError(err) {
			t.Fatalf("a kind that is not served: %v", err)
		}
	}

	if behind.asked != 2 {
		t.Errorf("the underlying mapper was queried %d times for a kind that is not served, want 2", behind.asked)
	}

	served.Add(pod, meta.RESTScopeNamespace)

	behind.asked = 0

	for range 3 {
		mapping, err := m.RESTMapping(pod.GroupKind(), pod.Version)
		if err != nil || mapping.Resource.Resource != "pods" {
			t.Fatalf("%+v, %v", mapping, err)
		}
	}

	if behind.asked != 1 {
		t.Errorf("the underlying mapper was queried %d times for a served kind, want once", behind.asked)
	}

	if _, err := m.RESTMapping(pod.GroupKind()); err != nil || behind.asked != 2 {
		t.Errorf("without a version: %v, the underlying mapper was queried %d times", err, behind.asked)
	}
}
