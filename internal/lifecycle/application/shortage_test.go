package application

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// executorNumbers returns a change that sets an application's initial and minimum numbers of executors.
func executorNumbers(initial, least int32) func(*lifecycle.App) {
	return func(a *lifecycle.App) { a.InitialExecutors, a.MinExecutors = initial, least }
}

func shortSince(seconds int) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.ShortSince = at(seconds) }
}

// remembers returns a change of a memory that sets its cause.
func remembers(reason, message string) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: reason, Message: message} }
}

// TestExecutorsThatAreNotMade checks when the operator sends a probe because executors are missing: after 5 s, or after
// 10 s if there is no executor yet. The answer to the probe must become the wait reason.
func TestExecutorsThatAreNotMade(t *testing.T) {
	ask := []lifecycle.Action{{Verb: lifecycle.Confirm, Part: lifecycle.Executors, Attempt: 1}}
	quota := lifecycle.Cause{Reason: "QuotaExceeded", Message: "used 3"}
	reported := lifecycle.Cause{Reason: "QuotaExceeded", Message: "executors cannot be created: used 3"}
	unexplained := lifecycle.Cause{Reason: lifecycle.ReasonExecutorsMissing,
		Message: "fewer executors exist than the driver wants (status.executors has the counts), and the API server would " +
			"create another: read the driver's log for failed requests; a program that has stopped its SparkContext needs no executors"}
	runs := func(phases ...lifecycle.DriverPhase) lifecycle.Observed {
		return withExecutors(driver(lifecycle.DriverRunning, readyAt(7)), phases...)
	}
	madeAt := func(o lifecycle.Observed, seconds int) lifecycle.Observed {
		for i := range o.Executors {
			o.Executors[i].CreatedAt = at(seconds)
		}
		return o
	}
	seenShort := func(o lifecycle.Observed, seconds int) lifecycle.Observed {
		o.ShortSince = at(seconds)
		return o
	}
	answered := func(o lifecycle.Observed, answer lifecycle.Cause) lifecycle.Observed {
		o.ProbeResult = &answer
		return o
	}
	skipped := func(o lifecycle.Observed) lifecycle.Observed {
		o.ProbeResult, o.QuerySkipped = &lifecycle.Cause{}, true
		return o
	}
	waits := func(o lifecycle.Observed, reason string) lifecycle.Observed {
		o.Executors[0].Why = lifecycle.Cause{Reason: reason, Message: "m"}
		return o
	}

	const running, pending, failed, unknown = lifecycle.DriverRunning, lifecycle.DriverPending, lifecycle.DriverFailed,
		lifecycle.DriverUnknown
	for _, c := range []struct {
		name     string
		app      lifecycle.App
		m        lifecycle.Memory
		seen     lifecycle.Observed
		do       []lifecycle.Action
		check    time.Duration
		short    int // seconds; -1 means enough
		cause    lifecycle.Cause
		reported bool
	}{
		{"the driver has just become ready", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Started), runs(), nil,
			startupQueryDelay, 60, lifecycle.Cause{}, false},
		{"no executor for 3 s", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(57)), runs(), nil,
			7 * second, 57, lifecycle.Cause{}, false},
		{"no executor for 10 s", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(50)), runs(), ask,
			4 * second, 50, lifecycle.Cause{}, false},
		{"no executor for minutes", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(-240)), runs(),
			ask, 20 * second, -240, lifecycle.Cause{}, false},
		{"no executor for hours", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(-9000)), runs(),
			ask, time.Minute, -9000, lifecycle.Cause{}, false},
		{"the clock was set back", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(90)), runs(),
			nil, startupQueryDelay, 60, lifecycle.Cause{}, false},
		{"the probe is accepted", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(50)),
			answered(runs(), lifecycle.Cause{}), nil, 4 * second, 50, lifecycle.Cause{}, false},
		{"a quota rejects the probe", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Ready, shortSince(50)),
			answered(runs(), quota), nil, 4 * second, 50, reported, true},
		{"the same quota rejected the last probe", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Ready, shortSince(50), remembers("QuotaExceeded", "used 2")), answered(runs(), quota),
			nil, 4 * second, 50,
			lifecycle.Cause{Reason: "QuotaExceeded", Message: "used 2"}, false},
		{"the quota no longer rejects the probe", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Ready, shortSince(50), remembers("QuotaExceeded", "used 2")),
			answered(runs(), lifecycle.Cause{}), nil, 4 * second, 50,
			lifecycle.Cause{}, false},
		{"the reason of the rejection has changed", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Ready, shortSince(50), remembers("Forbidden", "f")), answered(runs(), quota), nil,
			4 * second, 50, reported, true},
		{"one of two for 5 s", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Scaling, shortSince(55)),
			runs(running), ask, 4 * second, 55, lifecycle.Cause{}, false},
		{"one of two", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Scaling, shortSince(50)), runs(running), ask,
			4 * second, 50, lifecycle.Cause{}, false},
		{"one of two is pending", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Scaling, shortSince(50)),
			runs(running, pending), nil, 0, -1, lifecycle.Cause{}, false},
		{"one of two has ended", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Scaling, shortSince(50)),
			runs(running, failed), ask, 4 * second, 50, lifecycle.Cause{}, false},
		{"the node of one of two is lost", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Scaling, shortSince(50)),
			runs(running, unknown), nil, 0, -1, lifecycle.Cause{}, false},
		{"an executor was created 2 s ago", appWith(executorNumbers(9, 9)), memoryIn(lifecycle.Scaling, shortSince(50)),
			madeAt(runs(running), 58), nil, 3 * second, 58, lifecycle.Cause{}, false},
		{"an executor was created before the shortage", appWith(executorNumbers(9, 9)),
			memoryIn(lifecycle.Scaling, shortSince(50)), madeAt(runs(running), 40), ask, 4 * second, 50,
			lifecycle.Cause{}, false},
		{"an executor was created in the future", appWith(executorNumbers(9, 9)),
			memoryIn(lifecycle.Scaling, shortSince(50)), madeAt(runs(running), 90000), ask, 4 * second, 50,
			lifecycle.Cause{}, false},
		{"an executor was created, and the quota is already reported", appWith(executorNumbers(9, 9)),
			memoryIn(lifecycle.Scaling, shortSince(50), remembers("QuotaExceeded", "q")), madeAt(runs(running), 58),
			ask, 4 * second, 50,
			lifecycle.Cause{}, false},
		{"enough executors after a reported quota", appWith(executorNumbers(1, 1)),
			memoryIn(lifecycle.Scaling, shortSince(50), remembers("QuotaExceeded", "q")), runs(running), nil, 0, -1,
			lifecycle.Cause{}, false},
		{"one waits for a node, and another does not exist", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Scaling, shortSince(50)), waits(runs(pending), "Unschedulable"), nil, 0, 50,
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec waits: m"}, true},
		{"an executor of a running application has just ended", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running), runs(running), nil, shortageQueryDelay, 60, lifecycle.Cause{}, false},
		{"an observed shortage of 3 s that is not stored", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running),
			seenShort(runs(running), 57), nil, 2 * second, 57, lifecycle.Cause{}, false},
		{"an observed shortage of 5 s that is not stored", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running),
			seenShort(runs(running), 55), ask, 4 * second, 55, lifecycle.Cause{}, false},
		{"an observed shortage in the future", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running),
			seenShort(runs(running), 90), nil, shortageQueryDelay, 60, lifecycle.Cause{}, false},
		{"a stored shortage has priority over an observed one", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(57)), seenShort(runs(running), 50), nil, 2 * second, 57,
			lifecycle.Cause{}, false},
		{"the executor was replaced", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running),
			seenShort(runs(running, running), 50), nil, 0, -1, lifecycle.Cause{}, false},
		{"a quota rejects the probe of a running application", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(50)), answered(runs(running), quota), nil, 4 * second, 50,
			reported, true},
		{"no answer about another executor of a running application", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(50)), skipped(runs(running)), nil, 4 * second, 50, lifecycle.Cause{},
			false},
		{"no answer, and another process found a quota", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(50), remembers("QuotaExceeded", "q")), skipped(runs(running)), nil,
			4 * second, 50, lifecycle.Cause{Reason: "QuotaExceeded", Message: "q"}, false},
		{"the API server would accept another executor of a running application", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(30)), answered(runs(running), lifecycle.Cause{}), nil,
			4 * second, 30, unexplained, true},
		{"it would, and the driver may be stopping", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(50)), answered(runs(running), lifecycle.Cause{}), nil,
			4 * second, 50, lifecycle.Cause{}, false},
		{"the unexplained shortage is reported in 2 s", appWith(executorNumbers(2, 2)),
			memoryIn(lifecycle.Running, shortSince(32)), answered(runs(running), lifecycle.Cause{}), nil,
			2 * second, 32, lifecycle.Cause{}, false},
		{"dead executors count as completed, and nothing explains why none follows", appWith(executorNumbers(1, 1)),
			memoryIn(lifecycle.Running, shortSince(30)),
			answered(runs(lifecycle.DriverSucceeded), lifecycle.Cause{}), nil, 4 * second, 30, unexplained, true},
		{"dynamic allocation has removed executors", appWith(executorNumbers(5, 1)), memoryIn(lifecycle.Running),
			runs(running), nil, 0, -1, lifecycle.Cause{}, false},
		{"dynamic allocation has removed all executors", appWith(executorNumbers(5, 0)), memoryIn(lifecycle.Running),
			runs(), nil, 0, -1, lifecycle.Cause{}, false},
		{"no executors are wanted", appWith(), memoryIn(lifecycle.Started), runs(), nil, 0, -1, lifecycle.Cause{},
			false},
		{"the driver is being deleted", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running, shortSince(50)),
			driver(running, readyAt(7), deleting), nil, 0, 50,
			lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting,
				Message: "driver pod app-driver is being deleted"}, true},
		{"the driver's node is lost", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running, shortSince(50)),
			driver(unknown), nil, 0, -1, lifecycle.Cause{Reason: lifecycle.ReasonNodeLost,
				Message: "the driver's node does not answer"}, false},
		{"the driver has ended", appWith(executorNumbers(2, 2)), memoryIn(lifecycle.Running, shortSince(50)),
			driver(lifecycle.DriverSucceeded), nil, 0, -1, lifecycle.Cause{}, false},
	} {
		plan := Step(c.app, c.m, c.seen, at(60))
		checkPlan(t, c.app, c.m, c.seen, at(60), plan)

		short := time.Time{}
		if c.short != -1 {
			short = at(c.short)
		}

		if !plan.Next.ShortSince.Equal(short) || plan.RequeueAfter != c.check {
			t.Errorf("%s: short since %s, want %s; check %s, want %s", c.name, plan.Next.ShortSince, short,
				plan.RequeueAfter, c.check)
		}

		if diff := cmp.Diff(c.do, plan.Actions); diff != "" {
			t.Errorf("%s: actions (-want +got):\n%s", c.name, diff)
		}
		// The memory of a plan that requests a probe is never stored.
		if diff := cmp.Diff(c.cause, plan.Next.Cause); diff != "" && !slices.Equal(plan.Actions, ask) {
			t.Errorf("%s: cause (-want +got):\n%s", c.name, diff)
		}

		if reported := len(plan.Notices) > 0; reported != c.reported {
			t.Errorf("%s: reported %v", c.name, plan.Notices)
		}
	}
}

