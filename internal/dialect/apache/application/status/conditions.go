package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ConditionEdited is True if the spec was edited after the launch of the current attempt, and absent otherwise. An edit
// of tolerations or of auxiliary objects applies at once and does not set the condition. Any other edit applies to the
// next attempt, if there is one.
const ConditionEdited = "SpecEdited"

// reasonNextAttempt is the reason of ConditionEdited.
const reasonNextAttempt = "CountsWithNextAttempt"

// ownConditions are the conditions that setConditions does not change, because other functions set and remove them.
var ownConditions = []string{dialect.ConditionExposed, ConditionEdited, dialect.ConditionQueueIgnored}

// setConditions sets the conditions of the current phase and removes all others except ownConditions. If the phase
// has a cause, the conditions contain the reason and the message of the cause.
func setConditions(app *sparkv1.SparkApplication, wanted lifecycle.App, m lifecycle.Memory, now time.Time) {
	s := &app.Status

	if wanted.Thresholds != nil {
		wanted.InitialExecutors = wanted.Thresholds.Init // even if Spark requests more
	}

	hold := dialect.PhaseConditions(m)

	lack := shortageOf(wanted, m)
	if lack.Reason != "" {
		hold = append(hold, dialect.PhaseCondition{Type: dialect.ConditionDegraded, Status: metav1.ConditionTrue})
	}

	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(ownConditions, c.Type) && !slices.ContainsFunc(hold, func(h dialect.PhaseCondition) bool { return h.Type == c.Type })
	})
	for _, h := range hold {
		reason, text := dialect.ConditionCause(h, wanted, m)
		switch {
		case h.Type == dialect.ConditionReady && apache.TellsHold(wanted.Hold, m.Phase):
			h.Status, reason, text = metav1.ConditionFalse, wanted.Hold.Reason, wanted.Hold.Message
		case h.Type == dialect.ConditionDegraded:
			reason, text = dialect.UsableReason(lack.Reason), lack.Message
		case h.Type == dialect.ConditionReady && m.Phase.Runs():
			reason, text = string(m.Phase), "" // the condition Degraded contains the cause, if there is one
		}

		SetCondition(app, metav1.Condition{Type: h.Type, Status: h.Status, Reason: reason, Message: dialect.AddFailures(h.Type, text, m, s.Executors)}, now)
	}
}

// SetCondition sets a condition. Its transition time changes only if its status (True or False) changes.
func SetCondition(app *sparkv1.SparkApplication, c metav1.Condition, now time.Time) {
	dialect.SetCondition(&app.Status.Conditions, c, app.Generation, now)
}

// shortageOf returns why a running application is degraded. This is the application's wait reason if it has one.
// Otherwise, if fewer executors run than a threshold requires, the result names the threshold. The result is empty if
// the application is not degraded.
func shortageOf(wanted lifecycle.App, m lifecycle.Memory) lifecycle.Cause {
	var reason string
	switch {
	case m.Phase.Runs() && m.Cause.Reason != "":
		return m.Cause
	case m.Phase == lifecycle.Partial:
		reason = lifecycle.ReasonPartialCapacity
	case m.Phase == lifecycle.Below:
		reason = lifecycle.ReasonBelowThreshold
	default:
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: reason, Message: thresholdMessage(phaseState(m.Phase), wanted.Thresholds) + "; status.executors has the counts"}
}

// uncounted reports whether the spec was edited since the last status write: whether the generation in metadata differs
// from the observedGeneration in the status.
func uncounted(app *sparkv1.SparkApplication) bool {
	seen := app.Status.ObservedGeneration
	return seen != 0 && seen != app.Generation
}

// encodeEdit sets or removes ConditionEdited, and returns a notice if the edit is new. It removes the condition if this
// decision launches an attempt or an attempt waits for its launch, because such an attempt uses the edited spec.
func encodeEdit(app *sparkv1.SparkApplication, plan lifecycle.Plan, edited bool, now time.Time) []lifecycle.Notice {
	m := plan.Next
	launched := slices.ContainsFunc(plan.Transitions, func(t lifecycle.Transition) bool { return t.To == lifecycle.Launched && t.From != lifecycle.Unknown })

	known := meta.FindStatusCondition(app.Status.Conditions, ConditionEdited) != nil
	if !m.Phase.Live() || launched || !edited && !known {
		meta.RemoveStatusCondition(&app.Status.Conditions, ConditionEdited)
		return nil
	}

	text := fmt.Sprintf("the spec was edited; the driver and the executors of attempt %d continue unchanged, and the edit applies to the next attempt", m.Attempt)
	SetCondition(app, metav1.Condition{Type: ConditionEdited, Status: metav1.ConditionTrue, Reason: reasonNextAttempt, Message: text}, now)

	if !edited {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventSpecChanged, Message: text}}}
}
