package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/apply"
	"github.com/sparkoperator/spark-operator/internal/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/hold"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/lease"
	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/internal/observe"
	"github.com/sparkoperator/spark-operator/internal/sentinel"
	"github.com/sparkoperator/spark-operator/internal/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/watchdog"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// passTimeout bounds one pass, so that a hanging API call cannot hold a worker for ever. Where a shutdown has less time than that, a
	// pass has too: see passLimit.
	passTimeout = time.Minute
	// maxRounds bounds how often one pass decides again from facts that its own actions brought up.
	maxRounds = 5
	// lookAgain is the safety net where an informer's event is what really wakes the key.
	lookAgain = time.Second
)

// Reconciler makes passes over the custom resources of one kind.
type Reconciler struct {
	kind       Kind
	scope      Scope
	clock      Clock
	dependents dependents.Client // how objects are read, created and deleted
	explains   *explain.Explainer
	sentinels  *sentinel.Kind // nil where the kind has none
	rush       func() bool    // whether more runs are due than can be started at once; nil: never
	hangs      *watchdog.Watchdog
	term
	reports
	memories
}

// term is when passes may be made, and for how long.
type term struct {
	lead  *lease.Lead   // the terms of this replica; nil without a leader
	asked func() bool   // whether somebody asked the operator to end; nil: nobody can
	limit time.Duration // of one pass
}

// reports is where the operator tells what it does.
type reports struct {
	events  *telemetry.Recorder
	metrics *telemetry.Metrics
	traces  *telemetry.Traces
}

// memories are what this process remembers of custom resources between passes.
type memories struct {
	writes   statuswrite.Own
	paces    statuswrite.Paces
	waits    hold.Memory
	budgets  apianswer.Replies // what was said against a driver's budget
	around   auxiliary.Memory
	ends     feed.Ended                                          // executors that ended, until they are counted
	lacks    memory.ByKey[types.NamespacedName, lifecycle.Lacks] // of the last decision (Plan.Lacks)
	departed dependents.Departed                                 // what those left that are gone; a sweep forgets it
	caught   statuswrite.CaughtUp
}

// forget drops what is remembered of a custom resource, but for what those of its name have left that are gone.
func (m *memories) forget(key types.NamespacedName) {
	for _, forget := range []func(types.NamespacedName){
		m.writes.Forget, m.waits.Forget, m.around.Forget, m.paces.Forget, m.ends.Forget, m.lacks.Forget,
	} {
		forget(key)
	}
	m.budgets.Forget(apianswer.Question{Key: key, Part: lifecycle.DriverBudget})
}

// outcome is what a pass came to so far: a decision that was carried out, of a view that has what came up meanwhile.
type outcome struct {
	dependents.View
	object client.Object // the custom resource with the status that Decide wrote
	plan   lifecycle.Plan
	acts   apply.Outcome   // of all rounds; its warnings are of the last
	told   []Event         // about what stands beside the driver
	remove []client.Object // what stands beside a driver that does not go on
}

// Scope says in which namespaces custom resources are acted on.
type Scope interface {
	// Serves reports whether the custom resources of a namespace are to be acted on now.
	Serves(ctx context.Context, namespace string) (bool, error)
	// Watched returns the namespaces that the caches hold; an empty name is all of them.
	Watched() []string
}

// Reconcile makes one pass. It is the only place where the steps meet:
//
//	observe  children from the cache; a stale read of the object itself is waited out
//	decide   the dialect, pure
//	render   the dialect, pure
//	apply    creates, adopts and deletes; a fact that comes up (refused, found live) leads back to decide
//	surround what stands beside the driver for others; no failure there holds anything up
//	record   one status patch, skipped when nothing changed
//	tell     events and metrics, of what was stored
//
// An error is weather: it is logged by the caller and tried again with backoff. Whatever is for good is in the status instead.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if ctx.Err() != nil {
		return reconcile.Result{}, nil // shutting down: what was begun is finished, nothing new is begun
	}
	ctx, done, leads := r.whileLeading(ctx)
	defer done()
	defer r.sentinels.PassEnded()
	if !leads {
		return reconcile.Result{RequeueAfter: lookAgain}, nil // the lease may still be renewed, late
	}
	defer r.hangs.Pass(r.kind.Name, req.NamespacedName, r.limit)()
	result, err := r.pass(ctx, req)
	return ended(ctx, result, err)
}