// TestShortageIsToldOnce checks that a shortage of executors leads to one event and one cause, however long it lasts
// and however the numbers in the quota's message change. If the shortage ends and a new one begins, the new one is
// reported.
func TestShortageIsToldOnce(t *testing.T) {
	app, m, reported := appWith(executorNumbers(4, 4)), memoryIn(lifecycle.Started), 0
	seen := driver(lifecycle.DriverRunning, readyAt(7))

	pass := func(seconds int, used string) {
		t.Helper()

		seen.ProbeResult = nil

		plan := Step(app, m, seen, at(seconds))
		if slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Part == lifecycle.Executors }) {
			seen.ProbeResult = &lifecycle.Cause{}
			if used != "" {
				seen.ProbeResult = &lifecycle.Cause{Reason: "QuotaExceeded", Message: used}
			}

			plan = Step(app, m, seen, at(seconds))
		}

		checkPlan(t, app, m, seen, at(seconds), plan)
		m, reported = plan.Next, reported+len(plan.Notices)
	}
	for i, used := range []string{"used 0", "used 1", "used 2", "used 2", "used 2"} {
		pass(10*i, used)

		if i < 2 { // with room for two only
			seen = withExecutors(seen, lifecycle.DriverRunning)
			seen.Executors[len(seen.Executors)-1].CreatedAt = at(10*i + 1)
		}
	}

	if reported != 1 || m.Cause.Reason != "QuotaExceeded" || m.Phase != lifecycle.Scaling {
		t.Fatalf("reported %d times; %s, %+v", reported, m.Phase, m.Cause)
	}

	pass(100, "")

	seen = withExecutors(seen, lifecycle.DriverRunning, lifecycle.DriverRunning)

	pass(110, "")

	if reported != 1 || m.Cause != (lifecycle.Cause{}) || m.Phase != lifecycle.Running || !m.ShortSince.IsZero() {
		t.Fatalf("with enough executors: reported %d times; %+v", reported, m)
	}

	seen.Executors[0].Phase = lifecycle.DriverFailed

	pass(120, "used 3")
	pass(130, "used 3")
	pass(140, "used 3")

	if reported != 2 || m.Cause.Reason != "QuotaExceeded" || m.Phase != lifecycle.Running {
		t.Errorf("after the second shortage: reported %d times; %+v", reported, m)
	}
}

// TestRampUpAsksNobody checks that the operator sends no probe while Spark creates executors one after the other,
// however many there are.
func TestRampUpAsksNobody(t *testing.T) {
	const all = 300
	app, m := appWith(executorNumbers(all, all)), memoryIn(lifecycle.Ready)

	seen := driver(lifecycle.DriverRunning, readyAt(0))
	for i := range all {
		seen = withExecutors(seen, lifecycle.DriverRunning)
		seen.Executors[i].CreatedAt = at(i)

		plan := Step(app, m, seen, at(i+1))
		if len(plan.Actions) > 0 {
			t.Fatalf("after %d s it does %v", i, plan.Actions)
		}

		m = plan.Next
	}

	if m.Phase != lifecycle.Running {
		t.Errorf("phase %s", m.Phase)
	}
}
