package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// longShortages are shortages of executors that began at 50 s. At 60 s, the current time of most tests, they have
// lasted for longer than shortageGrace.
var longShortages = lifecycle.Shortages{Min: at(50), Max: at(50)}

// withShortages sets the shortages of an observation to longShortages.
func withShortages(o lifecycle.Observed) lifecycle.Observed {
	o.Shortages = longShortages
	return o
}

// running returns an observation with the given number of running executors and a driver that became Ready at 7 s.
func running(n int) lifecycle.Observed {
	o := driver(lifecycle.DriverRunning, readyAt(7))
	for range n {
		o = withExecutors(o, lifecycle.DriverRunning)
	}
	return o
}

// TestThresholds checks the phase of a Ready driver for different numbers of executors and earlier phases. Every
// shortage has lasted for long enough to change the phase, and enough executors ran before.
func TestThresholds(t *testing.T) {
	const ready, scaling, healthy, partial, below = lifecycle.Ready, lifecycle.Scaling, lifecycle.Running,
		lifecycle.Partial, lifecycle.Below
	type limits = lifecycle.Thresholds

	all, dynamic := limits{Init: 2, Min: 1, Max: 3}, limits{Init: 2, Min: 1, Max: 3, Dynamic: true}
	for _, c := range []struct {
		name   string
		limits limits
		from   lifecycle.Phase
		want   [5]lifecycle.Phase // with 0 to 4 executors
	}{
		{"no thresholds", limits{}, ready, [5]lifecycle.Phase{healthy, healthy, healthy, healthy, healthy}},
		{"at the start, before any executor", all, ready,
			[5]lifecycle.Phase{ready, scaling, partial, healthy, healthy}},
		{"at the start, after the first executor", all, scaling,
			[5]lifecycle.Phase{scaling, scaling, partial, healthy, healthy}},
		{"after the start", all, healthy, [5]lifecycle.Phase{below, partial, partial, healthy, healthy}},
		{"in the phase Partial", all, partial, [5]lifecycle.Phase{below, partial, partial, healthy, healthy}},
		{"in the phase Below", all, below, [5]lifecycle.Phase{below, partial, partial, healthy, healthy}},
		{"dynamic: at the start", dynamic, ready, [5]lifecycle.Phase{ready, scaling, healthy, healthy, healthy}},
		{"dynamic: after the start", dynamic, healthy, [5]lifecycle.Phase{below, healthy, healthy, healthy, healthy}},
		{"no initial executors, a minimum", limits{Min: 2}, ready,
			[5]lifecycle.Phase{healthy, healthy, healthy, healthy, healthy}},
		{"no initial executors, a maximum", limits{Max: 2}, ready,
			[5]lifecycle.Phase{healthy, healthy, healthy, healthy, healthy}},
		{"no initial executors, a minimum and a maximum", limits{Min: 1, Max: 2}, healthy,
			[5]lifecycle.Phase{below, partial, healthy, healthy, healthy}},
		{"no minimum", limits{Init: 2}, healthy, [5]lifecycle.Phase{healthy, healthy, healthy, healthy, healthy}},
		{"fewer initial executors than the minimum", limits{Init: 1, Min: 2}, ready,
			[5]lifecycle.Phase{ready, below, healthy, healthy, healthy}},
	} {
		for n, want := range c.want {
			app := secondFamily(thresholds(0, 0, 0))
			app.Thresholds = &c.limits

			mem := memoryIn(c.from)
			if c.from.Runs() {
				mem.EnoughExecutors = 3
			}

			seen := withShortages(running(n))
			plan := Step(app, mem, seen, at(60))
			checkPlan(t, app, mem, seen, at(60), plan)

			if plan.Next.Phase != want {
				t.Errorf("%s: from %s with %d executors: %s, want %s", c.name, c.from, n, plan.Next.Phase, want)
			}

			if entered := len(plan.Transitions); entered > 1 || (entered == 1) != (want != c.from) {
				t.Errorf("%s: from %s with %d executors: %v", c.name, c.from, n, plan.Transitions)
			}
		}
	}
}

