package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	sparkconnect "github.com/sparkoperator/spark-operator/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// reasonWarning is the Event's reason for what a rendered submission warns of.
const reasonWarning = sparkconnect.EventWarning

// maxWarnings bounds how many of them a pass tells one by one.
const maxWarnings = 5

// tell logs, counts and emits what the stored status holds. It runs after the write, so that nothing is told that did not come to
// pass; a crash in between loses an event, never a fact.
func (r *Reconciler) tell(ctx context.Context, o outcome, began time.Time) {
	logger := log.FromContext(ctx)
	for _, t := range o.plan.Trail {
		// Not the message: it may quote the last words of a tenant's program, which are nobody's but the tenant's.
		values := []any{"from", t.From, "to", t.To, "attempt", t.Attempt, "outcome", t.Outcome, "reason", t.Cause.Reason}
		if driver := o.Seen.Driver(t.Attempt); driver != nil && driver.HasExit {
			values = append(values, "exitCode", driver.ExitCode)
		}
		logger.Info("phase entered", values...)
	}
	r.tellRuns(ctx, o)
	r.measure(o, began)

	ref := r.reference(o.Owner)
	for _, event := range append(r.kind.Events(o.object, o.plan), o.told...) {
		r.events.Event(ref, o.Now, event.Type, event.Reason, conf.HideAddresses(event.Message))
	}
	for _, warning := range fewWarnings(o.acts.Warnings) {
		r.events.Event(ref, o.Now, corev1.EventTypeWarning, reasonWarning, conf.HideAddresses(warning))
	}
}

// fewWarnings keeps the first of many: a spec may hold hundreds of settings that are warned of, and each Event is a write.
func fewWarnings(all []string) []string {
	if len(all) <= maxWarnings {
		return all
	}
	return append(slices.Clone(all[:maxWarnings]), fmt.Sprintf("and %d more", len(all)-maxWarnings))
}

func (r *Reconciler) reference(obj client.Object) corev1.ObjectReference {
	ref := corev1.ObjectReference{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}
	// An object read through a typed client has no kind of its own; the scheme knows it.
	if gvk, err := apiutil.GVKForObject(obj, r.dependents.Client.Scheme()); err == nil {
		ref.APIVersion, ref.Kind = gvk.GroupVersion().String(), gvk.Kind
	}
	return ref
}

// tellRuns logs and counts what the stored status holds of runs.
func (r *Reconciler) tellRuns(ctx context.Context, o outcome) {
	if r.kind.Runs == nil {
		return
	}
	for _, run := range o.acts.Started {
		logger := log.FromContext(ctx).WithValues("run", run.Name)
		if !run.Due.IsZero() {
			logger = logger.WithValues("due", run.Due)
		}
		logger.Info("run started")
		r.metrics.RunStarted(r.kind.Name, run.Due, run.At)
	}
	for _, notice := range o.plan.Tell {
		if result := r.kind.Runs.Result(notice); result != "" {
			r.metrics.Run(r.kind.Name, result)
		}
	}
	for _, action := range o.plan.Do {
		if action.Part == lifecycle.ScheduledRun && action.Verb == lifecycle.Delete {
			log.FromContext(ctx).Info("run deleted", "run", action.Name)
		}
	}
}
