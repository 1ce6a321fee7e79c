package dialect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Types of the conditions. The tools that use kstatus (sigs.k8s.io/cli-utils) read Ready, Reconciling and Stalled.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	ConditionSubmitted   = "Submitted"
	ConditionRunning     = "Running"
	ConditionDegraded    = "Degraded"
	ConditionSucceeded   = "Succeeded"
	ConditionFailed      = "Failed"
	ConditionSuspended   = "Suspended"
	// ConditionExposed is True if all auxiliary objects of the driver exist: Services, Ingresses, routes. It is absent
	// if the application wants no such objects. The application runs even if the condition is False.
	ConditionExposed = "Exposed"
	// ConditionProgressing is True while the pods of a Connect server or of a cluster are started or replaced.
	ConditionProgressing = "Progressing"
	// ConditionLogsNotKept is True if a log of the last attempt could not be kept, and absent otherwise. The application
	// runs as if the log were kept.
	ConditionLogsNotKept = "LogsNotKept"
)

// reasonAwaitingExecutors is the reason of the conditions Ready (False) and Reconciling (True) in the phase Ready. In
// this phase the driver is ready, but no executor was observed. In other phases the name of the phase is the reason of
// these conditions. In the phase Ready this would result in Ready=False with the reason Ready, which would confuse
// users.
const reasonAwaitingExecutors = "AwaitingExecutors"

// ReasonOtherOperator is the reason of the condition Ready if another operator has set the application's status to a
// state that this API does not have.
const ReasonOtherOperator = "OtherOperator"

// PhaseCondition is the type and the status of a condition that a phase requires.
type PhaseCondition struct {
	Type   string
	Status metav1.ConditionStatus
}

// PhaseConditions returns the conditions of an application that has the given memory. They depend on the phase, the
// outcome and the logs. The only other conditions that the operator sets are those of other functions (Degraded,
// Exposed).
func PhaseConditions(m lifecycle.Memory) []PhaseCondition {
	out := phaseConditions(m)
	if m.Logs.Cause.Reason != "" {
		out = append(out, PhaseCondition{ConditionLogsNotKept, metav1.ConditionTrue})
	}
	return out
}

func phaseConditions(m lifecycle.Memory) []PhaseCondition {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse

	submitted := PhaseCondition{ConditionSubmitted, yes}
	switch m.Phase {
	case lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Unknown:
		pending := PhaseCondition{ConditionReconciling, yes}
		if m.Cause.Reason == lifecycle.ReasonPodInvalid {
			pending.Type = ConditionStalled // the driver requests executors in vain until the spec is edited
		}

		out := []PhaseCondition{{ConditionReady, no}, pending, submitted}
		if m.Phase == lifecycle.Ready || m.Phase == lifecycle.Scaling {
			out = append(out, PhaseCondition{ConditionRunning, yes})
		}
		return out
	case lifecycle.Running, lifecycle.Partial, lifecycle.Below: // the dialect, which knows the counts, adds Degraded
		return []PhaseCondition{{ConditionReady, yes}, submitted, {ConditionRunning, yes}}
	case lifecycle.Retained, lifecycle.Done:
		if m.Outcome == lifecycle.Succeeded {
			return []PhaseCondition{{ConditionReady, yes}, submitted, {ConditionSucceeded, yes}}
		}

		out := []PhaseCondition{{ConditionReady, no}, {ConditionStalled, yes}, {ConditionFailed, yes}}
		if m.Runs > 0 {
			out = append(out, submitted)
		}
		return out
	case lifecycle.Suspended:
		return []PhaseCondition{{ConditionReady, no}, {ConditionSuspended, yes}}
	}
	return []PhaseCondition{{ConditionReady, no}, {ConditionReconciling, yes}} // not ready yet
}

// WaitInQueue returns why a custom resource without a stored memory waits in a queue, from the condition Ready. It
// returns the zero Cause if it does not.
func WaitInQueue(conditions []metav1.Condition) lifecycle.Cause {
	if ready := meta.FindStatusCondition(conditions, ConditionReady); ready != nil && lifecycle.IsQuotaWait(ready.Reason) {
		return lifecycle.Cause{Reason: ready.Reason, Message: ready.Message}
	}
	return lifecycle.Cause{}
}

// Stands reports whether conditions say that nothing happens before an edit. A driver whose executors are refused is
// Stalled as well, but still runs.
func Stands(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, ConditionStalled) && !meta.IsStatusConditionTrue(conditions, ConditionRunning)
}

// validReason is the pattern that the reason of a condition must match (metav1.Condition).
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReason is the maximum length of a condition's reason in characters (metav1.Condition).
const maxReason = 1024

// UsableReason returns the given reason if it is valid in a condition, and "Pending" otherwise. The reasons of pods and
// webhooks may contain characters that are not valid in conditions.
func UsableReason(reason string) string {
	if len(reason) > maxReason || !validReason.MatchString(reason) {
		return "Pending"
	}
	return reason
}

// maxOthers is the maximum number of conditions of other writers that the operator keeps in a status. There is a limit
// because every pass copies and compares each condition.
const maxOthers = 64

// KeepConditions removes outdated conditions from a status. The argument own lists the types of the conditions that the
// operator writes. The function outdated reports for such a type whether its condition must be removed. KeepConditions
// also limits the conditions of other writers to the first maxOthers.
func KeepConditions(conditions *[]metav1.Condition, own []string, outdated func(kind string) bool) {
	others := 0
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool {
		if slices.Contains(own, c.Type) {
			return outdated(c.Type)
		}
		others++
		return others > maxOthers
	})
}