// TestLackGrace checks that a driver that had enough executors keeps its phase until the shortage has lasted for 5 s.
// The decision must request a pass at the end of these 5 s, and must record for each threshold since when too few
// executors run.
func TestLackGrace(t *testing.T) {
	const healthy, partial, below = lifecycle.Running, lifecycle.Partial, lifecycle.Below
	type lacks = lifecycle.Shortages

	app := secondFamily(thresholds(0, 1, 2))
	for _, c := range []struct {
		name  string
		from  lifecycle.Phase
		seen  lacks
		n     int
		want  lifecycle.Phase
		check time.Duration
		notes lacks
	}{
		{"enough", healthy, lacks{}, 2, healthy, 0, lacks{}},
		{"a shortage has ended", healthy, lacks{Min: at(57), Max: at(57)}, 2, healthy, 0, lacks{}},
		{"a new shortage", healthy, lacks{}, 0, healthy, 5 * second, lacks{Min: at(60), Max: at(60)}},
		{"a shortage of 3 s", healthy, lacks{Min: at(57), Max: at(57)}, 0, healthy, 2 * second,
			lacks{Min: at(57), Max: at(57)}},
		{"a shortage of 4 s", healthy, lacks{Min: at(56), Max: at(56)}, 0, healthy, second,
			lacks{Min: at(56), Max: at(56)}},
		{"a shortage of 5 s", healthy, lacks{Min: at(55), Max: at(55)}, 0, below, 0, lacks{Min: at(55)}},
		{"a shortage that began in the future", healthy, lacks{Min: at(99), Max: at(99)}, 0, healthy, 5 * second,
			lacks{Min: at(60), Max: at(60)}},
		{"fewer than the maximum for 2 s", healthy, lacks{Max: at(58)}, 1, healthy, 3 * second, lacks{Max: at(58)}},
		{"fewer than the maximum for 5 s", healthy, lacks{Max: at(55)}, 1, partial, 0, lacks{Max: at(55)}},
		{"fewer than the maximum for 4 s, and now fewer than the minimum", healthy, lacks{Max: at(56)}, 0, healthy,
			second, lacks{Min: at(60), Max: at(56)}},
		{"fewer than the maximum for 5 s, and fewer than the minimum for 1 s", healthy, lacks{Min: at(59), Max: at(55)},
			0, partial, 4 * second, lacks{Min: at(59), Max: at(55)}},
		{"Partial, and now fewer than the minimum", partial, lacks{}, 0, partial, 5 * second, lacks{Min: at(60)}},
		{"Partial, and fewer than the minimum for 5 s", partial, lacks{Min: at(55)}, 0, below, 0, lacks{Min: at(55)}},
		{"Below, and still fewer than the minimum", below, lacks{}, 0, below, 0, lacks{}},
		{"Below, and now the minimum", below, lacks{}, 1, partial, 0, lacks{}},
		{"Below, and now the maximum", below, lacks{}, 2, healthy, 0, lacks{}},
	} {
		mem, seen := memoryIn(c.from, enough(2)), running(c.n)
		seen.Shortages = c.seen
		plan := Step(app, mem, seen, at(60))
		checkPlan(t, app, mem, seen, at(60), plan)

		if plan.Next.Phase != c.want || plan.RequeueAfter != c.check || plan.Shortages != c.notes {
			t.Errorf("%s: %s, again in %s, notes %v; want %s, %s, %v", c.name, plan.Next.Phase, plan.RequeueAfter,
				plan.Shortages,
				c.want, c.check, c.notes)
		}
	}
}

// enough returns a change of a memory: at least n executors ran at the same time.
func enough(n int32) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.EnoughExecutors = n }
}

