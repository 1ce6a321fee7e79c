package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/start"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/engine/observe"
	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// record writes the status if it changed, and reports whether it wrote. A change that concerns only executors may be
// debounced: then record writes nothing and returns the delay of the write. The patch carries the resourceVersion from
// which the decision was made. Any later change of the object therefore leads to a conflict, which ends the pass.
func (r *Reconciler) record(ctx context.Context, o outcome) (written bool, delay time.Duration, _ error) {
	key := identity.Key(o.Owner)

	patch, err := statuswrite.Patch(o.Owner, o.object, r.kind.Status)
	if err != nil {
		return false, 0, err
	}

	if patch == nil {
		r.debouncer.Reset(key)
		return false, 0, nil
	}

	crowd := !o.acted() && statuswrite.OnlyExecutorChurn(r.kind.Traits().ExecutorChurn, o.plan, patch)
	switch {
	case crowd && len(o.plan.Notices) > 0:
		delay = r.debouncer.EventDelay(key, o.Now)
	case crowd:
		delay = r.debouncer.Delay(key, o.Now, statuswrite.WindowOf(o.plan, o.Seen.Executors), len(o.Seen.Executors), patch)
	default:
		delay = r.untilLog(o)
	}

	if delay > 0 {
		r.debouncer.SetShortSince(key, o.plan.Next.ShortSince)
		return false, delay, nil
	}

	if r.account(ctx, o) {
		if patch, err = statuswrite.Patch(o.Owner, o.object, r.kind.Status); err != nil {
			return false, 0, err
		}
	}

	target, err := r.metadataOf(o.Owner)
	if err != nil {
		return false, 0, err
	}

	err = r.dependents.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	r.metrics.StatusWrite(r.kind.Traits().Name, err)

	if err != nil {
		return false, 0, err
	}

	r.countUsage(o)
	r.writes.Wrote(target)
	r.debouncer.Wrote(key, o.Now, crowd && r.kind.Traits().ExecutorChurn.DebounceEvents)
	return true, 0, nil
}

// untilLog returns how long the status write about the end of a driver waits for the driver's log. No other write
// follows the permanent end of an attempt, so the log would cause one of its own.
func (r *Reconciler) untilLog(o outcome) time.Duration {
	if r.logs == nil || o.acted() || !r.kind.Standing(o.Owner).Phase.Live() || o.plan.Next.Phase.Live() {
		return 0
	}
	return r.logs.Soon(identity.Key(o.Owner), o.Owner.GetUID(), o.plan.Next.Attempt)
}

// account updates in the status that is about to be written what the pods have used, and when they became ready for
// work. It reports whether it did. Neither is a reason for a write.
func (r *Reconciler) account(ctx context.Context, o outcome) bool {
	kind, counts := r.kind.(observe.Accountant)
	if !counts {
		return false
	}

	field, before, after := kind.Usage(o.object), r.kind.Standing(o.Owner), r.kind.Standing(o.object)
	if field == nil {
		return false
	}

	facts := usage.Facts{
		Attempt: after.Attempt, Seen: o.Seen, Created: o.Owner.GetCreationTimestamp().Time, Waits: before.Waits, Now: o.Now,
		Live: after.Phase.Live(), NextRun: before.Phase.Terminal() && !after.Phase.Terminal(),
	}
	if r.kind.Traits().Auxiliary.Sets { // pods of a StatefulSet exist in other phases, too
		facts.Live = len(o.Seen.Members) > 0
		facts.Known = before.State != ""
	}

	if r.price != nil {
		facts.Price = func(pod lifecycle.PodUse) int64 { return r.price(ctx, pod, o.Now) }
	}

	if r.samples != nil {
		facts.DriverSamples, facts.ExecutorSamples = r.samples.Of(o.Owner, after.Attempt)
	}

	*field = usage.Next(*field, facts)
	if kind, starts := r.kind.(Starter); starts {
		status := kind.Operator(o.object)
		status.Start = start.Next(status.Start, after.Attempt, o.Seen)
	}
	return true
}

// Samples takes samples of what pods use.
type Samples interface {
	// SetRunning sets whether a custom resource has a running attempt, of which samples are taken.
	SetRunning(kind string, key types.NamespacedName, runs bool)
	// Of returns what the driver and the executors of an attempt used since the last call.
	Of(owner client.Object, attempt int32) (driver, executors statusv1.UsageSamples)
}

// setRunning sets whether samples of a custom resource's pods are taken. It sends no request. The pods of a StatefulSet
// belong to no attempt, so they have no samples.
func (r *Reconciler) setRunning(key types.NamespacedName, runs bool) {
	if r.samples != nil && !r.kind.Traits().Auxiliary.Sets {
		r.samples.SetRunning(r.kind.Traits().Name, key, runs)
	}
}

// Starter is an Accountant whose status contains when the pods of an attempt became ready for work.
type Starter interface {
	// Operator returns the operator's part of a status, or nil if the status has none.
	Operator(object client.Object) *statusv1.OperatorStatus
}

// countUsage counts in the metrics what the pods have requested since the last status write. It is called after a
// write, so that a write that failed counts nothing.
func (r *Reconciler) countUsage(o outcome) {
	if kind, counts := r.kind.(observe.Accountant); counts {
		r.metrics.Used(r.subject(o.object), usage.Growth(usageIn(kind, o.Owner), usageIn(kind, o.object)))
	}
}

// countLastUsage counts what the pods of a custom resource that was deleted have requested after the last status write.
// Its pods are about to end.
func (r *Reconciler) countLastUsage(object client.Object) {
	kind, counts := r.kind.(observe.Accountant)
	if !counts {
		return
	}

	if stored := usageIn(kind, object); stored != nil {
		r.metrics.Used(r.subject(object), usage.Growth(stored, usage.At(stored, r.clock())))
	}
}

func usageIn(kind observe.Accountant, object client.Object) *statusv1.OperatorUsage {
	if field := kind.Usage(object); field != nil {
		return *field
	}
	return nil
}

// acted reports whether the pass created objects, received a rejection, or has events or warnings to emit. After such a
// pass the status is written at once, together with the changes that were debounced.
func (o outcome) acted() bool {
	return len(o.events)+len(o.applied.Warnings)+len(o.Created) > 0 || o.applied.Rejected != nil
}

// metadataOf returns an object that has only the metadata of a custom resource. If this object is the target of a
// patch, the API server's response contains only metadata. To encode and decode the whole custom resource would be more
// work than the write itself.
func (r *Reconciler) metadataOf(stored client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(stored, r.dependents.Client.Scheme())
	if err != nil {
		return nil, err
	}

	target := identity.MetadataOnly(gvk)
	target.SetNamespace(stored.GetNamespace())
	target.SetName(stored.GetName())
	return target, nil
}
