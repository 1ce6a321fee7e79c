package dependents

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// claimedPods returns n failed drivers and n executors. The drivers name an application as their controller, and the
// executors name a StatefulSet. Anybody who may create pods can create such pods.
func claimedPods(n int) []corev1.Pod {
	pod := func(role, name string, owner metav1.OwnerReference) corev1.Pod {
		owner.Controller = new(true)
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{identity.RoleLabel: role, identity.AppUIDLabel: "u", identity.AttemptLabel: "1",
				submit.SelectorLabel: "s"},
		}}
	}

	var pods []corev1.Pod
	for i := range n {
		driver := pod(identity.RoleDriver, fmt.Sprint("driver-", i),
			metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "a", UID: "u"})
		driver.Status.Phase, driver.Status.Message = corev1.PodFailed, "message"
		set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "s", UID: "set"}
		pods = append(pods, driver, pod(identity.RoleExecutor, fmt.Sprint("exec-", i), set))
	}
	return pods
}

// TestManyClaimedPods checks that SortPods does not compare every executor of an application with every driver.
func TestManyClaimedPods(t *testing.T) {
	worst.Linear(t, "pods that say they are an application's", func(n int) func() {
		pods := claimedPods(n)
		return func() {
			if c := SortPods(pods, "u"); len(c.Drivers) != n || len(c.Executors) != 0 {
				t.Errorf("%d drivers, %d executors", len(c.Drivers), len(c.Executors))
			}
		}
	})
}