// TestShortageWithoutInitialExecutors checks that an application that waits for no initial executors is short of
// executors only after enough of them ran once, or after the time limit of their start. Executors that ended without an
// error are not missing, unless Spark requests others.
func TestShortageWithoutInitialExecutors(t *testing.T) {
	const starts, healthy, partial, below = lifecycle.Ready, lifecycle.Running, lifecycle.Partial, lifecycle.Below
	const runs, waits, succeeded, failed = lifecycle.DriverRunning, lifecycle.DriverPending, lifecycle.DriverSucceeded, lifecycle.DriverFailed

	ofStart := func(a *lifecycle.App) { a.Deadlines.ExecutorsStart = 100 * second }
	unlimited := func(a *lifecycle.App) { a.Deadlines.ExecutorsStart = 0 }
	pods := func(phases ...lifecycle.DriverPhase) []lifecycle.DriverPhase { return phases }

	for _, c := range []struct {
		name      string
		min, max  int32
		limit     func(*lifecycle.App)
		from      lifecycle.Phase
		enough    int32
		executors []lifecycle.DriverPhase
		released  int32
		at        int
		want      lifecycle.Phase
		check     time.Duration
		remembers int32
	}{
		{"a start before any executor", 2, 0, ofStart, starts, 0, nil, 0, 60, healthy, 47 * second, 0},
		{"one of two executors runs", 2, 0, ofStart, healthy, 0, pods(runs, waits), 0, 60, healthy, 47 * second, 0},
		{"the minimum runs", 2, 0, ofStart, healthy, 0, pods(runs, runs), 0, 60, healthy, 0, 2},
		{"the minimum runs, fewer than the maximum", 1, 3, ofStart, healthy, 0, pods(runs, runs), 0, 60, healthy, 47 * second, 1},
		{"the maximum runs", 1, 3, ofStart, healthy, 1, pods(runs, runs, runs), 0, 60, healthy, 0, 3},
		{"a loss soon after the start", 2, 0, ofStart, healthy, 2, pods(runs, failed), 0, 60, below, 0, 2},
		{"a loss below the maximum", 1, 3, ofStart, healthy, 3, pods(runs, runs, failed), 0, 60, partial, 0, 3},
		{"a loss below the maximum before it was reached", 1, 3, ofStart, healthy, 1, pods(runs), 0, 60, healthy, 47 * second, 1},
		{"the time limit of the start has passed", 2, 0, ofStart, healthy, 0, pods(runs, waits), 0, 107, below, 0, 0},
		{"the driver is first seen after that time", 2, 3, ofStart, starts, 0, nil, 0, 200, below, 0, 0},
		{"no time limit", 2, 0, unlimited, healthy, 0, pods(runs, waits), 0, 9000, healthy, 0, 0},
		{"no time limit, and a loss", 2, 0, unlimited, healthy, 2, pods(runs, waits), 0, 9000, below, 0, 2},
		{"Below stays until enough run", 2, 0, ofStart, below, 0, pods(runs, waits), 0, 60, below, 0, 0},
		{"Partial stays until enough run", 0, 2, ofStart, partial, 0, pods(runs, waits), 0, 60, partial, 0, 0},
		{"Below is over", 2, 0, ofStart, below, 0, pods(runs, runs), 0, 110, healthy, 0, 2},
		{"the program stopped Spark", 2, 0, ofStart, healthy, 2, pods(succeeded, succeeded), 0, 60, healthy, 0, 2},
		{"the program stopped Spark, and the pods are gone", 2, 3, ofStart, healthy, 3, nil, 3, 60, healthy, 0, 3},
		{"executors whose end was not observed", 2, 0, ofStart, healthy, 2, nil, 0, 60, below, 0, 2},
		{"one executor is being stopped", 2, 0, ofStart, healthy, 2, pods(runs), 1, 60, healthy, 0, 2},
		{"an executor ended without an error and is replaced", 2, 0, ofStart, healthy, 2, pods(runs, waits, succeeded), 1, 60, below, 0, 2},
		{"executors failed", 2, 0, ofStart, healthy, 2, pods(failed, failed), 0, 60, below, 0, 2},
	} {
		app := secondFamily(thresholds(0, c.min, c.max), c.limit)
		seen := withShortages(withExecutors(driver(lifecycle.DriverRunning, readyAt(7)), c.executors...))
		seen.Shortages.Min, seen.Shortages.Max, seen.Shortages.Released = at(c.at-10), at(c.at-10), c.released

		plan := Step(app, memoryIn(c.from, enough(c.enough)), seen, at(c.at))
		checkPlan(t, app, memoryIn(c.from, enough(c.enough)), seen, at(c.at), plan)

		if plan.Next.Phase != c.want || plan.RequeueAfter != c.check || plan.Next.EnoughExecutors != c.remembers {
			t.Errorf("%s: %s, again in %s, remembers %d; want %s, %s, %d", c.name, plan.Next.Phase, plan.RequeueAfter, plan.Next.EnoughExecutors, c.want, c.check, c.remembers)
		}
	}
}

