package controller

import (
	"testing"

	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/lifecycle"
	machine "github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

// TestResultOf: what is told of a run's end, or of its never being started, is counted; the rest is no result. A start is counted by the run itself.
func TestResultOf(t *testing.T) {
	for reason, want := range map[string]string{
		machine.ReasonCompleted: telemetry.RunSucceeded,
		machine.ReasonFailed:    telemetry.RunFailed,
		machine.ReasonReplaced:  telemetry.RunReplaced,
		machine.ReasonRefused:   telemetry.RunRefused,
		machine.ReasonMissed:    telemetry.RunSkipped,
		machine.ReasonSkipped:   telemetry.RunSkipped,
		machine.ReasonStarted:   "", machine.ReasonWaiting: "", machine.ReasonReplacing: "", machine.ReasonEdited: "", machine.ReasonValid: "",
		machine.ReasonSuspended: "", machine.ReasonResumed: "", machine.ReasonClock: "", machine.ReasonTakenOver: "", lifecycle.ReasonInvalid: "",
	} {
		if got := resultOf(lifecycle.Notice{Part: lifecycle.ScheduledRun, Cause: lifecycle.Cause{Reason: reason}}); got != want {
			t.Errorf("%s counts as %q, want %q", reason, got, want)
		}
	}
}
