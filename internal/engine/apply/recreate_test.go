package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestLeftWithPod checks when the operator waits until an object's name becomes free. It must wait only if every owner
// of the object is a pod that is deleted or being deleted. If one owner is a pod that is not being deleted, or an
// object of another kind, the object belongs to somebody else.
func TestLeftWithPod(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	c := dependents.Client{Client: w.API, Live: w.API}
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "second"}}
	stays, goes := scene.ForeignPod(w.Namespace, "stays"), scene.ForeignPod(w.Namespace, "goes")
	w.Create(stays)
	w.Create(goes)
	w.TakesItsTime(goes)

	if err := w.API.Delete(t.Context(), goes.DeepCopy(), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	pod := func(name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: uid}
	}

	gone := pod("gone", "1")
	for _, test := range []struct {
		name   string
		refs   []metav1.OwnerReference
		waited bool
	}{
		{"no owner", nil, false},
		{"a deleted pod", []metav1.OwnerReference{gone}, true},
		{"a deleted pod with the name of another pod", []metav1.OwnerReference{pod(stays.Name, "1")}, true},
		{"a pod that is being deleted", []metav1.OwnerReference{pod(goes.Name, goes.UID)}, true},
		{"a pod that is not being deleted", []metav1.OwnerReference{pod(stays.Name, stays.UID)}, false},
		{"a deleted pod and another pod", []metav1.OwnerReference{gone, pod(stays.Name, stays.UID)}, false},
		{"a deleted pod and a ReplicaSet",
			[]metav1.OwnerReference{gone, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "1"}}, false},
	} {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings",
			OwnerReferences: test.refs}}
		if why, err := c.WhyPodFreesName(t.Context(), config, "ConfigMap", app); err != nil ||
			(why != "") != test.waited {
			t.Errorf("%s: %q, %v", test.name, why, err)
		}
	}
}
