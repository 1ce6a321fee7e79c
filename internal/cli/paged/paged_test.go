package paged

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// TestExecutorsLast checks that the order of the other pods and that of the executors stay as they are.
func TestExecutorsLast(t *testing.T) {
	pod := func(name, role string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{identity.RoleLabel: role}}}
	}
	pods := ExecutorsLast([]corev1.Pod{
		pod("a-27-exec-1", identity.RoleExecutor), pod("a-27-exec-2", identity.RoleExecutor),
		pod("a-driver", identity.RoleDriver),
		pod("a-fa-exec-1", identity.RoleExecutor), pod("a-submit", ""),
	})

	var got []string
	for i := range pods {
		got = append(got, pods[i].Name)
	}

	if want := []string{"a-driver", "a-submit", "a-27-exec-1", "a-27-exec-2", "a-fa-exec-1"}; !slices.Equal(got, want) {
		t.Errorf("the pods are %v, want %v", got, want)
	}
}
