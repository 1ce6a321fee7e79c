package connect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// These are the types of a SparkConnect's conditions, in addition to those of SparkApplications and
// v1alpha1.ConditionServerPodReady.
const (
	// conditionProgressing is True while a server starts: the first server, the server of an edited spec, or the server
	// after one that ended.
	conditionProgressing = dialect.ConditionProgressing
	// conditionServiceReady is True if the Service for clients exists as wanted. If it is False and no Service leads to
	// the server, Ready is False too.
	conditionServiceReady = "ServiceReady"
)

// These are the reasons of the condition Progressing. During a back-off, the reason is instead the cause with which the
// last server ended.
const (
	reasonStarting   = "ServerStarting" // the first server, or the next after one that ended
	reasonRollingOut = "RollingOut"     // the server of an edited spec
	reasonComplete   = "ServerReady"
)

// passing contains the types of those conditions that the operator removes instead of setting them to False.
var passing = []string{dialect.ConditionReconciling, dialect.ConditionStalled, dialect.ConditionSuspended, dialect.ConditionDegraded, dialect.ConditionLogsNotKept}

// ownConditions contains the types of all conditions of a server.
var ownConditions = append([]string{
	conditionProgressing, conditionServiceReady, v1alpha1.ConditionServerPodReady, dialect.ConditionReady, dialect.ConditionExposed,
}, passing...)

// encodeConnectConditions sets the conditions of a phase, except those about auxiliary objects
// (Connects.AuxiliaryObjects). The argument specFault is not nil if the edited spec is invalid and the server of the
// previous spec continues; it contains the error. If this error is new, encodeConnectConditions returns a notice.
func encodeConnectConditions(sc *v1alpha1.SparkConnect, m lifecycle.Memory, transient *lifecycle.TransientError, specFault *lifecycle.Cause, now time.Time) (notices []lifecycle.Notice) {
	why := connectAccount(m, transient, &sc.Status)

	hold := map[string]lifecycle.Cause{}
	switch m.Phase {
	case lifecycle.Running:
		if why.Reason != "" {
			hold[dialect.ConditionDegraded] = why
		}
	case lifecycle.Retained, lifecycle.Done:
		hold[dialect.ConditionStalled] = why
	case lifecycle.Suspended:
		hold[dialect.ConditionSuspended] = why
	default:
		hold[dialect.ConditionReconciling] = why
	}

	if m.Logs.Cause.Reason != "" {
		hold[dialect.ConditionLogsNotKept] = m.Logs.Cause
	}

	if specFault != nil {
		hold[dialect.ConditionStalled] = *specFault

		before := meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionStalled)
		if before == nil || before.Message != specFault.Message {
			notices = []lifecycle.Notice{{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: EventConnectInvalid,
				Message: fmt.Sprintf("the server of attempt %d continues; the edited spec is invalid: %s", m.Attempt, specFault.Message)}}}
		}
	}

	dialect.KeepConditions(&sc.Status.Conditions, ownConditions, func(kind string) bool {
		_, holds := hold[kind]
		return slices.Contains(passing, kind) && !holds
	})

	for _, kind := range passing {
		if cause, holds := hold[kind]; holds {
			setCondition(sc, kind, metav1.ConditionTrue, cause, now)
		}
	}

	encodeProgress(sc, m, why, specFault, now)

	if m.Phase == lifecycle.Running {
		setCondition(sc, v1alpha1.ConditionServerPodReady, metav1.ConditionTrue, lifecycle.Cause{Reason: v1alpha1.ReasonServerPodReady}, now)
	} else {
		unready := why
		if m.Cause.Reason == "" && transient == nil {
			unready.Reason = v1alpha1.ReasonServerPodNotReady
		}

		setCondition(sc, v1alpha1.ConditionServerPodReady, metav1.ConditionFalse, unready, now)
	}

	encodeReady(sc, m, why, now)
	return notices
}

// encodeReady sets the condition Ready. It is True if the server accepts sessions and clients reach it through a
// Service. encodeReady uses the last known state of the Service. recordService sets the condition again when it knows
// the current state.
func encodeReady(sc *v1alpha1.SparkConnect, m lifecycle.Memory, why lifecycle.Cause, now time.Time) {
	if m.Phase == lifecycle.Running {
		encodeServing(sc, now)
		return
	}

	setCondition(sc, dialect.ConditionReady, metav1.ConditionFalse, why, now)
}

// encodeServing sets the condition Ready of a server that accepts sessions. It is True if clients reach the server
// through any Service, even if that Service differs from the wanted one.
func encodeServing(sc *v1alpha1.SparkConnect, now time.Time) {
	service := meta.FindStatusCondition(sc.Status.Conditions, conditionServiceReady)
	if service != nil && service.Status == metav1.ConditionFalse && sc.Status.Server.ServiceName == "" {
		setCondition(sc, dialect.ConditionReady, metav1.ConditionFalse, lifecycle.Cause{Reason: service.Reason, Message: service.Message}, now)
		return
	}

	why := lifecycle.Cause{Reason: string(lifecycle.Running)}
	if stalled := meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		why.Message = "the server runs with the previous spec; the edited spec is invalid: " + stalled.Message
	}

	setCondition(sc, dialect.ConditionReady, metav1.ConditionTrue, why, now)
}