// TestLackOfALostDriver checks that the grace time of a shortage, 5 s, starts again when the driver's lost node works
// again, and that no shortage is recorded for a driver that is not Ready.
func TestLackOfALostDriver(t *testing.T) {
	app, mem := secondFamily(thresholds(0, 1, 2)), memoryIn(lifecycle.Running, enough(2))

	lost := Step(app, mem, withShortages(driver(lifecycle.DriverUnknown)), at(60))
	if lost.Next.Phase != lifecycle.Unknown || lost.Shortages != (lifecycle.Shortages{}) {
		t.Errorf("lost: %s, notes %v", lost.Next.Phase, lost.Shortages)
	}

	back := Step(app, lost.Next, running(0), at(90))
	if want := (lifecycle.Shortages{Min: at(90), Max: at(90)}); back.Next.Phase != lifecycle.Running ||
		back.Shortages != want {
		t.Errorf("back: %s, notes %v, want %v", back.Next.Phase, back.Shortages, want)
	}

	if unready := Step(app, mem, withShortages(driver(lifecycle.DriverRunning)),
		at(60)); unready.Shortages != (lifecycle.Shortages{}) {
		t.Errorf("not Ready: notes %v", unready.Shortages)
	}
}

// TestWhichExecutorsCount checks that only executors of the current attempt that run now, or ended without an error,
// count.
func TestWhichExecutorsCount(t *testing.T) {
	app := secondFamily(thresholds(2, 2, 0))
	other := func(o lifecycle.Observed) lifecycle.Observed {
		o.Executors = append(o.Executors, lifecycle.Executor{Name: "e", Attempt: 2, Phase: lifecycle.DriverRunning})
		return o
	}
	ready := driver(lifecycle.DriverRunning, readyAt(7))
	run(t, []row{
		{"pending executors do not count", app, memoryIn(lifecycle.Ready),
			withExecutors(ready, lifecycle.DriverPending, lifecycle.DriverPending), at(60), want{check: 247 * second}},
		{"failed executors do not count", app, memoryIn(lifecycle.Running),
			withShortages(withExecutors(ready, lifecycle.DriverRunning, lifecycle.DriverFailed)), at(60),
			want{trail: phases(lifecycle.Below)}},
		{"executors that ended without an error do not count if another waits", app, memoryIn(lifecycle.Running),
			withShortages(withExecutors(ready, lifecycle.DriverRunning, lifecycle.DriverSucceeded,
				lifecycle.DriverPending)), at(60),
			want{trail: phases(lifecycle.Below)}},
		{"executors that ended without an error are not missing", app, memoryIn(lifecycle.Running),
			withShortages(withExecutors(ready, lifecycle.DriverRunning, lifecycle.DriverSucceeded,
				lifecycle.DriverFailed)), at(60), want{}},
		{"executors on a lost node do not count", app, memoryIn(lifecycle.Running),
			withShortages(withExecutors(ready, lifecycle.DriverRunning, lifecycle.DriverUnknown)), at(60),
			want{trail: phases(lifecycle.Below)}},
		{"a driver that is no longer Ready keeps its phase", app, memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning), at(60), want{}},
	})

	unready := running(2)

	unready.Executors[1].Unready = true
	if plan := Step(app, memoryIn(lifecycle.Running), withShortages(unready),
		at(60)); plan.Next.Phase != lifecycle.Below {
		t.Errorf("an executor that is not Ready counts: %s", plan.Next.Phase)
	}

	mem := memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.Attempt = 2 })

	seen := other(withExecutors(driver(lifecycle.DriverRunning, readyAt(7), attempt(2)), lifecycle.DriverRunning))
	if plan := Step(app, mem, withShortages(seen), at(60)); plan.Next.Phase != lifecycle.Below {
		t.Errorf("an executor of the attempt before counts: %s", plan.Next.Phase)
	}
}

// TestLackIsTold checks that the cause of the transition contains how many executors run and how many should run.
func TestLackIsTold(t *testing.T) {
	app := secondFamily(thresholds(0, 2, 3))
	for n, want := range map[int]lifecycle.Cause{
		1: {Reason: lifecycle.ReasonBelowThreshold, Message: "too few executors run: 1, the minimum is 2"},
		2: {Reason: lifecycle.ReasonPartialCapacity, Message: "2 of 3 executors run"},
	} {
		plan := Step(app, memoryIn(lifecycle.Running, enough(3)), withShortages(running(n)), at(60))
		if len(plan.Transitions) != 1 || plan.Transitions[0].Cause != want {
			t.Errorf("with %d: %v, want %v", n, plan.Transitions, want)
		}

		if plan.Next.Cause != (lifecycle.Cause{}) {
			t.Errorf("with %d executors: remembers %+v; a changing count must not be the stored cause", n,
				plan.Next.Cause)
		}
	}
}

