package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/eventlimit"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// maxWarnings is the largest number of warnings that one pass emits as Events.
const maxWarnings = 5

// report writes logs, metrics and events about the stored status. It runs after the status write, so that it reports
// only what has been stored. If the operator crashes between the write and the report, an event is lost, but the status
// is complete.
func (r *Reconciler) report(ctx context.Context, o outcome, began time.Time) {
	logger := log.FromContext(ctx)
	for _, t := range o.plan.Transitions {
		// The message is not logged, because it may quote the last output of a user's program, which only that user may
		// read.
		values := []any{"from", t.From, "to", t.To, "attempt", t.Attempt, "outcome", t.Outcome, "reason", t.Cause.Reason}
		if driver := o.Seen.Driver(t.Attempt); driver != nil && driver.HasExit {
			values = append(values, "exitCode", driver.ExitCode)
		}

		logger.Info("phase entered", values...)
	}

	r.reportRuns(ctx, o)
	r.measure(o, began)

	var passed []dialect.Event
	for _, event := range append(r.kind.Events(o.object, o.plan), o.events...) {
		if event.Passed {
			passed = append(passed, event)
			continue
		}

		r.event(o.Owner, o.Now, event, passed...)
		passed = nil
	}

	r.warn(o)
}

// event emits an Event about a custom resource, unless the settings of its kind exclude the Event. Its message names
// the states that the pass entered and left before. They change nothing about whether the Event is a repetition.
func (r *Reconciler) event(owner client.Object, now time.Time, event dialect.Event, passed ...dialect.Event) {
	var settings eventlimit.Settings
	if kind, limits := r.kind.(eventlimit.Kind); limits {
		settings = kind.EventSettings()
	}

	if !r.emitted.Admits(settings, identity.Key(owner), owner.GetUID(), now, event.Reason, conf.HideAddresses(event.Message)) {
		return
	}

	var before []string
	for _, p := range passed {
		if !settings.Excludes(p.Reason) {
			before = append(before, p.Reason+": "+p.Message)
		}
	}

	message := event.Message
	if len(before) > 0 {
		message += " (after " + strings.Join(before, "; ") + ")"
	}

	r.events.Event(settings.Source, r.reference(owner), now, event.Type, event.Reason, conf.HideAddresses(message))
}

// warn emits the warnings about the objects that this pass created.
func (r *Reconciler) warn(o outcome) {
	for _, warning := range fewWarnings(o.applied.Warnings) {
		r.event(o.Owner, o.Now, dialect.Event{Type: corev1.EventTypeWarning, Reason: dialect.EventSubmissionWarning, Message: warning})
	}
}

// reportRestored reports the objects that somebody deleted and that this pass created again. The status does not change
// by that. If only the Service of a driver without executors is missing, the driver may have stopped its SparkContext,
// which deletes both, and the program may go on. That is no reason for a warning.
func (r *Reconciler) reportRestored(ctx context.Context, o outcome) {
	stopped := o.plan.Next.Phase.Runs() && len(o.applied.Restored) == 1 && !slices.ContainsFunc(o.Set.Executors, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && (pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning)
	})
	for _, object := range o.applied.Restored {
		kind, level := r.reference(object).Kind, corev1.EventTypeWarning
		if stopped && kind == "Service" {
			level = corev1.EventTypeNormal
		}

		log.FromContext(ctx).Info("Created a deleted object of a running attempt again", "kind", kind, "name", object.GetName())
		r.event(o.Owner, o.Now, dialect.Event{Type: level, Reason: dialect.EventObjectRestored, Message: fmt.Sprintf(
			"%s %s, which the driver and its executors need, was deleted; the operator created it again", kind, object.GetName())})
	}
}

// fewWarnings returns the first maxWarnings warnings. A spec may contain hundreds of settings that cause a warning, and
// each Event is a write.
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
	// An object that was read through a typed client does not contain its own kind, so the kind is read from the
	// scheme.
	if gvk, err := apiutil.GVKForObject(obj, r.dependents.Client.Scheme()); err == nil {
		ref.APIVersion, ref.Kind = gvk.GroupVersion().String(), gvk.Kind
	}
	return ref
}

// reportRuns logs the runs that this pass started or deleted. It also counts the started runs in the metrics, and the
// results of ended runs, which it reads from the plan's notices. It is called after the status is stored.
func (r *Reconciler) reportRuns(ctx context.Context, o outcome) {
	kind, hasRuns := r.kind.(runs.Kind)
	if !hasRuns {
		return
	}

	for _, run := range o.applied.Started {
		logger := log.FromContext(ctx).WithValues("run", run.Name)
		if !run.Due.IsZero() {
			logger = logger.WithValues("due", run.Due)
		}

		logger.Info("run started")
		r.metrics.RunStarted(r.kind.Traits().Name, run.Due, run.At)
	}

	for _, notice := range o.plan.Notices {
		if result := kind.RunResult(notice); result != "" {
			r.metrics.Run(r.kind.Traits().Name, result)
		}
	}

	for _, action := range o.plan.Actions {
		if action.Part == lifecycle.ScheduledRun && action.Verb == lifecycle.Delete {
			log.FromContext(ctx).Info("run deleted", "run", action.Name)
		}
	}
}
