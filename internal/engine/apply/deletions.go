package apply

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
)

// pendingDeletion is how long the caches may take to show a deletion. It is the shortest time after which a deletion
// without effect is repeated.
const pendingDeletion = time.Second

// Deletions remembers, for each custom resource, the objects whose deletion this process has just requested. The cache
// of one kind may show a deletion before that of another: the event of the driver's ConfigMap then begins a pass that
// still finds the driver pod, and would delete it again. The zero value is empty.
type Deletions struct {
	bykey.ByKey[types.NamespacedName, map[types.UID]time.Time]
}

// Pending returns those objects whose deletion was not requested within pendingDeletion. If d is nil, it returns all.
func (d *Deletions) Pending(owner types.NamespacedName, objects []client.Object, now time.Time) []client.Object {
	if d == nil {
		return objects
	}

	requested, _ := d.Get(owner)
	return slices.DeleteFunc(objects, func(object client.Object) bool {
		at, known := requested[object.GetUID()]
		return known && pends(at, now)
	})
}

// Requested records the deletion of some objects, and forgets those that were recorded before pendingDeletion.
func (d *Deletions) Requested(owner types.NamespacedName, objects []client.Object, now time.Time) {
	if d == nil || len(objects) == 0 {
		return
	}

	d.Update(owner, func(before map[types.UID]time.Time, _ bool) (map[types.UID]time.Time, bool) {
		next := maps.Clone(before) // others may read the map
		if next == nil {
			next = map[types.UID]time.Time{}
		}

		maps.DeleteFunc(next, func(_ types.UID, at time.Time) bool { return !pends(at, now) })

		for _, object := range objects {
			next[object.GetUID()] = now
		}
		return next, true
	})
}

// pends reports whether the caches may not show a deletion yet. A clock that was set back ends the wait.
func pends(at, now time.Time) bool { return now.Sub(at).Abs() < pendingDeletion }
