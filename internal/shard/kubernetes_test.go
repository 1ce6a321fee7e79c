package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestStoreOnAnAPIServer: the Leases of the API server keep what the protocol relies on: one writer for each version, lists of the set and nothing else.
func TestStoreOnAnAPIServer(t *testing.T) {
	namespace := testkit.Namespace(t)
	core, err := kubernetes.NewForConfig(testkit.Rest(t))
	if err != nil {
		t.Fatal(err)
	}
	leases := core.CoordinationV1().Leases(namespace)
	store, other := NewStore(leases, "lock"), NewStore(leases, "lock-2")
	ctx := t.Context()

	is, err := store.Get(ctx, "lock")
	if diff := cmp.Diff(Lease{Name: "lock"}, is); err != nil || diff != "" {
		t.Fatalf("one that there is not: %v\n%s", err, diff)
	}
	first, err := store.Put(ctx, Lease{Name: "lock-shard-0", Holder: "a", Duration: 1500 * time.Millisecond})
	if err != nil || first.Holder != "a" || first.Version == "" || first.Duration != 2*time.Second {
		t.Fatalf("created: %+v, %v; want whole seconds, no fewer", first, err)
	}
	if _, err := store.Put(ctx, Lease{Name: "lock-shard-0", Holder: "b", Duration: time.Second}); !errors.Is(err, ErrChanged) {
		t.Errorf("created twice: %v", err)
	}
	// The same words are another version all the same: that is what a renewal is.
	second, err := store.Put(ctx, first)
	if err != nil || second.Version == first.Version {
		t.Errorf("renewed: %+v after %+v, %v", second, first, err)
	}
	if _, err := store.Put(ctx, Lease{Name: "lock-shard-0", Holder: "b", Version: first.Version, Duration: time.Second}); !errors.Is(err, ErrChanged) {
		t.Errorf("written over an older version: %v", err)
	}
	for _, one := range []struct {
		store Store
		name  string
	}{{store, "lock"}, {other, "lock-2-shard-0"}} {
		if _, err := one.store.Put(ctx, Lease{Name: one.name, Holder: "c", Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(ctx)
	if diff := cmp.Diff([]Lease{second}, list); err != nil || diff != "" {
		t.Errorf("list: %v (-want +got)\n%s", err, diff)
	}
	if err := leases.Delete(ctx, "lock-shard-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(ctx, second); !errors.Is(err, ErrChanged) {
		t.Errorf("renewed after it was deleted: %v", err)
	}
	// What people make by hand has neither holder nor duration.
	if _, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lock-shard-1", Labels: map[string]string{setLabel: "lock"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err = store.List(ctx); err != nil || len(list) != 1 || list[0].Holder != "" || list[0].Duration != 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if _, err := NewStore(core.CoordinationV1().Leases("nowhere"), "lock").Put(ctx, Lease{Name: "lock", Holder: "a", Duration: time.Second}); err == nil || errors.Is(err, ErrChanged) {
		t.Errorf("in a namespace that there is not: %v, want an error that is told", err)
	}
}
