package application

import (
	"fmt"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestExecutorFailureIsRemembered checks that the cause of the last failed executor stays in the memory after its pod
// is gone, that it explains a driver that ended because of it, and that the next attempt starts without it.
func TestExecutorFailureIsRemembered(t *testing.T) {
	killed := lifecycle.Cause{Reason: "OOMKilled", Message: "executor container failed, OOMKilled at 896Mi",
		Advice: "raise it"}
	executor := func(n int32, why lifecycle.Cause) lifecycle.Executor {
		e := lifecycle.Executor{Name: fmt.Sprintf("exec-%d", n), Attempt: 1, Phase: lifecycle.DriverFailed,
			CreatedAt: at(10 + int(n)), Why: why}
		e.Why.Log = "much"
		return e
	}
	other := lifecycle.Cause{Reason: "Evicted", Message: "evicted"}
	exits := func(code int32) func(*lifecycle.Driver) {
		return func(d *lifecycle.Driver) {
			d.HasExit, d.ExitCode, d.EndedAt = true, code, at(50)
			d.Why = lifecycle.Cause{Reason: "Error", Message: "driver container failed", Log: "the end of the log"}
		}
	}

	seen := driver(lifecycle.DriverRunning, readyAt(7))
	seen.Executors = []lifecycle.Executor{executor(2, killed), executor(1, other)}

	m := Step(appWith(), memoryIn(lifecycle.Running), seen, at(40)).Next
	if m.ExecutorFailure != killed {
		t.Fatalf("remembered %+v", m.ExecutorFailure)
	}

	m = Step(appWith(), m, driver(lifecycle.DriverRunning, readyAt(7)), at(45)).Next
	if m.ExecutorFailure != killed {
		t.Errorf("remembered %+v without pods", m.ExecutorFailure)
	}

	older := driver(lifecycle.DriverRunning, readyAt(7))
	older.Executors = []lifecycle.Executor{executor(1, other)}

	m = Step(appWith(), m, older, at(47)).Next
	if m.ExecutorFailure != killed {
		t.Errorf("remembered %+v when only the pod of an older executor exists", m.ExecutorFailure)
	}

	for code, want := range map[int32]lifecycle.Cause{
		11: {Reason: "ExecutorsFailed",
			Message: "the driver ended with exit code 11: too many executors failed, last: " + killed.Message,
			Advice:  "raise it", Log: "the end of the log"},
		1: {Reason: "Error", Message: "driver container failed", Log: "the end of the log"},
	} {
		if got := Step(appWith(), m, driver(lifecycle.DriverFailed, exits(code)), at(60)).Next.Cause; got != want {
			t.Errorf("exit code %d: %+v, want %+v", code, got, want)
		}
	}

	uncounted := driver(lifecycle.DriverFailed, exits(11))
	uncounted.UncountedExecutors = []lifecycle.Executor{executor(3, other)}

	ended := Step(appWith(retries(1)), m, uncounted, at(60)).Next
	if got := ended.Cause.Message; got != "the driver ended with exit code 11: too many executors failed, last: evicted" {
		t.Errorf("with an executor that was never counted: %q", got)
	}

	ended.Phase, ended.NextAttempt = lifecycle.Waiting, at(61)
	if got := Step(appWith(retries(1)), ended, confirmed, at(100)).Next; got.Attempt != 2 ||
		got.ExecutorFailure != (lifecycle.Cause{}) || !got.FailedExecutorCreatedAt.IsZero() {
		t.Errorf("attempt %d remembers %+v", got.Attempt, got.ExecutorFailure)
	}
}
