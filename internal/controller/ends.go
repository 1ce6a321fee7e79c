package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/shard"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// maxEnds bounds how many executors ends remembers at once, each with what the cache keeps of a pod: a few megabytes.
const maxEnds = 1000

// ends remembers executors that failed, from the watch event that tells so until a pass has counted them. Spark deletes an executor a second after it
// failed: a pass that comes later than that sees neither, and would take it for one that completed. A new process remembers none.
type ends struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]map[types.UID]corev1.Pod
	held int
}

func (e *ends) note(key types.NamespacedName, pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.keys[key][pod.UID]; known || e.held >= maxEnds {
		return
	}
	if e.keys == nil {
		e.keys = map[types.NamespacedName]map[types.UID]corev1.Pod{}
	}
	if e.keys[key] == nil {
		e.keys[key] = map[types.UID]corev1.Pod{}
	}
	e.keys[key][pod.UID] = *pod
	e.held++
}

// of returns the executors that a pass is to count, whether or not they are still there.
func (e *ends) of(key types.NamespacedName) []corev1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.keys[key]))
}

// counted forgets executors that a stored pass has counted.
func (e *ends) counted(key types.NamespacedName, pods []corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range pods {
		if _, known := e.keys[key][pods[i].UID]; known {
			delete(e.keys[key], pods[i].UID)
			e.held--
		}
	}
	if len(e.keys[key]) == 0 {
		delete(e.keys, key)
	}
}

func (e *ends) forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held -= len(e.keys[key])
	delete(e.keys, key)
}

// observeEnds adds the executors that failed and are gone to the pods of a pass, which then looks again: it decided as if they were there.
func (r *Reconciler[T]) observeEnds(p *pass[T], pods []corev1.Pod) []corev1.Pod {
	p.ends = r.ends.of(keyOf(p.stored))
	for _, end := range p.ends {
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.UID == end.UID }) {
			pods = append(pods, end)
			p.check = lookAgain
		}
	}
	return pods
}

// gather is how long news is waited with that nobody waits for, for more of the same: five executors that start are fifteen events within a second or two, and
// each look at the application costs as much as all of them together. A status tells of executors later than that anyway (quiet).
const gather = time.Second

// gathered is a queue that takes in what can wait.
type gathered struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (q gathered) Add(request reconcile.Request) { q.AddAfter(request, gather) }

// arrivals brings the events of children to the queue, and those that one has come gathered: this operator made it, most likely in the pass that is still at
// work, or another made it for an object whose own coming tells the same.
type arrivals struct{ handler.EventHandler }

// Create puts the owner into the queue, to be looked at with what else comes.
func (a arrivals) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	a.EventHandler.Create(ctx, e, gathered{q})
}

// witness brings the events of pods to the queue: those of drivers and of executors that fail at once, which it notes, and those of other executors and of drivers
// that are about to start gathered.
type witness struct {
	handler.EventHandler
	owner handler.MapFunc
	ends  *ends
	// leads is closed when this process acts: what one that stands by has seen, another has counted.
	leads <-chan struct{}
	// shards are this replica's where others act as well.
	shards *shard.Member
}

// Create puts the owner of a pod that has come into the queue.
func (w witness) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.Object) {
		w.EventHandler.Create(ctx, e, gatheredUnless(w.see(ctx, nil, e.Object), e.Object, q))
	}
}

// Update does so with one that has changed.
func (w witness) Update(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.ObjectNew) || w.concerned(ctx, e.ObjectOld) {
		w.EventHandler.Update(ctx, e, gatheredUnless(w.see(ctx, e.ObjectOld, e.ObjectNew), e.ObjectNew, q))
	}
}

// Delete does so with one that is gone.
func (w witness) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.EventHandler.Delete(ctx, e, gatheredUnless(e.Object.GetLabels()[labelRole] != roleExecutor, e.Object, q))
}

// concerned reports whether a pod is of the kind's at all: every kind hears of all pods, and most are another's.
func (w witness) concerned(ctx context.Context, pod client.Object) bool {
	return len(w.owner(ctx, pod)) > 0
}

func gatheredUnless(fails bool, pod client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	if !fails && (pod.GetLabels()[labelRole] == roleExecutor || starts(pod)) {
		return gathered{q}
	}
	return q
}

// starts reports whether a driver is on its way and lacks nothing, of which no status tells but that of a driver that spark-submit makes: its name, a little later.
func starts(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	if !ok || !isDriver(pod) || pod.DeletionTimestamp != nil {
		return false
	}
	driver := lifecycle.DriverFacts(pod, sparkContainer(pod))
	return driver.Phase == lifecycle.DriverPending && driver.Why.Reason == ""
}

// see notes an executor that fails now, and reports whether it does.
func (w witness) see(ctx context.Context, before, now client.Object) (fails bool) {
	if !failedExecutor(now) || failedExecutor(before) {
		return false
	}
	select {
	case <-w.leads:
	default:
		return true
	}
	for _, request := range w.owner(ctx, now) {
		if w.shards.Owns(request.NamespacedName) {
			w.ends.note(request.NamespacedName, now.(*corev1.Pod))
		}
	}
	return true
}

func failedExecutor(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Labels[labelRole] == roleExecutor && lifecycle.ExecutorFacts(pod, executorContainer).Phase == lifecycle.DriverFailed
}
