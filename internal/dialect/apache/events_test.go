package apache

import (
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestFailureReasons checks the reason of the event about a failed pass, by what the pass was about to do.
func TestFailureReasons(t *testing.T) {
	held := Hold{Cause: &lifecycle.Cause{Reason: ReasonSuspendHeld}}
	for _, test := range []struct {
		name             string
		phase            lifecycle.Phase
		hold             Hold
		deleting, status bool
		want             string
	}{
		{"first pass", lifecycle.New, Hold{}, false, false, "ReconcileError"},
		{"running", lifecycle.Running, Hold{}, false, false, "ReconcileError"},
		{"running, and to be suspended", lifecycle.Running, held, false, false, "ReconcileError"},
		{"held before the first launch", lifecycle.New, held, false, false, "SuspendCheckFailed"},
		{"held before a restart", lifecycle.Waiting, held, false, false, "SuspendCheckFailed"},
		{"suspending", lifecycle.Suspending, held, false, false, "SuspendReleaseFailed"},
		{"suspending, and resumed meanwhile", lifecycle.Suspending, Hold{}, false, false, "SuspendReleaseFailed"},
		{"suspended", lifecycle.Suspended, held, false, false, "ReconcileError"},
		{"deleted while suspending", lifecycle.Suspending, Hold{}, true, false, "CleanupError"},
		{"the status", lifecycle.Suspending, held, false, true, "StatusUpdateFailed"},
	} {
		if got := FailureReason(test.phase, test.hold, test.deleting, test.status); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestNoticesOfTheKinds checks that a notice belongs to a kind unless it is about a state or has a reason that both
// kinds report in the same way. A reason that is equal to a state does not make a notice one of a state.
func TestNoticesOfTheKinds(t *testing.T) {
	for name, n := range map[string]lifecycle.Notice{
		"another reason":      {Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: dialect.EventSpecChanged}},
		"a driver":            {Part: lifecycle.DriverPod, Cause: lifecycle.Cause{Reason: "Failed"}},
		"an executor's image": {Part: lifecycle.Executors, Cause: lifecycle.Cause{Reason: ReasonSuspendHeld}},
	} {
		if event, ours := NoticeEvent(n); ours {
			t.Errorf("%s: %+v", name, event)
		}
	}
}
