package connect

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// These are the reasons of events about SparkConnects.
const (
	EventConnectTakenOver   = "SparkConnectTakenOver"
	EventConnectInvalid     = "SparkConnectInvalid"
	EventConnectSpecChanged = "SparkConnectSpecChanged"
	EventConnectRestart     = "SparkConnectRestartRequested"
	EventConnectRolledOut   = "SparkConnectRolledOut"
	EventConnectSuspending  = "SparkConnectSuspending"
	EventConnectSuspended   = "SparkConnectSuspended"
	EventConnectResuming    = "SparkConnectResuming"
	EventServerCreated      = "SparkServerCreated"
	EventServerReady        = "SparkServerReady"
	EventServerNotReady     = "SparkServerNotReady"
	EventServerPending      = "SparkServerPending"
	EventServerDisrupted    = "SparkServerDisrupted"
	EventServerUnknown      = "SparkServerUnknown"
	EventServerRefused      = "SparkServerRefused"
	EventServerFailed       = "SparkServerFailed"
	EventServerBackOff      = "SparkServerBackOff"
)

// Events returns the events of a plan, oldest first. The argument sc must already contain the status that Decide has
// written.
func (c Connects) Events(sc *v1alpha1.SparkConnect, plan lifecycle.Plan) []dialect.Event {
	ofTransition := func(t lifecycle.Transition) (dialect.Event, bool) { return serverEvent(sc, plan, t) }
	return dialect.EventsOf(plan, ofTransition, serverNotice)
}

func serverEvent(sc *v1alpha1.SparkConnect, plan lifecycle.Plan, t lifecycle.Transition) (dialect.Event, bool) {
	switch t.To {
	case lifecycle.Launched, lifecycle.Started, lifecycle.Running, lifecycle.Unknown:
		return liveEvent(sc, plan, t)
	case lifecycle.Ended:
		return serverEnd(t)
	case lifecycle.Waiting:
		if at := plan.Next.NextAttempt; plan.Next.Phase == lifecycle.Waiting && !at.IsZero() {
			return dialect.Normal(EventServerBackOff, "the next server starts at %s, %s after the end of the last server", at.UTC().Format(time.RFC3339), at.Sub(plan.Next.EndedAt))
		}
	case lifecycle.Retained, lifecycle.Done:
		// If the condition below is false, the event for the end of the attempt already reports the same cause.
		if t.Cause.Reason == lifecycle.ReasonInvalid && (t.Outcome != lifecycle.Refused || t.From == lifecycle.Waiting) {
			return dialect.Warning(EventConnectInvalid, "no other server can be created: %s", t.Cause.Message)
		}
	case lifecycle.Editing:
		return dialect.Normal(EventConnectSpecChanged, "the spec changed; the server of attempt %d is replaced", t.Attempt)
	case lifecycle.Suspending:
		if t.Cause.Reason == lifecycle.ReasonQueueEviction {
			return dialect.Normal(EventConnectSuspending, "the server of attempt %d is stopped: %s", t.Attempt, t.Cause.Message)
		}
		return dialect.Normal(EventConnectSuspending, "the server of attempt %d is stopped", t.Attempt)
	case lifecycle.Suspended:
		return dialect.Normal(EventConnectSuspended, "the server is suspended")
	case lifecycle.Resuming:
		return dialect.Normal(EventConnectResuming, "the server is resumed")
	}
	return dialect.Event{}, false
}

// liveEvent returns the event of a transition to a phase in which the server's pod should exist.
func liveEvent(sc *v1alpha1.SparkConnect, plan lifecycle.Plan, t lifecycle.Transition) (dialect.Event, bool) {
	pod := connect.ServerName(sc.Name)
	switch {
	case t.To == lifecycle.Unknown:
		return dialect.Warning(EventServerUnknown, "server pod %s: %s", pod, dialect.CauseText(t.Cause))
	case t.To == lifecycle.Started && t.From == lifecycle.Running:
		return dialect.Warning(EventServerNotReady, "%s", dialect.CauseText(t.Cause))
	case t.To == lifecycle.Running && rolledOut(sc, t):
		return dialect.Normal(EventConnectRolledOut, "server pod %s is ready with the edited spec", pod)
	case t.To == lifecycle.Running:
		return dialect.Normal(EventServerReady, "server pod %s is ready", pod)
	case t.To == lifecycle.Launched && t.From != lifecycle.Unknown && plan.Next.AttemptID == lifecycle.AttemptID(string(sc.UID), t.Attempt):
		// The ID shows that this operator created the pod, and not another one.
		return dialect.Normal(EventServerCreated, "server pod %s was created, attempt %d", pod, t.Attempt)
	}
	return dialect.Event{}, false
}

// rolledOut reports whether a server that became ready is the first one of an edited spec. It reads this from the
// history, which contains the phase before the server's launch.
func rolledOut(sc *v1alpha1.SparkConnect, t lifecycle.Transition) bool {
	if sc.Status.Operator == nil || t.From == lifecycle.Unknown {
		return false
	}

	past := sc.Status.Operator.History
	for i := len(past) - 1; i > 0; i-- {
		if past[i].Attempt != t.Attempt {
			return false // the history of the attempt is incomplete
		}

		if lifecycle.Phase(past[i].Phase) == lifecycle.Launched {
			return lifecycle.Phase(past[i-1].Phase) == lifecycle.Editing
		}

		if lifecycle.Phase(past[i].Phase) == lifecycle.Running && i < len(past)-1 {
			return false // the server was ready before
		}
	}
	return false
}

func serverEnd(t lifecycle.Transition) (dialect.Event, bool) {
	switch {
	case t.Cause.Reason == lifecycle.ReasonInvalid:
		return dialect.Warning(EventConnectInvalid, "no server can be created: %s", t.Cause.Message)
	case t.Outcome == lifecycle.Refused:
		return dialect.Warning(EventServerRefused, "the server was not created: %s", dialect.CauseText(t.Cause))
	}
	return dialect.Warning(EventServerFailed, "the server of attempt %d ended: %s", t.Attempt, dialect.CauseText(t.Cause))
}

func serverNotice(n lifecycle.Notice) dialect.Event {
	e := dialect.NoticeEvent(n)
	switch e.Reason {
	case dialect.EventDriverPending:
		e.Reason = EventServerPending
	case dialect.EventDriverDisrupted:
		e.Reason = EventServerDisrupted
	case dialect.EventRestartRequested:
		e.Reason = EventConnectRestart
	case EventConnectTakenOver:
		e.Type = corev1.EventTypeNormal // as the take-over of an application
	}
	return e
}

// serverTakenOver returns the notice that a running server was taken over from another operator.
func serverTakenOver(sc *v1alpha1.SparkConnect) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventConnectTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s; its server continues", sc.Status.State)}}
}
