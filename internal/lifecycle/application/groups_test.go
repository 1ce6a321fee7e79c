package application

import (
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestGroupGoesWithTheRun checks when the operator deletes the object by which a batch scheduler reserves capacity. It
// does so after the driver has ended, even if the pods of the driver and the executors still exist, but not earlier.
func TestGroupGoesWithTheRun(t *testing.T) {
	group := func(o lifecycle.Observed, attempts ...int32) lifecycle.Observed {
		o.Groups, o.RemainingAttempts = attempts, attempts
		return o
	}
	retained := memoryIn(lifecycle.Retained)
	waiting := memoryIn(lifecycle.Waiting)

	waiting.Outcome, waiting.EndedAt, waiting.NextAttempt = lifecycle.Failed, at(50), at(60)
	for _, c := range []struct {
		name string
		app  lifecycle.App
		mem  lifecycle.Memory
		seen lifecycle.Observed
		want bool
	}{
		{"launched", appWith(), memoryIn(lifecycle.Launched), group(driver(lifecycle.DriverPending), 1), false},
		{"launched, before the driver is observed", appWith(), memoryIn(lifecycle.Launched), group(nothing, 1), false},
		{"the driver runs", appWith(), memoryIn(lifecycle.Running), group(driver(lifecycle.DriverRunning), 1), false},
		{"the driver's node does not respond", appWith(), memoryIn(lifecycle.Running),
			group(driver(lifecycle.DriverUnknown), 1), false},
		{"the driver has succeeded, and no attempt follows", appWith(), retained,
			group(driver(lifecycle.DriverSucceeded), 1), true},
		{"the driver has failed, and no attempt follows", appWith(), retained,
			group(driver(lifecycle.DriverFailed), 1), true},
		{"the driver and its executors have ended", appWith(), retained,
			group(withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverSucceeded), 1), true},
		{"the group is already deleted", appWith(), retained, driver(lifecycle.DriverSucceeded), false},
		{"the group of another attempt", appWith(), retained, group(driver(lifecycle.DriverSucceeded), 2), false},
		{"the next attempt waits for the restart interval", appWith(retries(1)), waiting,
			group(driver(lifecycle.DriverFailed), 1), true},
	} {
		plan := Step(c.app, c.mem, c.seen, at(58))
		if got := slices.Contains(plan.Actions, removeExecutors); got != c.want {
			t.Errorf("%s: %v", c.name, plan.Actions)
		}

		if c.want && plan.RequeueAfter <= 0 {
			t.Errorf("%s: no pass is requested after the deletion", c.name)
		}
	}
	// A rejected deletion is not requested again in the same pass.
	seen := group(driver(lifecycle.DriverSucceeded), 1)

	seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	if plan := Step(appWith(), retained, seen, at(58)); slices.Contains(plan.Actions, removeExecutors) {
		t.Errorf("after a rejected deletion: %v", plan.Actions)
	}
}
