package auxiliary

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestMatchesAll checks that fields that others add to an object do not count as an edit. An exception is a selector: a
// field that others add to it counts as an edit.
func TestMatchesAll(t *testing.T) {
	wanted := func() *corev1.Service {
		return &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"a": "b"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"x": "y"},
				Ports: []corev1.ServicePort{{Name: "p", Port: 1}, {Name: "q", Port: 2}}},
		}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"unchanged":           {func(*corev1.Service) {}, true},
		"another label added": {func(s *corev1.Service) { s.Labels["c"] = "d" }, true},
		"an address":          {func(s *corev1.Service) { s.Spec.ClusterIP = "10.0.0.1" }, true},
		"another port added": {func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports,
				corev1.ServicePort{Name: "r", Port: 3})
		}, true},
		"a node port": {func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30000 }, true},
		"ports in another order": {func(s *corev1.Service) {
			s.Spec.Ports[0], s.Spec.Ports[1] = s.Spec.Ports[1],
				s.Spec.Ports[0]
		}, true},
		"a label removed":   {func(s *corev1.Service) { s.Labels = nil }, false},
		"a port removed":    {func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }, false},
		"a changed port":    {func(s *corev1.Service) { s.Spec.Ports[0].Port = 9 }, false},
		"the type NodePort": {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, false},
		"the type ExternalName": {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName },
			false},
		"another selector label added": {func(s *corev1.Service) { s.Spec.Selector["more"] = "z" }, false},
		"a changed selector":           {func(s *corev1.Service) { s.Spec.Selector["x"] = "z" }, false},
		"no selector":                  {func(s *corev1.Service) { s.Spec.Selector = nil }, false},
		"no ports and no type":         {func(s *corev1.Service) { s.Spec.Ports, s.Spec.Type = nil, "" }, false},
	} {
		edited := wanted()
		test.change(edited)

		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(edited)
		if err != nil {
			t.Fatal(err)
		}

		applied, err := AppliedTree(wanted())
		if got := matchesAll(applied, &unstructured.Unstructured{Object: tree}); err != nil || got != test.want {
			t.Errorf("%s: it says all: %t, %v", name, got, err)
		}
	}
}

// TestEdited checks that an object counts as edited if it has changed after the operator last wrote or read it. An
// object that the operator has neither written nor read counts as edited too.
func TestEdited(t *testing.T) {
	object := func(uid, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: "s", UID: types.UID(uid), ResourceVersion: version}}
	}

	a, key := &Memory{}, types.NamespacedName{Namespace: "n", Name: "x"}
	if !a.seen(key, object("u", "7")).olderThan(object("u", "7")) {
		t.Error("what nobody knows needs no look")
	}

	a.noteWrite(key, object("u", "9"), noon)
	a.verified(key, object("u", "10"), noon)

	for version, want := range map[string]bool{"9": false, "10": false, "11": true, "100": true} {
		if got := a.seen(key, object("u", version)).olderThan(object("u", version)); got != want {
			t.Errorf("at version %s it may be edited: %t", version, got)
		}
	}

	other := object("u", "10")

	other.UID = "another"
	if !a.seen(key, other).olderThan(other) {
		t.Error("another object of that name is taken for it")
	}

	if known := a.seen(key, object("u", "10")); !known.at.Equal(noon) || !known.verifiedAt.Equal(noon) {
		t.Errorf("remembered: %+v", known)
	}
}

// TestKept checks that an unwanted vital object stays if the wanted object of its kind is missing. All other unwanted
// objects are deleted.
func TestKept(t *testing.T) {
	k := Keeper{Auxiliary: configured.For(kinds.SparkConnect).Build(config.Default, nil).Traits().Auxiliary}

	remove := []client.Object{
		&corev1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "old"}},
		&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Ingress"},
			ObjectMeta: metav1.ObjectMeta{Name: "old"}},
	}
	for _, test := range []struct {
		wanted lifecycle.AuxiliaryObject
		stay   int
	}{
		{lifecycle.AuxiliaryObject{Kind: "Service", Current: true}, 0},
		{lifecycle.AuxiliaryObject{Kind: "Service"}, 1},
		{lifecycle.AuxiliaryObject{Kind: "Service", Outdated: true}, 1},
		{lifecycle.AuxiliaryObject{Kind: "Ingress"}, 0},
	} {
		if stay, goes := k.separateKept(remove, []lifecycle.AuxiliaryObject{test.wanted}); len(stay) != test.stay ||
			len(stay)+len(goes) != len(remove) {
			t.Errorf("%+v: %d stay, %d go", test.wanted, len(stay), len(goes))
		}
	}

	k.Auxiliary.Vital = nil
	if stay, _ := k.separateKept(remove, []lifecycle.AuxiliaryObject{{Kind: "Service"}}); len(stay) > 0 {
		t.Error("something stays of a kind that has nothing vital")
	}
}
