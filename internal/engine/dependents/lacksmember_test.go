package dependents

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// TestLacksMember checks that a live read notices a pod of a standalone cluster that the cache does not show, also one
// of an earlier cluster with the same name, whose pods still use quota.
func TestLacksMember(t *testing.T) {
	pod := func(role, uid string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{identity.RoleLabel: role}}}
	}
	known := Set{Members: []corev1.Pod{pod("worker", "1")}}

	for name, c := range map[string]struct {
		live []corev1.Pod
		want bool
	}{
		"no pods":             {nil, false},
		"a known worker":      {[]corev1.Pod{pod("worker", "1")}, false},
		"an unknown worker":   {[]corev1.Pod{pod("worker", "1"), pod("worker", "2")}, true},
		"an unknown master":   {[]corev1.Pod{pod("master", "2")}, true},
		"a driver beside it":  {[]corev1.Pod{pod("driver", "2")}, false},
		"a pod without roles": {[]corev1.Pod{pod("", "2")}, false},
	} {
		if got := known.LacksMember(c.live); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
