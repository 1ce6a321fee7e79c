package feed

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

const (
	// maxEnds bounds how many executors of a namespace that failed Ended remembers at once, each with what the cache keeps of a pod: a few megabytes.
	maxEnds = 1000
	// maxGone bounds how many others it does, of each little more than its name: some megabytes too.
	maxGone = 4000
	// allEnds is how many times as many it remembers of all namespaces together. Each namespace may have one in ownEnds of
	// its own bound whatever the others have, so that none pushes out the executors of another.
	allEnds = 4
	ownEnds = 10
)

// Ended remembers executors that failed, from the watch event that tells so until a pass has counted them, and those that are gone, from when they went. Spark deletes
// an executor a second after it failed: a pass that comes later than that sees neither, and would take it for one that completed. And where passes are seconds
// late, the executors of a short run come and go between two of them, or before what is put off of them is stored. A new process remembers none.
type Ended struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]map[types.UID]End
	held map[endsOf]int
}

// endsOf is whose executors are counted.
type endsOf struct {
	namespace string // "": of all
	gone      bool
}

// full reports whether no more executors of a namespace are remembered.
func (e *Ended) full(namespace string, gone bool) bool {
	most := maxEnds
	if gone {
		most = maxGone
	}
	own := e.held[endsOf{namespace, gone}]
	return own >= most || own >= most/ownEnds && e.held[endsOf{"", gone}] >= most*allEnds
}

// hold counts so many more of a namespace.
func (e *Ended) hold(namespace string, gone bool, more int) {
	for _, of := range []endsOf{{namespace, gone}, {"", gone}} {
		if e.held[of] += more; e.held[of] == 0 {
			delete(e.held, of)
		}
	}
}

// End is an executor that ended.
type End struct {
	Pod   corev1.Pod
	Gone  bool // without having been seen to fail
	Taken bool // while it ran (lifecycle.ExecutorTaken)
}

// Note remembers an executor. One that was seen to fail is not one that is gone as well.
func (e *Ended) Note(key types.NamespacedName, is End) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.keys[key][is.Pod.UID]; known || e.full(key.Namespace, is.Gone) {
		return
	}
	if e.keys == nil {
		e.keys, e.held = map[types.NamespacedName]map[types.UID]End{}, map[endsOf]int{}
	}
	if e.keys[key] == nil {
		e.keys[key] = map[types.UID]End{}
	}
	e.keys[key][is.Pod.UID] = is
	e.hold(key.Namespace, is.Gone, 1)
}

// Of returns the executors that a pass is to count, whether or not they are still there.
func (e *Ended) Of(key types.NamespacedName) []End {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.keys[key]))
}

// Counted forgets executors that a stored pass has counted.
func (e *Ended) Counted(key types.NamespacedName, those []End) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range those {
		e.drop(key, those[i].Pod.UID)
	}
	if len(e.keys[key]) == 0 {
		delete(e.keys, key)
	}
}

func (e *Ended) drop(key types.NamespacedName, uid types.UID) {
	if is, known := e.keys[key][uid]; known {
		delete(e.keys[key], uid)
		e.hold(key.Namespace, is.Gone, -1)
	}
}

// Forget drops what is remembered of a custom resource.
func (e *Ended) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid := range e.keys[key] {
		e.drop(key, uid)
	}
	delete(e.keys, key)
}

// Left is what is remembered of an executor that is gone: as one that failed where it was on its way to that, else as one that has done its work.
func Left(pod *corev1.Pod) corev1.Pod {
	facts := lifecycle.ExecutorFacts(pod, overlay.ExecutorContainer)
	if facts.Phase == lifecycle.DriverFailed {
		return *pod
	}
	over := corev1.PodSucceeded
	if dialect.Leaving(&facts) {
		over = corev1.PodFailed
	}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Status: corev1.PodStatus{Phase: over, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: pod.Status.Conditions},
	}
}
