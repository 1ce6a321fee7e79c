package application

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// ConditionEdited is True while the spec is another than the one that the current attempt was launched from. Tolerations, and what stands beside the driver,
// count as they are; the rest counts with the next attempt, if there is one. The condition is absent otherwise.
const ConditionEdited = "SpecEdited"

// reasonNextAttempt is the reason of ConditionEdited.
const reasonNextAttempt = "CountsWithNextAttempt"

// ownConditions are those that encodeConditions does not know of: each is set and removed where what it tells of is known.
var ownConditions = []string{dialect.ConditionExposed, ConditionEdited}

// encodeConditions sets what holds and removes the rest. The reason and message are the cause's, where there is one.
func encodeConditions(app *sparkv1.SparkApplication, wanted lifecycle.App, m lifecycle.Memory, now time.Time) {
	s := &app.Status
	if wanted.Thresholds != nil {
		wanted.InitialExecutors = wanted.Thresholds.Init // what the start awaits, however many Spark asks for
	}
	hold := dialect.Standings(m)
	lack := lackOf(wanted, m)
	if lack.Reason != "" {
		hold = append(hold, dialect.Standing{Type: dialect.ConditionDegraded, Status: metav1.ConditionTrue})
	}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(ownConditions, c.Type) && !slices.ContainsFunc(hold, func(h dialect.Standing) bool { return h.Type == c.Type })
	})
	for _, h := range hold {
		reason, text := dialect.Account(h, wanted, m)
		switch {
		case h.Type == dialect.ConditionDegraded:
			reason, text = dialect.UsableReason(lack.Reason), lack.Message
		case h.Type == dialect.ConditionReady && m.Phase.Runs():
			reason, text = string(m.Phase), "" // whatever degrades it
		}
		set(app, metav1.Condition{Type: h.Type, Status: h.Status, Reason: reason, Message: text}, now)
	}
}

// set sets a condition; the time is only taken where its status changes.
func set(app *sparkv1.SparkApplication, c metav1.Condition, now time.Time) {
	dialect.SetCondition(&app.Status.Conditions, c, app.Generation, now)
}

// lackOf is why a running application is not all that it could be: what it waits for, or the threshold that its executors do not come to.
func lackOf(wanted lifecycle.App, m lifecycle.Memory) lifecycle.Cause {
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
	return lifecycle.Cause{Reason: reason, Message: thresholdMessage(liveStates[m.Phase], wanted.Thresholds) + "; status.executors has the counts"}
}

// uncounted reports whether the spec is another generation than the status has seen.
func uncounted(app *sparkv1.SparkApplication) bool {
	seen := app.Status.ObservedGeneration
	return seen != 0 && seen != app.Generation
}

// encodeEdit sets and removes the condition that tells of an edit beside an attempt that goes on, and returns an event where it is news. An attempt that is
// launched is of the spec as it is, and one that is waited for will be.
func encodeEdit(app *sparkv1.SparkApplication, plan lifecycle.Plan, edited bool, now time.Time) []lifecycle.Notice {
	m := plan.Next
	launched := slices.ContainsFunc(plan.Trail, func(t lifecycle.Transition) bool { return t.To == lifecycle.Launched && t.From != lifecycle.Unknown })
	known := meta.FindStatusCondition(app.Status.Conditions, ConditionEdited) != nil
	if !m.Phase.Live() || launched || !edited && !known {
		meta.RemoveStatusCondition(&app.Status.Conditions, ConditionEdited)
		return nil
	}
	text := fmt.Sprintf("the spec was edited; the driver and the executors of attempt %d go on as they were launched, and what was edited of them counts with the next attempt", m.Attempt)
	set(app, metav1.Condition{Type: ConditionEdited, Status: metav1.ConditionTrue, Reason: reasonNextAttempt, Message: text}, now)
	if !edited {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventSpecChanged, Message: text}}}
}
