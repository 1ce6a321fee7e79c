package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func budgeted(a *lifecycle.App) { a.Budget = true }

// withBudgets adds budgets of the given attempts to an observation. It also adds these attempts to those that have
// remaining objects.
func withBudgets(o lifecycle.Observed, attempts ...int32) lifecycle.Observed {
	o.Budgets = attempts
	o.RemainingAttempts = append(o.RemainingAttempts, attempts...)
	return o
}

func TestBudget(t *testing.T) {
	make1 := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.DriverBudget, Attempt: 1}
	drop1 := lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.DriverBudget, Attempt: 1}
	runs := func(change ...func(*lifecycle.Driver)) lifecycle.Observed {
		return driver(lifecycle.DriverRunning, append(change, readyAt(7))...)
	}

	with := func(o lifecycle.Observed, cause string) lifecycle.Observed {
		o.Rejection = &lifecycle.Cause{Reason: cause, Message: "no"}
		return o
	}
	for _, c := range []struct {
		name  string
		app   lifecycle.App
		m     lifecycle.Memory
		seen  lifecycle.Observed
		do    []lifecycle.Action
		check time.Duration
	}{
		{"the driver is pending", appWith(budgeted), memoryIn(lifecycle.Launched), driver(lifecycle.DriverPending),
			acts(make1), repeatDelay},
		{"the driver runs", appWith(budgeted), memoryIn(lifecycle.Running), runs(), acts(make1), repeatDelay},
		{"the budget exists", appWith(budgeted), memoryIn(lifecycle.Running), withBudgets(runs(), 1), nil, 0},
		{"no budget is requested", appWith(), memoryIn(lifecycle.Running), runs(), nil, 0},
		{"a budget is no longer requested", appWith(), memoryIn(lifecycle.Running), withBudgets(runs(), 1), acts(drop1),
			repeatDelay},
		{"the driver is being deleted", appWith(budgeted), memoryIn(lifecycle.Running), runs(deleting), nil, 0},
		{"the driver is being deleted and has a budget", appWith(budgeted), memoryIn(lifecycle.Running),
			withBudgets(runs(deleting), 1), nil, 0},
		{"the driver's node is lost", appWith(budgeted), memoryIn(lifecycle.Unknown),
			withBudgets(driver(lifecycle.DriverUnknown), 1), nil, 0},
		{"the budget was rejected", appWith(budgeted), memoryIn(lifecycle.Running), with(runs(), "QuotaExceeded"), nil,
			repeatDelay},
		{"the deletion of the budget was rejected", appWith(), memoryIn(lifecycle.Running),
			with(withBudgets(runs(), 1), "Forbidden"), nil, repeatDelay},
		{"a launch", appWith(budgeted), lifecycle.Memory{}, nothing, acts(create(1)), 10 * second},
		{"not seen yet", appWith(budgeted), memoryIn(lifecycle.Launched), nothing, nil, 9 * second},
		{"the driver succeeded", appWith(budgeted), memoryIn(lifecycle.Running),
			withBudgets(driver(lifecycle.DriverSucceeded), 1), acts(drop1), repeatDelay},
		{"the driver succeeded and has no budget", appWith(budgeted), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded), nil, 0},
		{"the driver of a retained application has a budget", appWith(budgeted),
			memoryIn(lifecycle.Retained, outcome(lifecycle.Succeeded, "", 50)),
			withBudgets(driver(lifecycle.DriverSucceeded), 1),
			acts(drop1), repeatDelay},
		{"a retry waits", appWith(budgeted, retries(1)),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(90)),
			withBudgets(driver(lifecycle.DriverFailed), 1), acts(drop1), repeatDelay},
		{"the run exceeds its deadline", appWith(budgeted, func(a *lifecycle.App) { a.Deadlines.Run = second }),
			memoryIn(lifecycle.Running), live(withBudgets(runs(), 1)), acts(stop(1)), repeatDelay},
		{"the application is suspended", appWith(budgeted, suspended), memoryIn(lifecycle.Running),
			withBudgets(runs(), 1), acts(stop(1)), repeatDelay},
		{"the application is deleted", appWith(budgeted, func(a *lifecycle.App) { a.Deleting = true }),
			memoryIn(lifecycle.Running), withBudgets(runs(), 1), acts(remove(1)), repeatDelay},
		{"an older attempt has a budget too", appWith(budgeted),
			memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.Attempt = 2 }),
			withBudgets(runs(attempt(2)), 1, 2), acts(remove(1)), repeatDelay},
	} {
		now := at(60)
		if c.name == "not seen yet" {
			now = at(1)
		}

		plan := stored(t, c.app, c.m, c.seen, now)
		if diff := cmp.Diff(c.do, plan.Actions); diff != "" || plan.RequeueAfter != c.check {
			t.Errorf("%s: check %s, want %s; actions (-want +got):\n%s", c.name, plan.RequeueAfter, c.check, diff)
		}
	}
}

// TestBudgetIsNoObstacle checks that an application runs normally if the API server rejects its budget.
func TestBudgetIsNoObstacle(t *testing.T) {
	seen := driver(lifecycle.DriverRunning, readyAt(7))
	seen.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "no"}

	plan := Step(appWith(budgeted), memoryIn(lifecycle.Launched), seen, at(60))
	if plan.Next.Phase != lifecycle.Running || plan.Next.Cause != (lifecycle.Cause{}) || len(plan.Notices) > 0 {
		t.Errorf("phase %s, cause %+v, reported %v", plan.Next.Phase, plan.Next.Cause, plan.Notices)
	}
}
