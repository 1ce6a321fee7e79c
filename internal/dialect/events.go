package dialect

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Event is a Kubernetes Event about a custom resource.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string // CamelCase, for machines
	Message string // for people
}

// Reasons of events about applications. Both API groups use the same reasons, so that one alert or filter covers both.
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

// NoticeEvent returns the event for a notice. A notice reports something that did not change the phase. If the notice
// is about the custom resource itself, the event usually has the same reason as the notice.
func NoticeEvent(n lifecycle.Notice) Event {
	reason := EventDriverDisrupted
	switch {
	case n.Part == lifecycle.Application && n.Cause.Reason == EventTakenOver:
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

// EndEvent returns the warning for the end of a failed attempt. For an attempt that succeeded, the second result is
// false, because a later event reports the success.
func EndEvent(t lifecycle.Transition) (Event, bool) {
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