// pass makes a pass within a term.
func (r *Reconciler) pass(ctx context.Context, req reconcile.Request) (_ reconcile.Result, err error) {
	ctx, end := r.traces.Pass(ctx, r.kind.Name, req.NamespacedName)
	defer func() { end(err) }()

	switch served, err := r.scope.Serves(ctx, req.Namespace); {
	case err != nil:
		return reconcile.Result{}, err
	case !served:
		r.forget(req.NamespacedName)
		r.departed.Forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if r.lead != nil && !r.caught.In(r.lead.Terms()) {
		from := statuswrite.Sources{Cache: r.dependents.Client, Live: r.dependents.Live, Empty: r.kind.New(), Namespaces: r.scope.Watched()}
		if err := r.caught.CatchUp(ctx, r.lead.Terms(), &r.writes, from, r.clock()); err != nil {
			return reconcile.Result{}, err
		}
	}
	again := time.Duration(0)
	changed, unswept := r.dependents.Sweep(ctx, &r.departed, req.NamespacedName)
	if changed {
		again = lookAgain
	}
	stored := r.kind.New()
	switch err := r.read(ctx, req.NamespacedName, stored); {
	case apierrors.IsNotFound(err):
		return r.missing(ctx, req.NamespacedName, again, unswept)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read the custom resource: %w", err)
	}
	if unswept != nil { // which holds nothing up: what is in the way of another of the name, that one's status tells
		log.FromContext(ctx).V(1).Info("what one of this name left that is gone is not deleted yet", "cause", unswept.Error())
		again = lookAgain
	}
	if stale, err := r.stale(ctx, stored); stale || err != nil {
		return reconcile.Result{RequeueAfter: lookAgain}, err
	}
	if apart, result, err := r.apart(ctx, stored); apart || err != nil {
		return result, err
	}
	began := time.Now()
	r.metrics.Meet(r.subject(stored), r.standing(stored))
	// No finer than what a status can hold, so that what is remembered reads back as it was decided.
	sight, err := r.observer().Look(ctx, stored, r.clock().UTC().Truncate(time.Microsecond))
	if err != nil {
		return reconcile.Result{}, err
	}
	sight.Check = lifecycle.Soonest(sight.Check, again)
	sight.Seen.ShortSince = r.paces.ShortSince(req.NamespacedName)
	sight.Seen.Lacks, _ = r.lacks.Get(req.NamespacedName)
	return r.conclude(ctx, req.NamespacedName, sight, began)
}

// missing is the rest of a pass over a name that no custom resource has, by what came of deleting what those left that had it.
func (r *Reconciler) missing(ctx context.Context, key types.NamespacedName, again time.Duration, unswept error) (reconcile.Result, error) {
	if unswept != nil || again > 0 {
		return reconcile.Result{RequeueAfter: again}, unswept
	}
	r.forget(key)
	if !r.kind.Beside.Sets {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.dependents.SweepStrays(ctx, key, r.kind.New())
}

// apart reports whether nothing is decided about an object in this pass, having done what there is to do instead.
func (r *Reconciler) apart(ctx context.Context, stored client.Object) (bool, reconcile.Result, error) {
	later := reconcile.Result{RequeueAfter: lookAgain}
	if r.kind.Served.Selects != nil && !r.kind.Served.Selects(stored) {
		r.forget(identity.Key(stored))
		return true, reconcile.Result{}, nil
	}
	if r.sentinels.Has(stored) {
		r.metrics.Gone(r.kind.Name, identity.Key(stored)) // it may have been an application before
		r.sentinels.See(stored)
		released, err := r.release(ctx, stored)
		if !released && err == nil {
			later = reconcile.Result{}
		}
		return true, later, err
	}
	r.sentinels.Forget(identity.Key(stored))
	if released, err := r.release(ctx, stored); released || err != nil {
		return true, later, err // what was written comes back as an event
	}
	return r.yields(stored) || !r.dependents.Optional.Has(r.kind.Definition.Needs), later, nil
}

// conclude brings a pass to its end, which may be a wait. What holds it up for a while becomes a fact: the decision that knows of it asks for nothing
// that cannot be had, so that the rest of it is stored, and with it what the application waits for.
func (r *Reconciler) conclude(ctx context.Context, key types.NamespacedName, sight observe.Sight, began time.Time) (reconcile.Result, error) {
	note := func(err error) *hold.Hold { return r.waits.Note(key, sight.Now, r.clock(), err) }
	done, err := r.settle(ctx, outcome{View: sight.View})
	held := note(err)
	stands := held == nil
	if held != nil && held.Lasts() {
		done.View = done.Learn(func(seen *lifecycle.Observed) {
			seen.Weather = held.Weather()
			// What failed may have taken effect since.
			seen.Confirmed, seen.Inspected, seen.Reread, seen.Behind = false, false, false, false
		})
		if done, err = r.settle(ctx, done); err != nil {
			held = note(err)
		} else {
			stands = true
		}
	}
	r.traces.Decided(ctx, r.standing(done.Owner).Phase, done.plan)
	var result reconcile.Result
	if stands {
		if result, err = r.finish(ctx, key, done, sight, began); err != nil {
			held = note(err)
		}
	}
	if held != nil {
		after, err := r.wait(ctx, key, done.View, held)
		return reconcile.Result{RequeueAfter: lifecycle.Soonest(result.RequeueAfter, after)}, err
	}
	if done.acts.Hindered == nil {
		r.waits.Forget(key)
		return result, nil
	}
	_, err = r.wait(ctx, key, done.View, note(done.acts.Hindered)) // the decision says when to try again
	return result, err
}

// passLimit bounds a pass so that one which a shutdown meets is over, and its Events are written, before the shutdown's time is up. The
// lease is released then, whoever is still at work.
func passLimit(shutdown time.Duration) time.Duration {
	return min(passTimeout, shutdown-shutdown/4)
}

// settle decides and applies until an application brings up no new fact. Each round starts from the stored object, so that nothing
// of a decision that did not come to pass is kept.
func (r *Reconciler) settle(ctx context.Context, o outcome) (outcome, error) {
	applier := apply.Applier{Kind: r.kind, Dependents: r.dependents, Explains: r.explains, Budgets: auxiliary.Budgets{Client: r.dependents, Replies: &r.budgets}}
	for range maxRounds {
		o.object = o.Owner.DeepCopyObject().(client.Object)
		o.plan = r.kind.Decide(o.object, o.Seen, o.Now)
		came, err := applier.Apply(ctx, o.View, apply.Decision{Object: o.object, Plan: o.plan, Begun: r.waits.Begun(identity.Key(o.Owner), o.Now)})
		o.View = o.Add(came.Found, came.Made)
		fact := came.Fact
		came.Fact, o.acts.Warnings = nil, nil
		o.acts = o.acts.Then(came)
		if err != nil {
			return o, err
		}
		if fact == nil {
			return o, nil
		}
		o.View = o.Learn(fact)
	}
	return o, fmt.Errorf("no decision holds after %d rounds; last actions: %v", maxRounds, o.plan.Do)
}

// finish records and tells. A conflict ends the pass without an error: somebody changed the object, which is an event of its own.
func (r *Reconciler) finish(ctx context.Context, key types.NamespacedName, o outcome, sight observe.Sight, began time.Time) (reconcile.Result, error) {
	if o.acts.Expired {
		r.forget(key)
		return reconcile.Result{}, nil
	}
	r.lacks.Update(key, func(lifecycle.Lacks, bool) (lifecycle.Lacks, bool) {
		return o.plan.Lacks, o.plan.Lacks != lifecycle.Lacks{}
	})
	check := lifecycle.Soonest(sight.Check, o.acts.Check)
	o, again := r.surround(ctx, o, began)
	check = lifecycle.Soonest(lifecycle.Soonest(check, again), o.plan.Check)
	written, rest, err := r.record(ctx, o)
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // deleted meanwhile; its own event tells
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("write the status: %w", err)
	case rest > 0:
		return reconcile.Result{RequeueAfter: lifecycle.Soonest(check, rest)}, nil
	}
	if written {
		r.tell(ctx, o, began)
	}
	r.ends.Counted(key, sight.Ends)
	r.metrics.Is(r.subject(o.object), r.standing(o.object))
	return reconcile.Result{RequeueAfter: lifecycle.Soonest(check, r.keeper().Clear(ctx, o.View, o.remove))}, nil
}

// forget drops what is remembered of a custom resource (memories.forget), here and in what the reconciler uses.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.memories.forget(key)
	r.sentinels.Forget(key)
	r.explains.Forget(key)
	r.metrics.Gone(r.kind.Name, key)
}
