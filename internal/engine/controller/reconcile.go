package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/eventlimit"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/hold"
	"github.com/sparkoperator/spark-operator/internal/engine/observe"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// passTimeout limits one pass, so that a hanging API call cannot occupy a worker for ever. If the time for a
	// shutdown is shorter, the limit of a pass is lower (passLimit).
	passTimeout = time.Minute
	// maxRounds is the largest number of decisions in one pass. A pass decides again if its own actions yield new
	// facts.
	maxRounds = 7
	// requeueSoon is the delay of a requeue if an informer's event normally triggers the next pass sooner.
	requeueSoon = time.Second
)

// Reconciler makes passes over the custom resources of one kind.
type Reconciler struct {
	kind       contract.Kind
	scope      Scope
	labels     func(ctx context.Context, namespace string) (map[string]string, error) // of a namespace; may be nil
	clock      Clock
	dependents dependents.Client // how objects are read, created and deleted
	explains   *explain.Explainer
	queue      Queue          // nil if the kind is in no queue
	sentinels  *sentinel.Kind // nil if the kind has none
	logs       Logs           // nil if logs are not kept
	rush       func() bool    // whether more runs are due than can be started at once; nil: never
	// price, samples, runEnded and runDeleted may be nil; see Options.
	price                func(ctx context.Context, pod lifecycle.PodUse, now time.Time) int64
	samples              Samples
	runEnded, runDeleted func(ctx context.Context, object client.Object)
	// track reports a pass that hangs; nil if nothing does.
	track func(kind string, key types.NamespacedName, limit time.Duration) (end func())
	term
	reports
	memories
}

// term contains the parts that decide whether this replica may make passes and how long a pass may take.
type term struct {
	lead  *fence.Leadership // the terms of this replica; nil without leader election
	asked func() bool       // reports whether a shutdown was requested; nil if it never is
	limit time.Duration     // of one pass
}

// memories are the facts about custom resources that this process remembers between passes.
type memories struct {
	writes    statuswrite.OwnWrites
	debouncer statuswrite.Debouncer
	waits     hold.Memory
	refusals  hold.Memory       // of deletions and budgets, which hold up nothing else
	replies   apianswer.Replies // rejections that are not queried again at once
	auxiliary auxiliary.Memory
	edits     auxiliary.Memory                                       // of objects of drivers
	ends      churn.Ended                                            // executors that ended, until they are counted
	shortages bykey.ByKey[types.NamespacedName, lifecycle.Shortages] // of the last decision (Plan.Shortages)
	deleted   dependents.DeletedOwners                               // deleted objects whose orphans are not swept yet
	caught    statuswrite.CaughtUp
	emitted   eventlimit.Memory
	deletions apply.Deletions
}

// forget drops all facts about a custom resource except memories.deleted: the orphans of a deleted object with the same
// name still have to be swept.
func (m *memories) forget(key types.NamespacedName) {
	for _, forget := range []func(types.NamespacedName){
		m.writes.Forget, m.waits.Forget, m.refusals.Forget, m.auxiliary.Forget, m.edits.Forget, m.debouncer.Forget, m.ends.Forget, m.shortages.Forget, m.emitted.Forget, m.deletions.Forget,
	} {
		forget(key)
	}

	for _, part := range []lifecycle.Part{lifecycle.DriverBudget, lifecycle.DriverObjects, lifecycle.DriverPod, lifecycle.Submission} {
		m.replies.Forget(apianswer.Question{Key: key, Part: part})
	}
}

// outcome is the result of a pass so far: the view with all facts that the pass has added, the last decision, and the
// results of the actions.
type outcome struct {
	dependents.View
	object  client.Object // the custom resource with the status that Decide wrote
	plan    lifecycle.Plan
	applied apply.Outcome   // of all rounds, but the warnings of the last round only
	events  []dialect.Event // about auxiliary objects
	remove  []client.Object // auxiliary objects of a driver that has ended
}

// Scope determines the namespaces in which the operator acts on custom resources.
type Scope interface {
	// Serves reports whether the operator acts on the custom resources of a namespace now.
	Serves(ctx context.Context, namespace string) (bool, error)
	// Watched returns the namespaces whose objects the caches contain. An empty name stands for all namespaces.
	Watched() []string
}

// Queue is a queue that grants quota to custom resources.
type Queue interface {
	observe.Queue
	apply.Queue
	// Forget drops what the queue remembers about a custom resource.
	Forget(key types.NamespacedName)
}

