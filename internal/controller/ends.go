package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

const (
	// maxEnds bounds how many executors of a namespace that failed ends remembers at once, each with what the cache keeps of a pod: a few megabytes.
	maxEnds = 1000
	// maxGone bounds how many others it does, of each little more than its name: some megabytes too.
	maxGone = 4000
	// allEnds is how many times as many it remembers of all namespaces together. Each namespace may have one in ownEnds of
	// its own bound whatever the others have, so that none pushes out the executors of another.
	allEnds = 4
	ownEnds = 10
)

// ends remembers executors that failed, from the watch event that tells so until a pass has counted them, and those that are gone, from when they went. Spark deletes
// an executor a second after it failed: a pass that comes later than that sees neither, and would take it for one that completed. And where passes are seconds
// late, the executors of a short run come and go between two of them, or before what is put off of them is stored. A new process remembers none.
type ends struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]map[types.UID]end
	held map[endsOf]int
}

// endsOf is whose executors are counted.
type endsOf struct {
	namespace string // "": of all
	gone      bool
}

// full reports whether no more executors of a namespace are remembered.
func (e *ends) full(namespace string, gone bool) bool {
	most := maxEnds
	if gone {
		most = maxGone
	}
	own := e.held[endsOf{namespace, gone}]
	return own >= most || own >= most/ownEnds && e.held[endsOf{"", gone}] >= most*allEnds
}

// hold counts so many more of a namespace.
func (e *ends) hold(namespace string, gone bool, more int) {
	for _, of := range []endsOf{{namespace, gone}, {"", gone}} {
		if e.held[of] += more; e.held[of] == 0 {
			delete(e.held, of)
		}
	}
}

// end is an executor that ended.
type end struct {
	pod   corev1.Pod
	gone  bool // without having been seen to fail
	taken bool // while it ran (lifecycle.ExecutorTaken)
}

// note remembers an executor. One that was seen to fail is not one that is gone as well.
func (e *ends) note(key types.NamespacedName, is end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.keys[key][is.pod.UID]; known || e.full(key.Namespace, is.gone) {
		return
	}
	if e.keys == nil {
		e.keys, e.held = map[types.NamespacedName]map[types.UID]end{}, map[endsOf]int{}
	}
	if e.keys[key] == nil {
		e.keys[key] = map[types.UID]end{}
	}
	e.keys[key][is.pod.UID] = is
	e.hold(key.Namespace, is.gone, 1)
}

// of returns the executors that a pass is to count, whether or not they are still there.
func (e *ends) of(key types.NamespacedName) []end {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.keys[key]))
}

// counted forgets executors that a stored pass has counted.
func (e *ends) counted(key types.NamespacedName, those []end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range those {
		e.drop(key, those[i].pod.UID)
	}
	if len(e.keys[key]) == 0 {
		delete(e.keys, key)
	}
}

func (e *ends) drop(key types.NamespacedName, uid types.UID) {
	if is, known := e.keys[key][uid]; known {
		delete(e.keys[key], uid)
		e.hold(key.Namespace, is.gone, -1)
	}
}

func (e *ends) forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid := range e.keys[key] {
		e.drop(key, uid)
	}
	delete(e.keys, key)
}

// observeEnds adds the executors that failed and are gone to the pods of a pass, which then looks again: it decided as if they were there.
func (r *Reconciler) observeEnds(p *pass, pods []corev1.Pod) []corev1.Pod {
	p.ends = r.ends.of(identity.Key(p.stored))
	if len(p.ends) == 0 {
		return pods
	}
	there := make(map[types.UID]bool, len(pods))
	for i := range pods {
		there[pods[i].UID] = true
	}
	for i := range p.ends {
		if is := &p.ends[i]; !is.gone && !there[is.pod.UID] {
			pods = append(pods, is.pod)
			p.check = lookAgain
		}
	}
	return pods
}

