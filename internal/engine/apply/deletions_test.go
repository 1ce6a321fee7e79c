package apply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDeletionsPend checks that a deletion is not requested twice within a second, but afterwards, for other objects
// and custom resources, and when the clock was set back.
func TestDeletionsPend(t *testing.T) {
	pod := func(uid types.UID) client.Object { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}} }
	owner, now := types.NamespacedName{Namespace: "a", Name: "pi"}, time.Unix(1000, 0)

	var d Deletions
	d.Requested(owner, []client.Object{pod("1")}, now)
	d.Requested(owner, []client.Object{pod("2")}, now.Add(600*time.Millisecond))

	for _, c := range []struct {
		name  string
		owner types.NamespacedName
		after time.Duration
		want  int // of the pods 1, 2 and 3
	}{
		{"at once", owner, 600 * time.Millisecond, 1},
		{"after a second", owner, time.Second, 2},
		{"later", owner, 2 * time.Second, 3},
		{"the clock was set back", owner, -time.Hour, 3},
		{"another custom resource", types.NamespacedName{Namespace: "a", Name: "other"}, 0, 3},
	} {
		if got := d.Pending(c.owner, []client.Object{pod("1"), pod("2"), pod("3")}, now.Add(c.after)); len(got) != c.want {
			t.Errorf("%s: %d pods are to be deleted, want %d", c.name, len(got), c.want)
		}
	}

	d.Requested(owner, []client.Object{pod("3")}, now.Add(time.Hour))

	if kept, _ := d.Get(owner); len(kept) != 1 {
		t.Errorf("%d deletions are remembered, want the last one", len(kept))
	}

	if got := (*Deletions)(nil).Pending(owner, []client.Object{pod("1")}, now); len(got) != 1 {
		t.Errorf("without a memory %d pods are to be deleted, want 1", len(got))
	}
}
