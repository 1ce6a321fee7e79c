package dialect

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// contentOf marks an object and returns the digest in its label.
func contentOf(object submit.Object) string {
	MarkContent(object)
	return object.GetLabels()[lifecycle.ContentLabel]
}

// service returns a Service with a label.
func service(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
}

// TestContentDependsOnEveryPartOfAnObject checks that a change of any part changes the digest. If it did not, the
// operator would not update the live object.
func TestContentDependsOnEveryPartOfAnObject(t *testing.T) {
	first := contentOf(service("ui"))
	if !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(first) {
		t.Errorf("%q is not the value of a label that can be compared", first)
	}

	if again := contentOf(service("ui")); again != first {
		t.Errorf("equal objects have the digests %s and %s", first, again)
	}

	for name, change := range map[string]func(*corev1.Service){
		"a port":        func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 },
		"the name":      func(s *corev1.Service) { s.Name = "ui2" },
		"a label":       func(s *corev1.Service) { s.Labels["team"] = "b" },
		"no labels":     func(s *corev1.Service) { s.Labels = nil },
		"an annotation": func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} },
		"an owner": func(s *corev1.Service) {
			s.OwnerReferences = []metav1.OwnerReference{{Name: "app",
				UID: "1"}}
		},
	} {
		changed := service("ui")
		change(changed)

		if contentOf(changed) == first {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

// TestContentIsMarkedTwice checks that the digest does not include itself. Otherwise an object that is marked again
// would differ from the live object, and the operator would update it in every pass.
func TestContentIsMarkedTwice(t *testing.T) {
	for name, object := range map[string]submit.Object{
		"with labels":    service("ui"),
		"without labels": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ui"}},
		"of another type": &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Route",
			"metadata": map[string]any{"name": "ui"}}},
	} {
		labels := len(object.GetLabels())

		first := contentOf(object)
		if again := contentOf(object); first == "" || again != first {
			t.Errorf("%s: the digest is first %q and then %q", name, first, again)
		}

		if got := len(object.GetLabels()); got != labels+1 {
			t.Errorf("%s: the object has %d labels, want %d", name, got, labels+1)
		}
	}
}

func TestObjectFailures(t *testing.T) {
	got := ObjectFailures([]lifecycle.AuxiliaryObject{
		{Kind: "Service", Name: "ui", Current: true},
		{Kind: "Ingress", Name: "ui", Cause: lifecycle.Cause{Reason: "Invalid", Message: "the host is wrong"}},
		{Kind: "Service", Name: "being-created"},
		{Kind: "HTTPRoute", Name: "r", Outdated: true, Cause: lifecycle.Cause{Reason: "Forbidden", Message: "no"}},
	})

	want := []lifecycle.Cause{{Reason: "Invalid", Message: "Ingress ui: the host is wrong"},
		{Reason: "Forbidden", Message: "HTTPRoute r: no"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if got := ObjectFailures(nil); got != nil {
		t.Errorf("no objects have the failures %v", got)
	}
}