// TestExecutorDeadlines checks the exact deadline for the start of the executors. With RestartAtScaling, its time
// starts again when the application enters Scaling.
func TestExecutorDeadlines(t *testing.T) {
	app := func(anew bool) lifecycle.App {
		return secondFamily(thresholds(2, 0, 0),
			func(a *lifecycle.App) { a.Deadlines.ExecutorsStart, a.Deadlines.RestartAtScaling = 100*second, anew })
	}
	scaling := memoryIn(lifecycle.Scaling, func(m *lifecycle.Memory) { m.Since = at(90) })
	timedOut := func() want {
		return want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: 2 * second,
			outcome: lifecycle.ExecutorsTimedOut, reason: lifecycle.ReasonExecutorsTimedOut}
	}
	run(t, []row{
		{"Ready: a second left, from the driver's readiness", app(true), memoryIn(lifecycle.Ready), running(0), at(106),
			want{check: second}},
		{"Ready: at the deadline", app(true), memoryIn(lifecycle.Ready), afterLiveRead(running(0)), at(107),
			timedOut()},
		{"Ready: the first executor starts at the deadline", app(true), memoryIn(lifecycle.Ready), running(1), at(107),
			want{trail: phases(lifecycle.Scaling), check: 100 * second}},
		{"restarted at Scaling: a second left", app(true), scaling, running(1), at(189), want{check: second}},
		{"restarted at Scaling: at the deadline", app(true), scaling, afterLiveRead(running(1)), at(190), timedOut()},
		{"restarted at Scaling: the executor no longer exists", app(true), scaling, running(0), at(189),
			want{check: second}},
		{"not restarted: a second left", app(false), scaling, running(1), at(106), want{check: second}},
		{"not restarted: at the deadline", app(false), scaling, afterLiveRead(running(1)), at(107), timedOut()},
		{"enough executors start at the deadline", app(true), scaling, running(2), at(190),
			want{trail: phases(lifecycle.Running)}},
		{"no deadline while the application runs", app(true), memoryIn(lifecycle.Below), running(0), at(9000),
			want{trail: phases(lifecycle.Running)}},
		{"no deadline without initial executors", secondFamily(thresholds(0, 3, 0)), memoryIn(lifecycle.Below),
			running(0), at(9000), want{}},
	})

	if plan := Step(app(true), memoryIn(lifecycle.Ready), afterLiveRead(running(0)),
		at(107)); plan.Next.Cause.Message != "fewer than 2 executors ran within 1m40s" {
		t.Errorf("message %q", plan.Next.Cause.Message)
	}
}

// TestLostNodeKeepsItsPlace checks that a driver continues from its earlier phase when its lost node works again, even
// if its executors no longer exist. The deadlines of the driver's start do not apply again. A shortage of executors is
// reported after its grace time.
func TestLostNodeKeepsItsPlace(t *testing.T) {
	app := secondFamily(thresholds(2, 2, 3))
	for _, before := range up {
		mem := memoryIn(before)
		seen := driver(lifecycle.DriverUnknown)
		plan := Step(app, mem, seen, at(60))
		checkPlan(t, app, mem, seen, at(60), plan)

		if plan.Next.Phase != lifecycle.Unknown || plan.Next.PhaseBeforeUnknown != before {
			t.Fatalf("from %s: %s before %q", before, plan.Next.Phase, plan.Next.PhaseBeforeUnknown)
		}

		lost := plan.Next
		if again := Step(app, lost, seen, at(70)); again.Next.PhaseBeforeUnknown != before {
			t.Errorf("a second pass in %s: phase before Unknown %q", before, again.Next.PhaseBeforeUnknown)
		}

		if edited := Step(lifecycle.App{UID: "uid"}, memoryIn(before), seen,
			at(60)); edited.Next.PhaseBeforeUnknown != lifecycle.New {
			t.Errorf("remembered without thresholds: %q", edited.Next.PhaseBeforeUnknown)
		}

		late := at(9000)
		seen = driver(lifecycle.DriverRunning, readyAt(8990))
		plan = Step(app, lost, seen, late)
		checkPlan(t, app, lost, seen, late, plan)

		want := map[lifecycle.Phase]lifecycle.Phase{lifecycle.Launched: lifecycle.Ready,
			lifecycle.Started: lifecycle.Ready}[before]
		switch {
		case before.Runs():
			want = before
		case want == lifecycle.New:
			want = before
		}

		if plan.Next.Phase != want || plan.Next.PhaseBeforeUnknown != lifecycle.New {
			t.Errorf("back from %s: %v", before, plan.Transitions)
		}
	}
}

