package auxiliary

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestRenderedObjectHasIdentityAndDigest checks that an object without identity or without digest is not created.
// Without the identity, a later pass could not find the object. Without the digest, it could not detect a difference.
func TestRenderedObjectHasIdentityAndDigest(t *testing.T) {
	owner := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "pi", UID: "u"}}

	whole := func() *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "s", Labels: map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1",
				lifecycle.ContentLabel: "c"},
			OwnerReferences: []metav1.OwnerReference{{UID: "u"}},
		}}
	}
	if err := checkRendered(whole(), owner); err != nil {
		t.Error(err)
	}

	for name, change := range map[string]func(*corev1.Service){
		"digest":    func(s *corev1.Service) { delete(s.Labels, lifecycle.ContentLabel) },
		"owner":     func(s *corev1.Service) { s.OwnerReferences = nil },
		"identity":  func(s *corev1.Service) { delete(s.Labels, identity.AppUIDLabel) },
		"namespace": func(s *corev1.Service) { s.Namespace = "other" },
	} {
		object := whole()
		if change(object); checkRendered(object, owner) == nil {
			t.Errorf("checkRendered accepts an object without its %s", name)
		}
	}
}

// TestRetryIntervals checks that each interval between retries is twice the previous one, up to a limit. A rejection
// has longer intervals than a transient error.
func TestRetryIntervals(t *testing.T) {
	var k Keeper

	var got [2][]time.Duration
	for i, err := range []error{errors.New("transient"), apierrors.NewBadRequest("for good")} {
		for failures := range 12 {
			got[i] = append(got[i], k.addCauses(t.Context(), make([]lifecycle.AuxiliaryObject, 1), []error{err},
				failures+1))
		}
	}
	const s = time.Second

	wantGot := [2][]time.Duration{
		{1 * s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 300 * s, 300 * s, 300 * s},
		{15 * s, 30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s, 300 * s},
	}
	if diff := cmp.Diff(wantGot, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnwanted checks that unwanted returns exactly the auxiliary objects that are no longer wanted.
func TestUnwanted(t *testing.T) {
	object := func(kind, name string, labels map[string]string) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	content := map[string]string{lifecycle.ContentLabel: "c"}
	w := &work{View: dependents.View{Set: dependents.Set{Others: []metav1.PartialObjectMetadata{
		object("Service", "ui", content), object("Ingress", "ui", content), object("HTTPRoute", "ui", content),
		object("Service", "headless", map[string]string{lifecycle.ContentLabel: "c", "spark-app-selector": "spark-1"}),
		object("ConfigMap", "conf", nil), object("PersistentVolumeClaim", "data", content),
		object("Service", "plain", nil),
	}}}}

	var got []string
	for _, o := range w.unwanted([]submit.Object{&w.Set.Others[1]}) {
		got = append(got, nameOf(o))
	}

	if diff := cmp.Diff([]string{"Service/ui", "HTTPRoute/ui"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnDeletionNeedsNoPass checks that the event of the operator's own deletion starts no pass if nothing else is
// left to do for the owner. All other deletion events and a second event of the same object start a pass.
func TestOwnDeletionNeedsNoPass(t *testing.T) {
	t.Parallel()

	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	service := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Service"))
	service.SetNamespace("ns")
	service.SetName("pi-ui-svc")

	const name, other = "Service/pi-ui-svc", "Ingress/pi-ui-ingress"
	for _, test := range []struct {
		what      string
		last      *attempt
		needsPass []bool // for each of several consecutive deletions
		left      int    // the number of keys in the memory
	}{
		{"deleted by a pass", &attempt{made: map[string]write{name: {gone, noon}}}, []bool{false, true}, 0},
		{"deleted with another object that still exists",
			&attempt{made: map[string]write{name: {gone, noon}, other: {gone, noon}}}, []bool{false, true}, 1},
		{"deleted, but another deletion failed", &attempt{failures: 1, made: map[string]write{name: {gone, noon}}},
			[]bool{true, true}, 1},
		{"deleted by somebody else", &attempt{made: map[string]write{name: {"content", noon}}}, []bool{true}, 1},
		{"an unknown owner", nil, []bool{true}, 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			var m Memory
			if test.last != nil {
				m.note(key, *test.last)
			}

			for i, want := range test.needsPass {
				if got := !m.OwnDeletion(key, service); got != want {
					t.Errorf("deletion %d starts a pass: %t", i+1, got)
				}
			}

			if got := m.tries.Len(); got != test.left {
				t.Errorf("the memory contains %d keys, want %d", got, test.left)
			}
		})
	}
}