// Reconcile makes one pass over a custom resource. Only Reconcile combines the steps:
//
//	observe   reads the dependents from the cache; waits if the custom resource in the cache is stale
//	decide    computes the plan, and usually also the objects to create; calls functions of the dialect
//	apply     creates, adopts and deletes objects; a new fact (rejected, found live) leads back to decide
//	auxiliary ensures the auxiliary objects, which Spark itself does not need; its failures never stop a pass
//	record    writes one status patch, or nothing if nothing changed
//	report    emits events and metrics of the stored status; afterwards, auxiliary objects of an ended driver are deleted
//
// A returned error is transient, or a bug of the operator (lifecycle.IsBug); the caller logs it and retries with
// backoff. A permanent failure is written to the status and is not returned.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // shutting down: passes in flight are finished, no new one begins
	}

	ctx, done, leads := r.whileLeading(ctx)
	defer done()
	defer r.sentinels.PassEnded()

	if !leads {
		return reconcile.Result{RequeueAfter: requeueSoon}, nil // the lease may still be renewed, late
	}

	if r.track != nil {
		defer r.track(r.kind.Traits().Name, req.NamespacedName, r.limit)()
	}

	result, err := r.pass(ctx, req)
	return ended(ctx, result, err)
}

// pass makes one pass while this replica leads.
func (r *Reconciler) pass(ctx context.Context, req reconcile.Request) (_ reconcile.Result, err error) {
	ctx, end := r.traces.Pass(ctx, r.kind.Traits().Name, req.NamespacedName)
	defer func() { end(err) }()

	switch served, err := r.scope.Serves(ctx, req.Namespace); {
	case err != nil:
		return reconcile.Result{}, err
	case !served:
		r.forget(req.NamespacedName)
		r.deleted.Forget(req.NamespacedName)

		if area := r.listed(req.Namespace); area != metav1.NamespaceAll {
			r.caught.Forget(area) // its cache may be filled anew
		}
		return reconcile.Result{}, nil
	}

	if err := r.catchUp(ctx, r.listed(req.Namespace)); err != nil {
		return r.waitForCatchUp(ctx, req.NamespacedName, err)
	}

	again := time.Duration(0)

	changed, unswept := r.dependents.Sweep(ctx, &r.deleted, req.NamespacedName)
	if changed {
		again = requeueSoon
	}

	stored := r.kind.New()
	switch err := r.read(ctx, req.NamespacedName, stored); {
	case apierrors.IsNotFound(err):
		return r.missing(ctx, req.NamespacedName, again, unswept)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read the custom resource: %w", err)
	}

	if unswept != nil { // no reason to stop: if an orphan blocks a name that this object needs, its status reports it
		log.FromContext(ctx).V(1).Info("Orphans of a deleted object with the same name still exist", "cause", unswept.Error())

		again = requeueSoon
	}

	if stale, err := r.stale(ctx, stored); stale || err != nil {
		return reconcile.Result{RequeueAfter: requeueSoon}, err
	}

	if handled, result, err := r.handledElsewhere(ctx, stored); handled || err != nil {
		result.RequeueAfter = lifecycle.Soonest(result.RequeueAfter, again)
		return result, err
	}

	began := time.Now()

	r.metrics.RecordFirst(r.subject(stored), r.kind.Standing(stored))
	// The status stores times with this precision. The current time is truncated to it, so that a later pass reads the
	// same time that this pass used.
	sight, err := r.observer().Observe(ctx, stored, r.clock().UTC().Truncate(time.Microsecond))
	if err != nil {
		return reconcile.Result{}, err
	}

	sight.RequeueAfter = lifecycle.Soonest(sight.RequeueAfter, again)
	sight.Seen.ShortSince = r.debouncer.ShortSince(req.NamespacedName)
	sight.Seen.Shortages, _ = r.shortages.Get(req.NamespacedName)
	return r.conclude(ctx, req.NamespacedName, sight, began)
}

// catchUp brings the cache of a namespace, or of all namespaces, up to the last writes of the previous leader, once a
// term.
func (r *Reconciler) catchUp(ctx context.Context, area string) error {
	if r.lead == nil || r.caught.In(r.lead.TermNumber(), area) {
		return nil
	}

	from := statuswrite.Sources{Cache: r.dependents.Client, Live: r.dependents.Live, Empty: r.kind.New(), Namespace: area}
	return r.caught.CatchUp(ctx, r.lead.TermNumber(), &r.writes, from, r.clock())
}

