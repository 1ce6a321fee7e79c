package feed

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// gather is how long news is waited with that nobody waits for, for more of the same: five executors that start are fifteen events within a second or two, and
// each look at the application costs as much as all of them together. A status tells of executors later than that anyway (quiet).
const gather = time.Second

// gathered is a queue that takes in what can wait.
type gathered struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (q gathered) Add(request reconcile.Request) { q.AddAfter(request, gather) }

// Arrivals brings the events of children to the queue, and those that one has come gathered: this operator made it, most likely in the pass that is still at
// work, or another made it for an object whose own coming tells the same.
type Arrivals struct{ handler.EventHandler }

// Create puts the owner into the queue, to be looked at with what else comes.
func (a Arrivals) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	a.EventHandler.Create(ctx, e, gathered{q})
}

// Pods brings the events of pods to the queue: those of drivers and of executors that fail at once, and those of other executors and of drivers
// that are about to start gathered. It notes the executors that fail, or are gone.
type Pods struct {
	handler.EventHandler
	Owner handler.MapFunc
	Ended *Ended
	// Leads is closed when this process acts: what one that stands by has seen, another has counted.
	Leads <-chan struct{}
	// Counts is set where those are counted that are gone.
	Counts bool
}

// Create puts the owner of a pod that has come into the queue.
func (w Pods) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.Object) {
		w.EventHandler.Create(ctx, e, gatheredUnless(w.see(ctx, nil, e.Object), e.Object, q))
	}
}

// Update does so with one that has changed.
func (w Pods) Update(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.ObjectNew) || w.concerned(ctx, e.ObjectOld) {
		w.EventHandler.Update(ctx, e, gatheredUnless(w.see(ctx, e.ObjectOld, e.ObjectNew), e.ObjectNew, q))
	}
}

// Delete does so with one that is gone.
func (w Pods) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if pod, ok := e.Object.(*corev1.Pod); ok && w.Counts && pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
		// The last state of a pod that went unwatched is an old one.
		taken := !e.DeleteStateUnknown && lifecycle.ExecutorTaken(pod, overlay.ExecutorContainer)
		w.note(ctx, End{Pod: Left(pod), Gone: true, Taken: taken})
	}
	w.EventHandler.Delete(ctx, e, gatheredUnless(e.Object.GetLabels()[identity.RoleLabel] != identity.RoleExecutor, e.Object, q))
}

// concerned reports whether a pod is of the kind's at all: every kind hears of all pods, and most are another's.
func (w Pods) concerned(ctx context.Context, pod client.Object) bool {
	return len(w.Owner(ctx, pod)) > 0
}

func gatheredUnless(fails bool, pod client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	if !fails && (pod.GetLabels()[identity.RoleLabel] == identity.RoleExecutor || starts(pod)) {
		return gathered{q}
	}
	return q
}

// starts reports whether a driver is on its way and lacks nothing, of which no status tells but that of a driver that spark-submit makes: its name, a little later.
func starts(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	if !ok || !identity.IsDriver(pod) || pod.DeletionTimestamp != nil {
		return false
	}
	driver := lifecycle.DriverFacts(pod, trim.SparkContainer(pod))
	return driver.Phase == lifecycle.DriverPending && driver.Why.Reason == ""
}

// see notes an executor that fails now, and reports whether it does.
func (w Pods) see(ctx context.Context, before, now client.Object) (fails bool) {
	if !failedExecutor(now) || failedExecutor(before) {
		return false
	}
	w.note(ctx, End{Pod: *now.(*corev1.Pod)})
	return true
}

// note notes an executor that failed, or is gone, where this process acts.
func (w Pods) note(ctx context.Context, is End) {
	select {
	case <-w.Leads:
	default:
		return
	}
	for _, request := range w.Owner(ctx, &is.Pod) {
		w.Ended.Note(request.NamespacedName, is)
	}
}

func failedExecutor(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Labels[identity.RoleLabel] == identity.RoleExecutor && lifecycle.ExecutorFacts(pod, overlay.ExecutorContainer).Phase == lifecycle.DriverFailed
}
