package dialect

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Event is a Kubernetes Event about a custom resource.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string // CamelCase, for machines
	Message string // for people
	// Passed is true for an Event about a state that the same pass left. The Event of the state that the pass reached
	// names it.
	Passed bool
}

// Reasons of events about applications. spark.apache.org uses only those for facts that are no states of its own.
const (
	EventTakenOver        = "SparkApplicationTakenOver"
	EventSubmitted        = "SparkApplicationSubmitted"
	EventSubmissionFailed = "SparkApplicationSubmissionFailed"
	EventCompleted        = "SparkApplicationCompleted"
	EventFailed           = "SparkApplicationFailed"
	EventPendingRerun     = "SparkApplicationPendingRerun"
	EventSpecChanged      = "SparkApplicationSpecChanged"
	EventRestartRequested = "SparkApplicationRestartRequested"
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

// EventSubmissionWarning is the reason of events about settings that have no effect, or another effect than the user
// may expect.
const EventSubmissionWarning = "SubmissionWarning"

// EventObjectRestored is the reason of an event about an object of a running attempt that somebody deleted or edited,
// and that the operator created again or reverted.
const EventObjectRestored = "ObjectRestored"

// Normal returns an event of the type Normal. The second result is always true.
func Normal(reason, format string, args ...any) (Event, bool) {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

// Warning returns an event of the type Warning, which reports something that may require an action of the user. The
// second result is always true.
func Warning(reason, format string, args ...any) (Event, bool) {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

// needless are reasons of notices about a custom resource that require no action of the user.
var needless = append([]string{EventTakenOver}, QueueNews...)

// NoticeEvent returns the event for a notice. A notice reports something that did not change the phase. If the notice
// is about the custom resource itself, the event usually has the same reason as the notice.
func NoticeEvent(n lifecycle.Notice) Event {
	reason := EventDriverDisrupted
	switch {
	case n.Part == lifecycle.Application && slices.Contains(needless, n.Cause.Reason):
		return Event{Type: corev1.EventTypeNormal, Reason: n.Cause.Reason, Message: n.Cause.Message}
	case n.Part == lifecycle.Application && n.Cause.Reason == lifecycle.ReasonRestartRequested:
		return Event{Type: corev1.EventTypeNormal, Reason: EventRestartRequested, Message: n.Cause.Message}
	case n.Part == lifecycle.Application:
		return Event{Type: corev1.EventTypeWarning, Reason: n.Cause.Reason, Message: n.Cause.Message}
	case n.Part == lifecycle.SubmitterPod:
		reason, n.Name = EventSubmitterPending, "" // the cause already contains the pod's name
	case n.Part == lifecycle.Executors && n.Waits:
		reason, n.Name = EventExecutorPending, "" // the cause already contains the pod's name
	case n.Part == lifecycle.Executors:
		reason = EventExecutorFailed
	case n.Waits:
		reason = EventDriverPending
	}

	message := CauseText(n.Cause)
	if n.Name != "" {
		message = n.Name + ": " + message
	}
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

// EventsOf returns the events of a plan, oldest first: those of its transitions, and then those of its notices. The
// second result of the function ofTransition is false if a transition has no event.
func EventsOf(plan lifecycle.Plan, ofTransition func(lifecycle.Transition) (Event, bool), ofNotice func(lifecycle.Notice) Event) (out []Event) {
	for _, t := range plan.Transitions {
		if e, ok := ofTransition(t); ok {
			out = append(out, e)
		}
	}

	for _, n := range plan.Notices {
		out = append(out, ofNotice(n))
	}
	return out
}

// LaunchEvent returns the event of the submission of a driver pod. Its message says whether spark-submit or the
// operator itself submits the driver. If the operator stopped before it stored the launch, and a later pass found the
// driver, the message does not say which of them submitted it. The second result is false if the transition launched
// nothing, because the driver's node did not respond for a while and now responds again.
//
// The argument driver names the driver pod in the message. The argument runner names the pod that runs spark-submit, as
// in " by pod a", or is empty.
func LaunchEvent(plan lifecycle.Plan, t lifecycle.Transition, driver, runner string) (Event, bool) {
	switch {
	case t.From == lifecycle.Unknown:
		return Event{}, false // the node answers again; nothing was launched
	case t.Cause.Reason == reasonSparkSubmit:
		return Normal(EventSubmitted, "attempt %d is being submitted as driver pod %s%s; %s", t.Attempt, driver, runner, t.Cause.Message)
	case slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create }):
		return Normal(EventSubmitted, "attempt %d was submitted as driver pod %s by the operator itself", t.Attempt, driver)
	}
	return Normal(EventSubmitted, "attempt %d was submitted as driver pod %s", t.Attempt, driver)
}

// DriverEvent returns the event of a transition to a phase that both API groups report with the same words. The
// argument driver is the name of the driver pod. For other phases, the second result is false.
func DriverEvent(t lifecycle.Transition, driver string) (Event, bool) {
	switch t.To {
	case lifecycle.Unknown:
		return Warning(EventDriverUnknown, "driver pod %s: %s", driver, CauseText(t.Cause))
	case lifecycle.Ended:
		return endEvent(t)
	case lifecycle.Waiting:
		return Normal(EventPendingRerun, "the application is run again after attempt %d", t.Attempt)
	}
	return Event{}, false
}

// endEvent returns the warning for the end of a failed attempt. For an attempt that succeeded, the second result is
// false, because a later event reports the success.
func endEvent(t lifecycle.Transition) (Event, bool) {
	switch t.Outcome {
	case lifecycle.Succeeded:
		return Event{}, false
	case lifecycle.Refused:
		return Warning(EventSubmissionFailed, "attempt %d was not submitted: %s", t.Attempt, CauseText(t.Cause))
	case lifecycle.Lost:
		return Warning(EventDriverNotFound, "attempt %d: %s", t.Attempt, CauseText(t.Cause))
	}
	return Warning(EventDriverFailed, "attempt %d: %s", t.Attempt, CauseText(t.Cause))
}

// CauseText returns the reason and the message of a cause in one text.
func CauseText(c lifecycle.Cause) string {
	switch {
	case c.Message == "":
		return c.Reason
	case c.Reason == "":
		return c.Message
	}
	return c.Reason + ": " + c.Message
}
