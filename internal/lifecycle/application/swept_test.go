package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestAttemptsAreSweptInParts checks pods that have the labels of thousands of attempts. One decision must not request
// thousands of deletions.
func TestAttemptsAreSweptInParts(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const attempts = 5000

	var seen lifecycle.Observed
	for i := range int32(attempts) {
		seen.Executors = append(seen.Executors,
			lifecycle.Executor{Name: "e", Attempt: i, Phase: lifecycle.DriverRunning})
		seen.RemainingAttempts = append(seen.RemainingAttempts, i)
	}

	seen.Drivers = []lifecycle.Driver{{Name: "d", Attempt: attempts, Phase: lifecycle.DriverRunning}}
	app := lifecycle.App{UID: "u", Deleting: false}
	mem := lifecycle.Memory{Phase: lifecycle.Running, Attempt: attempts, AttemptID: "i"}

	deleted := map[int32]bool{}
	for range attempts/maxDeletedAttempts + 1 {
		plan := Step(app, mem, seen, now)
		if len(plan.Actions) > 2*maxDeletedAttempts {
			t.Fatalf("%d actions", len(plan.Actions))
		}

		for _, action := range plan.Actions {
			if action.Verb == lifecycle.Delete {
				deleted[action.Attempt] = true
			}
		}

		gone := func(attempt int32) bool { return deleted[attempt] }
		seen.RemainingAttempts = keep(seen.RemainingAttempts, func(attempt int32) bool { return !gone(attempt) })
		seen.Executors = keep(seen.Executors, func(e lifecycle.Executor) bool { return !gone(e.Attempt) })
	}

	if len(seen.RemainingAttempts) > 0 || len(deleted) != attempts {
		t.Errorf("%d attempts were deleted of %d", len(deleted), attempts)
	}
}

func keep[T any](all []T, wanted func(T) bool) (kept []T) {
	for _, action := range all {
		if wanted(action) {
			kept = append(kept, action)
		}
	}
	return kept
}