// listed returns the namespace that a leader lists before a pass in the given namespace: this one, or all.
func (r *Reconciler) listed(namespace string) string {
	if slices.Contains(r.scope.Watched(), metav1.NamespaceAll) {
		return metav1.NamespaceAll
	}
	return namespace
}

// observer returns the Observer that finds the dependents of this reconciler's custom resources.
func (r *Reconciler) observer() observe.Observer {
	o := observe.Observer{Kind: r.kind, Dependents: r.dependents, Explainer: r.explains, Ended: &r.ends, NamespaceLabels: r.labels}
	if r.queue != nil {
		o.Queue = r.queue
	}

	if r.logs != nil {
		o.Logs = r.logs.Result
	}
	return o
}

// missing finishes the pass over a key whose custom resource does not exist. The caller has swept the orphans of the
// deleted custom resource. The argument nextSweep is the time until the next sweep, and sweepErr is the sweep's error.
func (r *Reconciler) missing(ctx context.Context, key types.NamespacedName, nextSweep time.Duration, sweepErr error) (reconcile.Result, error) {
	if sweepErr != nil || nextSweep > 0 {
		return reconcile.Result{RequeueAfter: nextSweep}, sweepErr
	}

	r.forget(key)

	if r.queue != nil {
		r.queue.Forget(key)
	}

	if !r.kind.Traits().Auxiliary.Sets {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.dependents.SweepStrays(ctx, key, r.kind.New())
}

// handledElsewhere reports whether this pass makes no decision about an object. The returned Result contains the time
// until the next pass. There are five possible reasons:
//
//   - This operator does not select the object.
//   - The object is a sentinel.
//   - This pass has removed another operator's finalizers from the object.
//   - The launch is postponed, because too many runs are due at this time.
//   - The caches that the object's kind needs are not synced.
func (r *Reconciler) handledElsewhere(ctx context.Context, stored client.Object) (bool, reconcile.Result, error) {
	later := reconcile.Result{RequeueAfter: requeueSoon}

	if !r.selects(stored) {
		r.forget(identity.Key(stored))
		return true, reconcile.Result{}, nil
	}

	if r.sentinels.Has(stored) {
		r.metrics.Remove(r.kind.Traits().Name, identity.Key(stored)) // it may have been an application before
		r.sentinels.Observe(stored)

		released, err := r.release(ctx, stored)
		if !released && err == nil {
			later = reconcile.Result{}
		}
		return true, later, err
	}

	r.sentinels.Forget(identity.Key(stored))

	if released, err := r.release(ctx, stored); released || err != nil {
		return true, later, err // the write comes back as an event
	}

	needed := r.kind.Traits().RequiredKinds
	return r.yields(stored) || len(needed) > 0 && !r.dependents.Optional.Has(stored.GetNamespace(), needed), later, nil
}

// conclude decides, applies the decision and records it. If a request fails or has to wait, conclude stores no decision
// and requeues the object. If passes have failed or waited for some time, conclude adds this fact
// (Observed.TransientError) and decides again. The second decision contains only what is possible in spite of the
// problem, so conclude can store it together with the wait reason.
func (r *Reconciler) conclude(ctx context.Context, key types.NamespacedName, sight observe.Observation, began time.Time) (reconcile.Result, error) {
	note := func(err error) *hold.Hold { return r.waits.Note(key, sight.Now, r.clock(), err) }
	done, err := r.settle(ctx, outcome{View: sight.View})
	held := note(err)

	stands := held == nil
	if held != nil && held.Lasts() {
		done.View = done.WithFact(func(seen *lifecycle.Observed) {
			seen.TransientError = held.TransientError()
			// The failed request may have taken effect in the meantime, so nothing counts as confirmed.
			seen.Confirmed, seen.Inspected, seen.PodsConfirmed, seen.CacheBehind = false, false, false, false
		})
		if done, err = r.settle(ctx, done); err != nil {
			held = note(err)
		} else {
			stands = true
		}
	}

	r.traces.Decided(ctx, r.kind.Standing(done.Owner).Phase, done.plan)

	var result reconcile.Result
	if stands {
		if result, err = r.finish(ctx, key, done, sight, began); err != nil {
			held = note(err)
			held.Status = true
		}
	}

	if held != nil {
		after, err := r.wait(ctx, key, done.View, &r.waits, held)
		return reconcile.Result{RequeueAfter: lifecycle.Soonest(result.RequeueAfter, after)}, err
	}

	r.waits.Forget(key)

	if done.applied.Rejected == nil {
		r.refusals.Forget(key)
		return result, nil
	}

	refused := r.refusals.Note(key, sight.Now, r.clock(), done.applied.Rejected)

	after, err := r.wait(ctx, key, done.View, &r.refusals, refused)
	if !refused.Lasts() { // the next pass reports the rejection; later, the decision sets the time of the next try
		result.RequeueAfter = lifecycle.Soonest(result.RequeueAfter, after)
	}
	return result, err
}

// passLimit returns the time limit of a pass. The argument shutdown is the time that a shutdown may take, and the limit
// is shorter. Passes therefore end and write their Events during the shutdown. At the end of the shutdown, the operator
// releases the lease even if passes are still running.
func passLimit(shutdown time.Duration) time.Duration {
	return min(passTimeout, shutdown-shutdown/4)
}

// settle decides and applies the decision. If this leads to a new fact, such as a rejection, settle decides again. Each
// decision starts from the stored object, so it contains no part of an earlier decision.
func (r *Reconciler) settle(ctx context.Context, o outcome) (outcome, error) {
	applier := apply.Applier{Kind: r.kind, Dependents: r.dependents, Explainer: r.explains, Replies: &r.replies, Deletions: &r.deletions}
	if r.queue != nil {
		applier.Queue = r.queue
	}

	for range maxRounds {
		o.object = o.Owner.DeepCopyObject().(client.Object)
		o.plan = r.kind.Decide(o.object, o.Seen, o.Now)
		result, err := applier.Apply(ctx, o.View, apply.Decision{Object: o.object, Plan: o.plan, Begun: r.waits.Begun(identity.Key(o.Owner), o.Now)})
		o.View = o.Add(result.Found, result.Created)
		fact := result.Fact
		result.Fact, o.applied.Warnings = nil, nil

		o.applied = o.applied.Add(result)
		if err != nil {
			return o, err
		}

		if fact == nil {
			return o, nil
		}

		o.View = o.WithFact(fact)
	}
	return o, fmt.Errorf("the pass found a new fact in each of %d rounds and ended without a final decision; last actions: %v; if this lasts, it is a bug of the operator, report it", maxRounds, o.plan.Actions)
}

// finish ensures the auxiliary objects, records the status and reports. A conflict is no error: it ends the pass and
// requeues the object soon.
func (r *Reconciler) finish(ctx context.Context, key types.NamespacedName, o outcome, sight observe.Observation, began time.Time) (reconcile.Result, error) {
	if o.applied.Expired {
		r.forget(key)
		return reconcile.Result{}, nil
	}

	r.shortages.Update(key, func(lifecycle.Shortages, bool) (lifecycle.Shortages, bool) {
		return o.plan.Shortages, o.plan.Shortages != lifecycle.Shortages{}
	})
	r.reportRestored(ctx, o)
	check := lifecycle.Soonest(lifecycle.Soonest(sight.RequeueAfter, o.applied.RequeueAfter), r.revertEdits(ctx, o))
	o, again := r.ensureAuxiliary(ctx, o, began)
	check = lifecycle.Soonest(lifecycle.Soonest(check, again), o.plan.RequeueAfter)

	r.setRunning(key, o.plan.Next.Phase.Live())

	written, rest, err := r.record(ctx, o)
	if err != nil {
		r.warn(o) // the next pass finds the objects, and does not render them again
	}

	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: requeueSoon}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // deleted meanwhile; its own event reports that
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	case rest > 0:
		return reconcile.Result{RequeueAfter: lifecycle.Soonest(check, rest)}, nil
	}

	if written {
		r.report(ctx, o, began)
	}

	r.ends.Counted(key, sight.Ended)

	standing := r.kind.Standing(o.object)
	r.metrics.Record(r.subject(o.object), standing)

	if r.runEnded != nil && standing.Phase.Terminal() {
		r.runEnded(ctx, o.object)
	}
	return reconcile.Result{RequeueAfter: lifecycle.Soonest(check, r.keeper().Clear(ctx, o.View, o.remove))}, nil
}

// forget drops all facts that are remembered about a custom resource: in this reconciler (memories.forget) and in the
// packages that it uses.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.memories.forget(key)
	r.sentinels.Forget(key)
	r.explains.Forget(key)
	r.metrics.Remove(r.kind.Traits().Name, key)
	r.setRunning(key, false)
}
