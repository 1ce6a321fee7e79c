package dialect

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestFalseReadyHasAnotherReasonThanReady checks the phase Ready. In this phase the condition Ready is False, so its
// reason must not be "Ready".
func TestFalseReadyHasAnotherReasonThanReady(t *testing.T) {
	memory := lifecycle.Memory{Phase: lifecycle.Ready}
	for _, standing := range PhaseConditions(memory) {
		if standing.Type != ConditionReady && standing.Type != ConditionReconciling {
			continue
		}
		reason, message := ConditionCause(standing, lifecycle.App{InitialExecutors: 2}, memory)
		if reason != ReasonAwaitingExecutors || message != "0 of 2 executors run" {
			t.Errorf("%s is %s with %q: %s", standing.Type, standing.Status, reason, message)
		}
	}
	memory.Cause = lifecycle.Cause{Reason: "Unschedulable", Message: "no node"}
	if reason, message := ConditionCause(PhaseCondition{ConditionReady, metav1.ConditionFalse}, lifecycle.App{}, memory); reason != "Unschedulable" || message != "no node" {
		t.Errorf("with a cause the reason is %q: %s", reason, message)
	}
}