// underWay contains the phases in which a server starts.
var underWay = []lifecycle.Phase{lifecycle.New, lifecycle.Launched, lifecycle.Started, lifecycle.Resuming, lifecycle.Waiting, lifecycle.Ended}

// encodeProgress sets the condition Progressing. It is True while the operator starts or replaces a server: the
// previous server is being stopped, or the next server starts or waits for its start. Otherwise it is False, for
// example if the server is ready, if it was ready and its pod still runs, or if it is suspended.
func encodeProgress(sc *v1alpha1.SparkConnect, m lifecycle.Memory, why lifecycle.Cause, specFault *lifecycle.Cause, now time.Time) {
	before := meta.FindStatusCondition(sc.Status.Conditions, conditionProgressing)
	rolling := before != nil && before.Status == metav1.ConditionTrue && before.Reason == reasonRollingOut

	status := metav1.ConditionFalse
	switch {
	case m.Phase == lifecycle.Running && specFault != nil:
		why = *specFault
	case m.Phase == lifecycle.Running:
		why = lifecycle.Cause{Reason: reasonComplete, Message: "the server of the current spec accepts sessions"}
	case m.Phase == lifecycle.Editing:
		status, why.Reason = metav1.ConditionTrue, reasonRollingOut
	case slices.Contains(underWay, m.Phase):
		status = metav1.ConditionTrue
		switch {
		case m.Phase == lifecycle.Started && sc.Status.State == v1alpha1.SparkConnectStateNotReady:
			status = metav1.ConditionFalse // the server had been ready before
		case m.Phase == lifecycle.Ended || backsOff(m):
		case rolling:
			why.Reason = reasonRollingOut
		default:
			why.Reason = reasonStarting
		}
	}

	setCondition(sc, conditionProgressing, status, why, now)
}

// awaitedServer contains a message for each phase in which a server is not ready. The message says what the operator
// does or waits for. It is used if the memory contains no cause.
var awaitedServer = map[lifecycle.Phase]string{
	lifecycle.New:        "the server will be created",
	lifecycle.Launched:   "the server's pod has not started yet",
	lifecycle.Started:    "the server's pod runs but does not accept connections yet",
	lifecycle.Unknown:    "the server's node does not answer",
	lifecycle.Ended:      "the server has ended; its remaining objects are being deleted",
	lifecycle.Waiting:    "the last server's remaining objects are being deleted; then the next server starts",
	lifecycle.Suspending: "the server is being stopped",
	lifecycle.Suspended:  "the server is suspended",
	lifecycle.Resuming:   "the suspension is lifted; the next server starts when all objects of the last one are gone",
	lifecycle.Editing:    "the server of the previous spec is being stopped",
}

// connectAccount returns the reason why a server is not Ready, or why a Ready server is Degraded. It returns the zero
// Cause if neither applies.
//
// If the status already reports a transient error with the same reason, connectAccount returns the message in the
// status. The API server may word each answer differently, and a different wording must not cause a write of the
// status.
func connectAccount(m lifecycle.Memory, transient *lifecycle.TransientError, before *v1alpha1.SparkConnectStatus) lifecycle.Cause {
	if transient != nil && !m.Phase.Terminal() && m.Phase != lifecycle.Suspended {
		why := transient.Cause

		i := slices.IndexFunc(before.Conditions, func(c metav1.Condition) bool {
			return c.Reason == why.Reason && (c.Type == dialect.ConditionReady || c.Type == dialect.ConditionDegraded)
		})
		if i >= 0 {
			why.Message = before.Conditions[i].Message
		}
		return why
	}

	why := m.Cause
	if m.Phase == lifecycle.Running {
		return why
	}

	switch {
	case why.Reason != "":
	case m.Phase == lifecycle.Started && before.State == v1alpha1.SparkConnectStateNotReady: // it was ready before
		why = lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: "the server's pod runs but no longer passes its readiness probe: its port does not accept connections"}
	default:
		why = lifecycle.Cause{Reason: cmp.Or(string(m.Phase), "New"), Message: awaitedServer[m.Phase]}
	}

	if why.Reason == lifecycle.ReasonSuspended || why.Reason == lifecycle.ReasonEdited || why.Reason == lifecycle.ReasonRestartRequested {
		// The user made the request, so the message reports the progress instead.
		why.Message = cmp.Or(awaitedServer[m.Phase], why.Message)
	}

	if backsOff(m) {
		why.Message += "; the next server starts at " + m.NextAttempt.UTC().Format(time.RFC3339)
	}
	return why
}