// ConditionCause returns the reason and the message of a condition. Conditions that only mark a milestone (Submitted,
// Running, Succeeded, Suspended) have their own name as the reason, even if the application waits for something.
func ConditionCause(h PhaseCondition, wanted lifecycle.App, m lifecycle.Memory) (reason, message string) {
	switch h.Type {
	case ConditionLogsNotKept:
		return m.Logs.Cause.Reason, m.Logs.Cause.Message
	case ConditionDegraded:
		if m.Cause.Reason == "" {
			return lifecycle.ReasonBelowThreshold, "fewer executors run than the application started with; status.executors has the counts"
		}
	case ConditionReady:
		if m.Phase == lifecycle.Running {
			return string(m.Phase), "" // Degraded has the cause, if there is one
		}
	case ConditionSubmitted, ConditionRunning, ConditionSucceeded, ConditionSuspended:
		return h.Type, ""
	}

	reason = string(m.Phase)
	if m.Phase == lifecycle.Ready {
		reason = reasonAwaitingExecutors
	}

	if m.Outcome != lifecycle.Undecided {
		reason = string(m.Outcome)
	}

	message = waitMessage(wanted, m)
	switch {
	case m.Cause.Reason == lifecycle.ReasonSidecarRuns: // it does not change the outcome
		message = m.Cause.Message
	case m.Cause.Reason != "" && (m.Outcome != lifecycle.Succeeded || m.Phase == lifecycle.Waiting):
		reason, message = m.Cause.Reason, cmp.Or(m.Cause.Message, message)
	}
	return UsableReason(reason), message
}

// waitMessage returns a message that says what an application waits for in its phase. Callers use it if the memory has
// no cause. The message does not contain the number of running executors, because each new executor would then change
// the status and cost a write.
func waitMessage(wanted lifecycle.App, m lifecycle.Memory) string {
	switch m.Phase {
	case lifecycle.Launched:
		return "the driver pod has not started yet"
	case lifecycle.Started:
		return "the driver runs; its pod is not ready yet"
	case lifecycle.Ready:
		return fmt.Sprintf("0 of %d executors run", wanted.InitialExecutors)
	case lifecycle.Scaling:
		return "fewer than " + bounds.Count(wanted.InitialExecutors, "executor") + " run; status.executors has the counts"
	case lifecycle.Unknown:
		return "the driver's node does not answer"
	case lifecycle.Ended:
		return "the attempt has ended; its remaining objects are being deleted"
	case lifecycle.Waiting:
		if m.NextAttempt.IsZero() {
			return "the last attempt's remaining objects are being deleted; then the next attempt starts"
		}
		return "the next attempt starts at " + m.NextAttempt.UTC().Format(time.RFC3339)
	case lifecycle.Suspending:
		return "the attempt is being stopped"
	case lifecycle.Suspended:
		return "the application is suspended"
	case lifecycle.Resuming:
		return "the suspension is lifted; the next attempt starts when all objects of the last one are gone"
	case lifecycle.Editing:
		return "the objects of the previous spec's run are being deleted"
	}
	return ""
}

// SetCondition sets a condition with the given generation. The transition time is rounded down to seconds, as the API
// server stores it, and changes only if the condition's status (True or False) changes.
func SetCondition(conditions *[]metav1.Condition, c metav1.Condition, generation int64, now time.Time) {
	c.LastTransitionTime, c.ObservedGeneration = metav1.NewTime(now.Truncate(time.Second)), generation
	PutCondition(conditions, c)
}

// PutCondition sets a condition. Its message becomes one line. Characters of its reason and message that cannot be
// printed are replaced by escapes.
func PutCondition(conditions *[]metav1.Condition, c metav1.Condition) {
	c.Reason, c.Message = bounds.Line(c.Reason), bounds.Line(strings.Join(strings.FieldsFunc(c.Message, isBreak), " "))
	meta.SetStatusCondition(conditions, c)
}

func isBreak(char rune) bool { return char == '\n' || char == '\r' || char == '\t' }

// EncodeTransientError sets a condition that reports a transient error: Ready=False or, if the application runs,
// Degraded=True. The memory does not contain the error, so the first pass without it removes the condition.
//
// The argument before holds the conditions before this pass. If they contain the same condition with the same reason,
// its message is kept. Otherwise the status would change in every pass, because the error's text differs each time.
func EncodeTransientError(conditions *[]metav1.Condition, phase lifecycle.Phase, transient *lifecycle.TransientError, before []metav1.Condition, generation int64, now time.Time) {
	if transient == nil || phase.Terminal() || phase == lifecycle.Suspended {
		return
	}

	held := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: transient.Cause.Reason, Message: transient.Cause.Message,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: generation,
	}
	if phase.Runs() {
		held.Type, held.Status = ConditionDegraded, metav1.ConditionTrue
	}

	if old := meta.FindStatusCondition(before, held.Type); old != nil && old.Reason == held.Reason {
		held.Message = old.Message
	}

	PutCondition(conditions, held)
}

// AddFailures adds to the message of a condition how many executors of the attempt failed, and why the last one did. It
// does so for Running, and for Degraded without another cause.
func AddFailures(kind, message string, m lifecycle.Memory, counts *statusv1.ExecutorCounts) string {
	if counts == nil || counts.Failed == 0 || m.ExecutorFailure.Message == "" || kind != ConditionRunning && (kind != ConditionDegraded || m.Cause.Reason != "") {
		return message
	}

	failures := fmt.Sprintf("%s failed, last: %s: %s", bounds.Count(counts.Failed, "executor"), m.ExecutorFailure.Reason, m.ExecutorFailure.Message)
	return strings.TrimPrefix(message+"; "+failures, "; ")
}
