package controller

import (
	"context"
	"maps"
	"slices"
	"sync"

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

// witness notes executors that fail, on their events' way to the queue.
type witness struct {
	handler.EventHandler
	owner handler.MapFunc
	ends  *ends
	// leads is closed when this process acts: what one that stands by has seen, another has counted.
	leads <-chan struct{}
	// shards are this replica's where others act as well.
	shards *shard.Member
}

func (w witness) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.see(ctx, nil, e.Object)
	w.EventHandler.Create(ctx, e, q)
}

func (w witness) Update(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.see(ctx, e.ObjectOld, e.ObjectNew)
	w.EventHandler.Update(ctx, e, q)
}

func (w witness) see(ctx context.Context, before, now client.Object) {
	if !failedExecutor(now) || failedExecutor(before) {
		return
	}
	select {
	case <-w.leads:
	default:
		return
	}
	for _, request := range w.owner(ctx, now) {
		if w.shards.Owns(request.NamespacedName) {
			w.ends.note(request.NamespacedName, now.(*corev1.Pod))
		}
	}
}

func failedExecutor(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Labels[labelRole] == roleExecutor && lifecycle.ExecutorFacts(pod, executorContainer).Phase == lifecycle.DriverFailed
}
