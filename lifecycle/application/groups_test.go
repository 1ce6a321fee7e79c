package application

import (
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestGroupGoesWithTheRun checks when the object by which a batch scheduler reserves capacity is deleted: after the
// driver has ended, even if the pods of the driver and the executors still exist, but not earlier.
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
		{"launched, and the driver is not seen yet", appWith(), memoryIn(lifecycle.Launched), group(nothing, 1), false},
		{"it runs", appWith(), memoryIn(lifecycle.Running), group(driver(lifecycle.DriverRunning), 1), false},
		{"its node is silent", appWith(), memoryIn(lifecycle.Running), group(driver(lifecycle.DriverUnknown), 1), false},
		{"it has ended, for good", appWith(), retained, group(driver(lifecycle.DriverSucceeded), 1), true},
		{"it has failed, for good", appWith(), retained, group(driver(lifecycle.DriverFailed), 1), true},
		{"it has ended, and its executors too", appWith(), retained, group(withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverSucceeded), 1), true},
		{"it is gone already", appWith(), retained, driver(lifecycle.DriverSucceeded), false},
		{"that of another attempt", appWith(), retained, group(driver(lifecycle.DriverSucceeded), 2), false},
		{"the next attempt waits for its time", appWith(retries(1)), waiting, group(driver(lifecycle.DriverFailed), 1), true},
	} {
		plan := Step(c.app, c.mem, c.seen, at(58))
		if got := slices.Contains(plan.Actions, removeExecutors); got != c.want {
			t.Errorf("%s: %v", c.name, plan.Actions)
		}
		if c.want && plan.RequeueAfter <= 0 {
			t.Errorf("%s: nobody looks whether it went", c.name)
		}
	}
	// A rejected deletion is not requested again in the same pass.
	seen := group(driver(lifecycle.DriverSucceeded), 1)
	seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	if plan := Step(appWith(), retained, seen, at(58)); slices.Contains(plan.Actions, removeExecutors) {
		t.Errorf("after a refusal: %v", plan.Actions)
	}
}
