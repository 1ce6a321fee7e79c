package application

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// phaseCondition is the type and status of a condition that an application has in a phase.
type phaseCondition = dialect.PhaseCondition

// degraded reports whether a running application is impaired: its driver is being removed, one of its executors cannot
// start, or fewer executors are running or completed than the application started with. In the first two cases the
// memory contains the cause. With dynamic allocation, fewer executors are normal.
func degraded(l *launched, wanted lifecycle.App, m lifecycle.Memory) bool {
	switch {
	case m.Phase != lifecycle.Running:
		return false
	case m.Cause.Reason != "":
		return true
	case dynamicAllocationEnabled(&l.Attempt.app.Spec):
		return false
	}

	var counts v1beta2.ExecutorCounts
	if known := l.Attempt.own.Status.Executors; known != nil {
		counts = *known
	}
	return counts.Running+counts.Completed < wanted.InitialExecutors
}

// encodeConditions sets the conditions that apply now and removes the others, except Exposed. The conditions about
// overwritten fields, monitoring and the Spark version have their own reasons and messages. All other conditions have
// the reason and message that dialect.ConditionCause returns.
func encodeConditions(l *launched, wanted lifecycle.App, m lifecycle.Memory, mismatch string, now time.Time) {
	app := l.Attempt.own
	s := &app.Status

	hold := dialect.PhaseConditions(m)
	if degraded(l, wanted, m) {
		hold = append(hold, phaseCondition{Type: dialect.ConditionDegraded, Status: metav1.ConditionTrue})
	}

	lost := overwrittenMessage(l)
	if lost != "" && slices.Contains(hold, phaseCondition{Type: dialect.ConditionSubmitted, Status: metav1.ConditionTrue}) {
		hold = append(hold, phaseCondition{Type: ConditionFieldsOverwritten, Status: metav1.ConditionTrue})
	}

	troubles := monitoringProblems(l)
	if len(troubles) > 0 && slices.Contains(hold, phaseCondition{Type: dialect.ConditionSubmitted, Status: metav1.ConditionTrue}) {
		hold = append(hold, phaseCondition{Type: ConditionMonitoringImpaired, Status: metav1.ConditionTrue})
	}

	if mismatch != "" {
		hold = append(hold, phaseCondition{Type: ConditionSparkVersionMismatch, Status: metav1.ConditionTrue})
	}

	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type != dialect.ConditionExposed && !slices.ContainsFunc(hold, func(h phaseCondition) bool { return h.Type == c.Type })
	})
	for _, h := range hold {
		reason, message := dialect.ConditionCause(h, wanted, m)
		switch h.Type {
		case ConditionFieldsOverwritten:
			reason, message = reasonSetBySpark, lost
		case ConditionMonitoringImpaired:
			reason, message = impairment(troubles)
		case ConditionSparkVersionMismatch:
			reason, message = reasonAnotherVersion, mismatch
		}

		dialect.PutCondition(&s.Conditions, metav1.Condition{
			Type: h.Type, Status: h.Status, Reason: reason, Message: dialect.AddFailures(h.Type, message, m, s.Executors),
			LastTransitionTime: metav1.NewTime(now), ObservedGeneration: app.Generation,
		})
	}
}

// encodeForeign sets the condition Ready, which explains why the operator ignores the application. It changes nothing
// else in the status.
func encodeForeign(app *v1beta2.SparkApplication, now time.Time) {
	dialect.PutCondition(&app.Status.Conditions, metav1.Condition{
		Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: dialect.ReasonOtherOperator,
		Message: fmt.Sprintf("another operator left the application in state %q, which this operator does not support: "+
			"let the other operator finish it, or delete it and create it again", app.Status.AppState.State),
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: app.Generation,
	})
}
