package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestWithIdentity checks the labels, the annotation and the owners of the copy of an inherited pod. Only a driver
// without a controller must get another owner, and the pod itself must not change.
func TestWithIdentity(t *testing.T) {
	owner := metav1.OwnerReference{Kind: "SparkApplication", Name: "pi", UID: "u", Controller: new(true)}
	other := metav1.OwnerReference{Kind: "SparkApplication", Name: "e", UID: "v", Controller: new(true)}

	plain := metav1.OwnerReference{Kind: "SparkApplication", Name: "pi", UID: "u"}
	for name, test := range map[string]struct {
		role         string
		owners, want []metav1.OwnerReference
	}{
		"driver without an owner": {submit.RoleDriver, nil, []metav1.OwnerReference{owner}},
		"driver without a controller": {submit.RoleDriver, []metav1.OwnerReference{plain},
			[]metav1.OwnerReference{owner}},
		"driver with a controller": {submit.RoleDriver, []metav1.OwnerReference{other},
			[]metav1.OwnerReference{other}},
		"executor without an owner": {submit.RoleExecutor, nil, nil},
		"executor with its driver": {submit.RoleExecutor, []metav1.OwnerReference{other},
			[]metav1.OwnerReference{other}},
		"Connect server with an owner": {"connect-server", []metav1.OwnerReference{plain},
			[]metav1.OwnerReference{plain}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "pi-driver", Labels: map[string]string{submit.RoleLabel: test.role},
			Annotations: map[string]string{"a": "b"}, OwnerReferences: test.owners,
		}}
		before := pod.DeepCopy()

		want := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "pi-driver",
			Labels: map[string]string{submit.RoleLabel: test.role, lifecycle.AppUIDLabel: "u",
				lifecycle.AttemptLabel: "2"},
			Annotations:     map[string]string{"a": "b", lifecycle.AdoptedAnnotation: "spark-1"},
			OwnerReferences: test.want,
		}}
		if diff := cmp.Diff(want, WithIdentity(pod, owner, 2, "spark-1")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if diff := cmp.Diff(before, pod); diff != "" {
			t.Errorf("%s: the pod itself changed (-before +after):\n%s", name, diff)
		}
	}
}
