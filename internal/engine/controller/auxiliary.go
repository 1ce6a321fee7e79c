package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
)

// keeper returns the Keeper that creates, updates and deletes the auxiliary objects of drivers.
func (r *Reconciler) keeper() auxiliary.Keeper {
	return auxiliary.Keeper{Client: r.dependents, Auxiliary: r.kind.Traits().Auxiliary, Memory: &r.auxiliary}
}

// ensureAuxiliary ensures the auxiliary objects that the custom resource needs for its driver (auxiliary.Kind). It
// returns the given outcome with the results of this work added, and the time until the next pass.
func (r *Reconciler) ensureAuxiliary(ctx context.Context, o outcome, began time.Time) (outcome, time.Duration) {
	kind, wants := r.kind.(auxiliary.Kind)
	if !wants {
		return o, 0
	}

	left := passTimeout
	if end, bounded := ctx.Deadline(); bounded {
		left = time.Until(end)
	}

	result := r.keeper().Ensure(ctx, o.View, kind.AuxiliaryObjects(o.object, o.Seen), auxiliaryTimeout(time.Since(began), left))
	return o.withAuxiliary(result), result.RequeueAfter
}

// withAuxiliary adds the result of the work on auxiliary objects to the outcome: the events, the objects to delete, and
// the changed plan, if the work changed it.
func (o outcome) withAuxiliary(result auxiliary.Outcome) outcome {
	o.events, o.remove = result.Events, result.Remove
	if result.Plan != nil {
		o.plan.Transitions, o.plan.Notices = slices.Concat(o.plan.Transitions, result.Plan.Transitions), slices.Concat(o.plan.Notices, result.Plan.Notices)
		o.plan.Next = result.Plan.Next
	}
	return o
}

// auxiliaryTimeout returns the time limit for the work on auxiliary objects. The argument `spent` is the time that the
// pass has taken before this work, and `remaining` is the time that the pass has left.
//
// The limit equals `spent`, but is at least auxiliary.Timeout and at most auxiliary.MaxTimeout. It grows with `spent`
// because all requests take longer if the API server is slow. The limit is also at most half of `remaining`, because
// the pass still has to write the status.
func auxiliaryTimeout(spent, remaining time.Duration) time.Duration {
	return min(max(auxiliary.Timeout, spent), auxiliary.MaxTimeout, remaining/2)
}

// revertEdits reverts what other clients changed in the objects of a live driver, such as the selector of its Service,
// and reports it. It returns the time until the next pass. Only objects that a launch of this operator has created are
// reverted, because the operator does not know the content of other objects.
func (r *Reconciler) revertEdits(ctx context.Context, o outcome) time.Duration {
	attempt := o.plan.Next.Attempt

	launcher, launches := r.kind.(apply.Launcher)
	if !launches || !o.plan.Next.Phase.Live() || !o.Set.HasCountedObjects(attempt) {
		return 0
	}

	keeper := r.keeper()
	keeper.Memory = &r.edits
	result := keeper.Revert(ctx, o.View, auxiliary.Launch{Object: o.object, Attempt: attempt, At: o.plan.Next.SubmittedAt, Render: launcher.Render})

	warn := func(reason, message string) {
		log.FromContext(ctx).Info(message)
		r.event(o.Owner, o.Now, dialect.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
	}
	for _, object := range result.Objects {
		warn(dialect.EventObjectRestored, fmt.Sprintf("%s %s of the driver was changed by another client; the operator reverted the change", r.reference(object).Kind, object.GetName()))
	}

	for _, err := range result.Failures {
		cause, _ := apianswer.Rejection(err)
		warn(cmp.Or(cause.Reason, auxiliary.ReasonEdited), "an object of the driver was changed by another client, and the operator could not revert the change: "+err.Error())
	}
	return result.RequeueAfter
}
