package configured

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestRefusedExecutorsAreAWait checks that a running driver whose executors the API server refuses still has a wait
// reason, which alerts report. Its condition Stalled is True, but the attempt has not ended.
func TestRefusedExecutorsAreAWait(t *testing.T) {
	refused := lifecycle.Cause{Reason: lifecycle.ReasonPodInvalid, Message: "executors cannot be created"}
	for phase, want := range map[lifecycle.Phase]string{lifecycle.Ready: "Invalid", lifecycle.Scaling: "Invalid",
		lifecycle.Done: ""} {
		m := lifecycle.Memory{Phase: phase, Runs: 1, Cause: refused}
		if phase == lifecycle.Done {
			m.Outcome = lifecycle.Failed
		}

		var conditions []metav1.Condition
		for _, c := range dialect.PhaseConditions(m) {
			reason, _ := dialect.ConditionCause(c, lifecycle.App{}, m)
			conditions = append(conditions, metav1.Condition{Type: c.Type, Status: c.Status, Reason: reason})
		}

		if got := waitReason(conditions, false); got != want {
			t.Errorf("%s: wait reason %q, want %q", phase, got, want)
		}
	}
}
