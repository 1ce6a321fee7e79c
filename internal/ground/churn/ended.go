// Package churn remembers executors that ended until a pass has counted them.
package churn

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// maxEnds is the largest number of failed executors of a namespace that Ended remembers. An entry is as large as a
	// pod in the cache, so all entries take a few megabytes.
	maxEnds = 1000
	// maxGone is the largest number of deleted executors of a namespace that Ended remembers in addition. An entry is
	// hardly larger than the executor's name, so all entries take a few megabytes.
	maxGone = 4000
	// allEnds and ownEnds are factors for the bounds maxEnds and maxGone. All namespaces together may use at most
	// allEnds times each bound. However much the other namespaces use, each namespace may use 1/ownEnds of each bound,
	// so that no namespace pushes out the executors of another namespace.
	allEnds = 4
	ownEnds = 10
)

// Ended remembers executors until a pass has counted them. It remembers a failed executor when a watch event shows the
// failure, and a deleted executor when a watch event shows the deletion.
//
// Spark deletes an executor a second after it failed. A later pass finds neither the failure nor the pod, and would
// count the executor as completed. In addition, if passes are seconds late, the executors of a short run start and end
// between two passes, or before a debounced status is written. A new process remembers no executors.
//
// Ended also remembers deleted drivers, because the sums of usage need the time of the deletion.
type Ended struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]map[types.UID]End
	held map[endsOf]int
}

// endsOf identifies a group of remembered executors. Each group has its own bound: maxEnds for failed executors, and
// maxGone for deleted executors (gone).
type endsOf struct {
	namespace string // "" for all namespaces
	gone      bool
}

// full reports whether the bound of a group is reached, so that Ended cannot remember another executor of the group.
func (e *Ended) full(namespace string, gone bool) bool {
	most := maxEnds
	if gone {
		most = maxGone
	}

	own := e.held[endsOf{namespace, gone}]
	return own >= most || own >= most/ownEnds && e.held[endsOf{"", gone}] >= most*allEnds
}

// reserve adds the argument `more` to two counts of remembered executors: the count of the namespace, and the count of
// all namespaces. The argument is negative if executors are no longer remembered.
func (e *Ended) reserve(namespace string, gone bool, more int) {
	for _, group := range []endsOf{{namespace, gone}, {"", gone}} {
		if e.held[group] += more; e.held[group] == 0 {
			delete(e.held, group)
		}
	}
}

// End is an executor that has ended or was deleted.
type End struct {
	Pod   corev1.Pod
	Gone  bool // the executor was deleted, and no event had shown a failure
	Taken bool // somebody else deleted the executor while it ran (lifecycle.DeletedWhileRunning)
	Use   lifecycle.PodUse
}

// Note remembers an executor until it is counted. Of the deletion of an executor whose failure is already noted, it
// remembers only the time.
func (e *Ended) Note(key types.NamespacedName, end End) {
	e.mu.Lock()
	defer e.mu.Unlock()

	before, known := e.keys[key][end.Pod.UID]
	if known && end.Use.Until > 0 {
		before.Use = end.Use
		e.keys[key][end.Pod.UID] = before
	}

	if known || e.full(key.Namespace, end.Gone) {
		return
	}

	if e.keys == nil {
		e.keys, e.held = map[types.NamespacedName]map[types.UID]End{}, map[endsOf]int{}
	}

	if e.keys[key] == nil {
		e.keys[key] = map[types.UID]End{}
	}

	e.keys[key][end.Pod.UID] = end
	e.reserve(key.Namespace, end.Gone, 1)
}

// Of returns the executors that a pass has to count, whether or not their pods still exist.
func (e *Ended) Of(key types.NamespacedName) []End {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.keys[key]))
}

// Counted forgets executors that are counted in a stored status.
func (e *Ended) Counted(key types.NamespacedName, ends []End) {
	e.mu.Lock()
	defer e.mu.Unlock()

	for i := range ends {
		e.drop(key, ends[i].Pod.UID)
	}

	if len(e.keys[key]) == 0 {
		delete(e.keys, key)
	}
}

func (e *Ended) drop(key types.NamespacedName, uid types.UID) {
	if end, known := e.keys[key][uid]; known {
		delete(e.keys[key], uid)
		e.reserve(key.Namespace, end.Gone, -1)
	}
}

// Forget drops all remembered executors of a custom resource.
func (e *Ended) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()

	for uid := range e.keys[key] {
		e.drop(key, uid)
	}

	delete(e.keys, key)
}