// TestEnterMissedPhases checks which phases the state machine enters for a driver that ended before a pass observed it
// in these phases. The column "from" of the table contains the last observed phase.
func TestEnterMissedPhases(t *testing.T) {
	through := func(p ...lifecycle.Phase) []lifecycle.Phase {
		return append(p, lifecycle.Ended, lifecycle.Retained)
	}
	kept := retain(lifecycle.RetainAlways)
	family := func(change ...func(*lifecycle.App)) lifecycle.App { return secondFamily(append(change, kept)...) }
	const started, ready, healthy = lifecycle.Started, lifecycle.Ready, lifecycle.Running

	succeeded := driver(lifecycle.DriverSucceeded)
	for _, c := range []struct {
		name string
		app  lifecycle.App
		from lifecycle.Phase
		seen lifecycle.Observed
		want []lifecycle.Phase
	}{
		{"from Launched", family(), lifecycle.Launched, succeeded, through(started, ready, healthy)},
		{"from Started", family(), started, succeeded, through(ready, healthy)},
		{"from Ready", family(), ready, succeeded, through(healthy)},
		{"from Running", family(), healthy, succeeded, through()},
		{"without EnterMissedPhases", appWith(), lifecycle.Launched, succeeded, through()},
		{"evicted", family(), lifecycle.Launched, driver(lifecycle.DriverFailed, evicted),
			through(started, ready, healthy)},
		{"the start time is unknown", family(), lifecycle.Launched,
			driver(lifecycle.DriverFailed, func(d *lifecycle.Driver) { d.StartedAt = time.Time{} }), through()},
		{"a start time of 1970", family(), lifecycle.Launched,
			driver(lifecycle.DriverFailed, func(d *lifecycle.Driver) { d.StartedAt = time.Unix(0, 0) }), through()},
		{"two initial executors, and none observed", family(thresholds(2, 0, 0)), lifecycle.Launched, succeeded,
			through(started, ready)},
		{"two initial executors, and one observed", family(thresholds(2, 0, 0)), lifecycle.Launched,
			withExecutors(succeeded, lifecycle.DriverSucceeded), through(started, ready, lifecycle.Scaling)},
		{"two initial executors, and two observed", family(thresholds(2, 0, 0)), lifecycle.Launched,
			withExecutors(succeeded, lifecycle.DriverSucceeded, lifecycle.DriverSucceeded),
			through(started, ready, healthy)},
		{"a minimum, and no executor observed", family(thresholds(0, 1, 0)), lifecycle.Launched, succeeded,
			through(started, ready, healthy)},
		{"a minimum, and the initial executors observed", family(thresholds(1, 1, 2)), lifecycle.Scaling,
			withExecutors(succeeded, lifecycle.DriverSucceeded), through(healthy)},
		{"from Running, with a minimum", family(thresholds(0, 1, 0)), healthy, succeeded, through()},
		{"without thresholds", appWith(func(a *lifecycle.App) { a.EnterMissedPhases = true }), lifecycle.Launched,
			succeeded, through(started, ready, healthy)},
		{"without thresholds, and two initial executors",
			appWith(func(a *lifecycle.App) { a.EnterMissedPhases, a.InitialExecutors = true, 2 }), lifecycle.Launched,
			succeeded,
			through(started, ready)},
		{"without thresholds, and one of two initial executors observed",
			appWith(func(a *lifecycle.App) { a.EnterMissedPhases, a.InitialExecutors = true, 2 }), lifecycle.Launched,
			withExecutors(succeeded, lifecycle.DriverSucceeded), through(started, ready, lifecycle.Scaling)},
	} {
		mem := memoryIn(c.from)
		plan := Step(c.app, mem, c.seen, at(60))
		checkPlan(t, c.app, mem, c.seen, at(60), plan)

		var got []lifecycle.Phase
		for _, tr := range plan.Transitions {
			got = append(got, tr.To)
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
