package sparkoperator

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Event is a Kubernetes Event about a custom resource.
type Event = dialect.Event

// Reasons of events, as this API's readers know them.
const (
	EventTakenOver        = "SparkApplicationTakenOver"
	EventSubmitted        = "SparkApplicationSubmitted"
	EventSubmissionFailed = "SparkApplicationSubmissionFailed"
	EventCompleted        = "SparkApplicationCompleted"
	EventFailed           = "SparkApplicationFailed"
	EventPendingRerun     = "SparkApplicationPendingRerun"
	EventSpecChanged      = "SparkApplicationSpecChanged"
	EventSuspending       = "SparkApplicationSuspending"
	EventSuspended        = "SparkApplicationSuspended"
	EventResuming         = "SparkApplicationResuming"
	EventDriverRunning    = "SparkDriverRunning"
	EventDriverPending    = "SparkDriverPending"
	EventDriverDisrupted  = "SparkDriverDisrupted"
	EventDriverFailed     = "SparkDriverFailed"
	EventDriverNotFound   = "SparkDriverNotFound"
	EventDriverUnknown    = "SparkDriverUnknown"
	EventSubmitterPending = "SparkSubmitterPending"
	EventExecutorPending  = "SparkExecutorPending"
	EventExecutorFailed   = "SparkExecutorFailed"
)

// Events are what to tell about a plan, oldest first. A successful life makes three: submitted, running, completed.
func Events(app *v1beta2.SparkApplication, plan lifecycle.Plan) []Event {
	var out []Event
	for _, t := range plan.Trail {
		e, ok := transitionEvent(app, t)
		if t.To == lifecycle.Launched {
			e, ok = launchEvent(app, plan, t)
		}
		if ok {
			out = append(out, e)
		}
	}
	for _, n := range plan.Tell {
		out = append(out, noticeEvent(n))
	}
	return out
}

func noticeEvent(n lifecycle.Notice) Event {
	reason := EventDriverDisrupted
	switch {
	case n.Part == lifecycle.Application && n.Cause.Reason == EventTakenOver:
		return Event{Type: corev1.EventTypeNormal, Reason: n.Cause.Reason, Message: n.Cause.Message}
	case n.Part == lifecycle.Application: // its reason is the event's
		return Event{Type: corev1.EventTypeWarning, Reason: n.Cause.Reason, Message: n.Cause.Message}
	case n.Part == lifecycle.SubmitterPod:
		reason, n.Name = EventSubmitterPending, "" // the cause names it
	case n.Part == lifecycle.Executors && n.Waits:
		reason, n.Name = EventExecutorPending, "" // the cause names it
	case n.Part == lifecycle.Executors:
		reason = EventExecutorFailed
	case n.Waits:
		reason = EventDriverPending
	}
	message := told(n.Cause)
	if n.Name != "" {
		message = n.Name + ": " + message
	}
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

// takenOver tells where another operator left an application.
func takenOver(app *v1beta2.SparkApplication, m lifecycle.Memory) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s after %d submissions", app.Status.AppState.State, app.Status.SubmissionAttempts)}}
}

func normal(reason, format string, args ...any) (Event, bool) {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

func warning(reason, format string, args ...any) (Event, bool) {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

func transitionEvent(app *v1beta2.SparkApplication, t lifecycle.Transition) (Event, bool) {
	switch t.To {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		if t.From == lifecycle.Launched {
			return normal(EventDriverRunning, "driver pod %s runs", DriverPodName(app))
		}
	case lifecycle.Unknown:
		return warning(EventDriverUnknown, "driver pod %s: %s", DriverPodName(app), told(t.Cause))
	case lifecycle.Ended:
		return endEvent(t)
	case lifecycle.Retained, lifecycle.Done:
		if t.Outcome == lifecycle.Succeeded {
			return normal(EventCompleted, "the application completed in attempt %d", t.Attempt)
		}
		return warning(EventFailed, "the application failed: %s", told(t.Cause))
	case lifecycle.Waiting:
		return normal(EventPendingRerun, "the application is run again after attempt %d", t.Attempt)
	case lifecycle.Editing:
		return normal(EventSpecChanged, "the spec changed; attempt %d is replaced", t.Attempt)
	case lifecycle.Suspending:
		return normal(EventSuspending, "attempt %d is stopped", t.Attempt)
	case lifecycle.Suspended:
		return normal(EventSuspended, "the application is suspended")
	case lifecycle.Resuming:
		return normal(EventResuming, "the application is resumed")
	}
	return Event{}, false
}

// launchEvent tells which way a submission takes, and why where it is not the usual one. One that was found, since its launch was not remembered,
// may have taken either.
func launchEvent(app *v1beta2.SparkApplication, plan lifecycle.Plan, t lifecycle.Transition) (Event, bool) {
	driver := DriverPodName(app)
	switch {
	case t.Cause.Reason == reasonSparkSubmit:
		return normal(EventSubmitted, "attempt %d is being submitted as driver pod %s by pod %s; %s", t.Attempt, driver,
			submit.RunnerName(namePrefix(app, plan.Next.AttemptID)), t.Cause.Message)
	case slices.ContainsFunc(plan.Do, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create }):
		return normal(EventSubmitted, "attempt %d was submitted as driver pod %s by the operator itself", t.Attempt, driver)
	}
	return normal(EventSubmitted, "attempt %d was submitted as driver pod %s", t.Attempt, driver)
}

// endEvent tells how an attempt failed. One that succeeded is told by what follows.
func endEvent(t lifecycle.Transition) (Event, bool) {
	switch t.Outcome {
	case lifecycle.Succeeded:
		return Event{}, false
	case lifecycle.Refused:
		return warning(EventSubmissionFailed, "attempt %d was not submitted: %s", t.Attempt, told(t.Cause))
	case lifecycle.Lost:
		return warning(EventDriverNotFound, "attempt %d: %s", t.Attempt, told(t.Cause))
	}
	return warning(EventDriverFailed, "attempt %d: %s", t.Attempt, told(t.Cause))
}

// told is a cause for people.
func told(c lifecycle.Cause) string {
	switch {
	case c.Message == "":
		return c.Reason
	case c.Reason == "":
		return c.Message
	}
	return c.Reason + ": " + c.Message
}
