package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// phaseCondition is the type and status of a condition that an application has in a phase.
type phaseCondition = dialect.PhaseCondition

// degraded reports whether a running application is impaired: its driver is being removed, one of its executors cannot
// start, or fewer executors are running or completed than the application started with. In the first two cases the
// memory contains the cause. With dynamic allocation, fewer executors are normal.
func (d Decision) degraded(m lifecycle.Memory) bool {
	switch {
	case m.Phase != lifecycle.Running:
		return false
	case m.Cause.Reason != "":
		return true
	case specification.DynamicAllocation(&d.Merged.Spec):
		return false
	}

	var counts v1beta2.ExecutorCounts
	if known := d.App.Status.Executors; known != nil {
		counts = *known
	}
	return counts.Running+counts.Completed < d.Wanted.InitialExecutors
}

// encodeConditions sets the conditions that apply now and removes the others, except Exposed. The conditions about
// overwritten fields, monitoring, queues and the Spark version have their own reasons and messages. All other
// conditions have the reason and message that dialect.ConditionCause returns.
func (d Decision) encodeConditions(m lifecycle.Memory, mismatch string) {
	s := &d.App.Status

	hold := dialect.PhaseConditions(m)
	if d.degraded(m) {
		hold = append(hold, phaseCondition{Type: dialect.ConditionDegraded, Status: metav1.ConditionTrue})
	}

	lost := overwritten.Message(d.Merged, s.Conditions, d.Admission, d.Configuration)
	if lost != "" && slices.Contains(hold, phaseCondition{Type: dialect.ConditionSubmitted, Status: metav1.ConditionTrue}) {
		hold = append(hold, phaseCondition{Type: overwritten.Condition, Status: metav1.ConditionTrue})
	}

	troubles := monitoring.Problems(d.Merged, d.Configuration)
	if len(troubles) > 0 && slices.Contains(hold, phaseCondition{Type: dialect.ConditionSubmitted, Status: metav1.ConditionTrue}) {
		hold = append(hold, phaseCondition{Type: monitoring.Condition, Status: metav1.ConditionTrue})
	}

	ignored := batch.QueueIgnored(d.App)
	if ignored != "" && slices.Contains(hold, phaseCondition{Type: dialect.ConditionSubmitted, Status: metav1.ConditionTrue}) {
		hold = append(hold, phaseCondition{Type: dialect.ConditionQueueIgnored, Status: metav1.ConditionTrue})
	}

	if mismatch != "" {
		hold = append(hold, phaseCondition{Type: ConditionSparkVersionMismatch, Status: metav1.ConditionTrue})
	}

	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type != dialect.ConditionExposed && !slices.ContainsFunc(hold, func(h phaseCondition) bool { return h.Type == c.Type })
	})
	for _, h := range hold {
		reason, message := dialect.ConditionCause(h, d.Wanted, m)
		switch h.Type {
		case overwritten.Condition:
			reason, message = overwritten.ReasonSetBySpark, lost
		case monitoring.Condition:
			reason, message = monitoring.Impairment(troubles)
		case dialect.ConditionQueueIgnored:
			reason, message = batch.ReasonIntegrationOff, ignored
		case ConditionSparkVersionMismatch:
			reason, message = reasonAnotherVersion, mismatch
		}

		dialect.SetCondition(&s.Conditions, metav1.Condition{
			Type: h.Type, Status: h.Status, Reason: reason, Message: dialect.AddFailures(h.Type, message, m, s.Executors),
		}, d.App.Generation, d.Now)
	}
}
