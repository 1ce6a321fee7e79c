package handlers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// gatherDelay is the delay for events that no decision waits for. It lets one pass handle several events. For example,
// five executors that start cause fifteen events within a second or two. A pass costs about as much as the delivery of
// all these events, so a pass for each of them would be expensive. Users do not notice the delay, because changes of
// executors are written to the status with an even longer delay (package statuswrite).
const gatherDelay = time.Second

// delayedQueue is a queue whose Add delays the key by gatherDelay.
type delayedQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (q delayedQueue) Add(request reconcile.Request) { q.AddAfter(request, gatherDelay) }

// Arrivals puts the owners of dependents into the queue. It delays the creation events, because they need no pass at
// once. If this operator created the dependent, the pass that created it is probably still running. If another operator
// created the dependent, the owner was created as well, and the event of that creation starts a pass.
type Arrivals struct{ handler.EventHandler }

// Create puts the owner of a new dependent into the queue, with a delay.
func (a Arrivals) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	a.EventHandler.Create(ctx, e, delayedQueue{q})
}

// Pods puts the owners of pods into the queue: at once for drivers and for executors that fail, and with a delay for
// other executors and for drivers that are starting. It notes the executors that failed or were deleted.
type Pods struct {
	handler.EventHandler
	Owner handler.MapFunc
	Ended *churn.Ended
	// Leads is closed when this process becomes the leader. While the process is a standby replica, the leader counts
	// the executors.
	Leads <-chan struct{}
	// Counts is true if the kind counts deleted executors, or what pods have used.
	Counts bool
	// Logs receives the pods whose logs may have to be kept; nil if logs are not kept.
	Logs Logs
}

// Logs keeps the logs of pods.
type Logs interface {
	// Observe receives the state of a pod, and Gone the last state of one that does not exist any more.
	Observe(owner types.NamespacedName, pod *corev1.Pod)
	Gone(owner types.NamespacedName, pod *corev1.Pod)
}

// Create queues the owner of a new pod.
func (w Pods) Create(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.Object) {
		w.keepLog(ctx, e.Object, Logs.Observe)
		w.EventHandler.Create(ctx, e, gatherUnless(w.noteEnds(ctx, nil, e.Object), e.Object, q))
	}
}

// Update queues the owner of a changed pod.
func (w Pods) Update(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if w.concerned(ctx, e.ObjectNew) || w.concerned(ctx, e.ObjectOld) {
		w.keepLog(ctx, e.ObjectNew, Logs.Observe)
		w.EventHandler.Update(ctx, e, gatherUnless(w.noteEnds(ctx, e.ObjectOld, e.ObjectNew), e.ObjectNew, q))
	}
}

// Delete queues the owner of a deleted pod.
func (w Pods) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.keepLog(ctx, e.Object, Logs.Gone)

	pod, ok := e.Object.(*corev1.Pod)
	switch {
	case !ok || !w.Counts:
	case pod.Labels[identity.RoleLabel] == identity.RoleExecutor:
		// If the watch missed the deletion, the last known state of the pod is too old to show whether it ran.
		taken := !e.DeleteStateUnknown && lifecycle.DeletedWhileRunning(pod)
		w.note(ctx, churn.End{Pod: LastState(pod), Gone: true, Taken: taken, Use: lastUse(pod)})
	case succeededDriver(pod):
		w.note(ctx, churn.End{Pod: *pod, Use: lastUse(pod)})
	case (identity.IsDriver(pod) || identity.IsClusterPod(pod)) && lastUse(pod).From > 0:
		w.note(ctx, churn.End{Pod: LastState(pod), Gone: true, Use: lastUse(pod)})
	}

	w.EventHandler.Delete(ctx, e, gatherUnless(e.Object.GetLabels()[identity.RoleLabel] != identity.RoleExecutor, e.Object, q))
}

// keepLog passes a pod of this kind to the keeper of logs.
func (w Pods) keepLog(ctx context.Context, object client.Object, pass func(Logs, types.NamespacedName, *corev1.Pod)) {
	pod, ok := object.(*corev1.Pod)
	if !ok || w.Logs == nil {
		return
	}

	for _, request := range w.Owner(ctx, pod) {
		pass(w.Logs, request.NamespacedName, pod)
	}
}

// concerned reports whether a pod belongs to a custom resource of this kind. Every kind receives the events of all
// pods, and most of these pods belong to another kind.
func (w Pods) concerned(ctx context.Context, pod client.Object) bool {
	return len(w.Owner(ctx, pod)) > 0
}

func gatherUnless(urgent bool, pod client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	if !urgent && (pod.GetLabels()[identity.RoleLabel] == identity.RoleExecutor || isStart(pod)) {
		return delayedQueue{q}
	}
	return q
}

// isStart reports whether a driver is pending without a problem. Events about such a driver can wait, because the
// status does not show its changes. There is one exception, which is not urgent: if spark-submit created the driver,
// the status shows the driver's name.
func isStart(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	if !ok || !identity.IsDriver(pod) || pod.DeletionTimestamp != nil {
		return false
	}

	driver := lifecycle.DriverFacts(pod, trim.SparkContainer(pod))
	return driver.Phase == lifecycle.DriverPending && driver.Why.Reason == ""
}

// noteEnds reports whether this event is the first that shows an executor's failure. If it is, noteEnds also remembers
// the executor.
func (w Pods) noteEnds(ctx context.Context, before, now client.Object) (fails bool) {
	if !failedExecutor(now) || failedExecutor(before) {
		return false
	}

	pod := now.(*corev1.Pod)
	w.note(ctx, churn.End{Pod: *pod, Use: lifecycle.Use(pod)})
	return true
}

// lastUse returns what a pod has used whose deletion an event shows. If the watch missed the deletion, the event may be
// late, and the pod was gone at its deletion timestamp.
func lastUse(pod *corev1.Pod) lifecycle.PodUse {
	gone := time.Now()
	if by := pod.DeletionTimestamp; by != nil && by.Time.Before(gone) {
		gone = by.Time
	}
	return lifecycle.Use(pod).GoneAt(gone)
}

// note remembers an executor that failed or was deleted, if this process leads.
func (w Pods) note(ctx context.Context, end churn.End) {
	select {
	case <-w.Leads:
	default:
		return
	}

	for _, request := range w.Owner(ctx, &end.Pod) {
		w.Ended.Note(request.NamespacedName, end)
	}
}

// succeededDriver reports whether a pod is a driver that exited with code 0. If the kubelet reports that and removes
// the pod before a pass, only the event of the deletion shows it.
func succeededDriver(pod *corev1.Pod) bool {
	return identity.IsDriver(pod) && lifecycle.DriverFacts(pod, trim.SparkContainer(pod)).Phase == lifecycle.DriverSucceeded
}

func failedExecutor(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Labels[identity.RoleLabel] == identity.RoleExecutor && lifecycle.ExecutorFacts(pod).Phase == lifecycle.DriverFailed
}

// LastState converts a deleted executor into the form in which churn.Ended remembers it. The pod of a failed executor
// stays unchanged. Any other pod is reduced to the fields that are needed to count the executor. Its phase becomes
// Failed if the operator expected the executor to fail (executors.IsLeaving), and otherwise Succeeded.
func LastState(pod *corev1.Pod) corev1.Pod {
	facts := lifecycle.ExecutorFacts(pod)
	if facts.Phase == lifecycle.DriverFailed {
		return *pod
	}

	over := corev1.PodSucceeded
	if executors.IsLeaving(&facts) {
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