// observeGone finds the executors that went and are yet to be counted: those of the attempt that the status tells of which it has not counted, under names that
// none has that is there. The others that it can tell of are forgotten. They are in the counts and among the names alone: that they are gone says neither that they
// ran nor that any is left, and so no decision knows of them.
//
// An executor that was taken away while its driver goes on has failed. It is counted so also if the status counted it
// before, as one that ran, or as one that completed because a pass saw it missing before its deletion was noted.
func (r *Reconciler) observeGone(p *pass) []lifecycle.Executor {
	if r.kind.Executors.Remembers == nil || !slices.ContainsFunc(p.ends, func(is end) bool { return is.gone }) {
		return nil
	}
	was := r.kind.Executors.Remembers(p.stored)
	if was == nil {
		return nil
	}
	phase, tally, uid := lifecycle.Phase(was.Phase), dialect.DecodeTally(was.Executors), p.stored.GetUID()
	names := make(map[string]bool, len(p.children.executors))
	for i := range p.children.executors {
		names[p.children.executors[i].Name] = true
	}
	var gone, counted []end
	for _, is := range p.ends {
		attempt := identity.Attempt(&is.pod)
		is.taken = is.taken && works(p.seen.Driver(attempt))
		switch {
		case !is.gone, attempt > was.Attempt:
		case attempt < was.Attempt, is.in(tally):
			counted = append(counted, is)
		case (phase.Live() || phase.Terminal()) && !names[is.pod.Name] && (identity.OwnedBy(&is.pod, uid) || p.children.driven(&is.pod)):
			gone = append(gone, is)
		}
	}
	r.ends.counted(identity.Key(p.stored), counted)
	slices.SortFunc(gone, func(a, b end) int {
		return cmp.Or(compareNames(a.pod.Name, b.pod.Name), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	return goneFacts(slices.CompactFunc(gone, func(a, b end) bool { return a.pod.Name == b.pod.Name }))
}

// in reports whether a tally counts an executor that is gone, and as failed if it was taken away.
func (is *end) in(tally dialect.Tally) bool {
	id := dialect.ExecutorID(is.pod.Name)
	return tally.Has(id) && (!is.taken || tally.Failed.Has(id))
}

func goneFacts(gone []end) []lifecycle.Executor {
	facts := make([]lifecycle.Executor, 0, len(gone))
	for i := range gone {
		executor := lifecycle.ExecutorFacts(&gone[i].pod, overlay.ExecutorContainer)
		if gone[i].taken {
			executor = executor.Taken()
		}
		facts = append(facts, executor)
	}
	return facts
}

// works reports whether a driver goes on, as far as is seen. The executors of any other end with it, whoever deletes them.
func works(driver *lifecycle.Driver) bool {
	return driver != nil && !driver.Deleting && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed
}

// left is what is remembered of an executor that is gone: as one that failed where it was on its way to that, else as one that has done its work.
func left(pod *corev1.Pod) corev1.Pod {
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

// witness brings the events of pods to the queue: those of drivers and of executors that fail at once, and those of other executors and of drivers
// that are about to start gathered. It notes the executors that fail, or are gone.
type witness struct {
	handler.EventHandler
	owner handler.MapFunc
	ends  *ends
	// leads is closed when this process acts: what one that stands by has seen, another has counted.
	leads <-chan struct{}
	// counts is set where those are counted that are gone (Kind.Executors.Remembers).
	counts bool
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
	if pod, ok := e.Object.(*corev1.Pod); ok && w.counts && pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
		// The last state of a pod that went unwatched is an old one.
		taken := !e.DeleteStateUnknown && lifecycle.ExecutorTaken(pod, overlay.ExecutorContainer)
		w.note(ctx, end{pod: left(pod), gone: true, taken: taken})
	}
	w.EventHandler.Delete(ctx, e, gatheredUnless(e.Object.GetLabels()[identity.RoleLabel] != identity.RoleExecutor, e.Object, q))
}

// concerned reports whether a pod is of the kind's at all: every kind hears of all pods, and most are another's.
func (w witness) concerned(ctx context.Context, pod client.Object) bool {
	return len(w.owner(ctx, pod)) > 0
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
func (w witness) see(ctx context.Context, before, now client.Object) (fails bool) {
	if !failedExecutor(now) || failedExecutor(before) {
		return false
	}
	w.note(ctx, end{pod: *now.(*corev1.Pod)})
	return true
}

// note notes an executor that failed, or is gone, where this process acts.
func (w witness) note(ctx context.Context, is end) {
	select {
	case <-w.leads:
	default:
		return
	}
	for _, request := range w.owner(ctx, &is.pod) {
		w.ends.note(request.NamespacedName, is)
	}
}

func failedExecutor(object client.Object) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Labels[identity.RoleLabel] == identity.RoleExecutor && lifecycle.ExecutorFacts(pod, overlay.ExecutorContainer).Phase == lifecycle.DriverFailed
}
