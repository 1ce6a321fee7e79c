package application

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

const second = time.Second

// appWith returns an application with the spec hash 1:a, a MissingGrace of 10 s, and the given changes.
func appWith(change ...func(*lifecycle.App)) lifecycle.App {
	app := lifecycle.App{UID: "uid", SpecHash: "1:a", MissingGrace: 10 * second,
		Restart: lifecycle.Restart{Policy: lifecycle.Never}}
	for _, c := range change {
		c(&app)
	}
	return app
}

func suspended(a *lifecycle.App) { a.Suspend = true }
func edited(a *lifecycle.App)    { a.SpecHash, a.Edited = "1:b", true }

func retries(n int32) func(*lifecycle.App) {
	return func(a *lifecycle.App) {
		a.Restart = lifecycle.Restart{
			Policy: lifecycle.OnFailure, FailureRetries: n, SubmissionRetries: n, FailureInterval: 10 * second,
			SubmissionInterval: 20 * second,
		}
	}
}

func always(a *lifecycle.App) {
	a.Restart = lifecycle.Restart{Policy: lifecycle.Always, FailureInterval: 10 * second,
		SubmissionInterval: 20 * second}
}

// memoryIn returns the memory of attempt 1, which was launched at t0 and is in the given phase.
func memoryIn(phase lifecycle.Phase, change ...func(*lifecycle.Memory)) lifecycle.Memory {
	m := lifecycle.Memory{
		Phase: phase, Since: t0, Attempt: 1, AttemptID: lifecycle.AttemptID("uid", 1), SpecHash: "1:a", Runs: 1,
		Submissions: 1, SubmittedAt: t0,
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func outcome(o lifecycle.Outcome, reason string, end int) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) {
		m.Outcome, m.Cause, m.EndedAt = o, lifecycle.Cause{Reason: reason, Message: "m"}, at(end)
	}
}

// withRuns returns a change of a memory. The change sets the number of runs, and how many of these were suspended.
func withRuns(runs, suspended int32) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.Runs, m.Submissions, m.SuspendedRuns = runs, runs, suspended }
}

func due(seconds int) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.NextAttempt = at(seconds) }
}

func driver(phase lifecycle.DriverPhase, change ...func(*lifecycle.Driver)) lifecycle.Observed {
	d := lifecycle.Driver{Name: "app-driver", Attempt: 1, Phase: phase, CreatedAt: t0}
	switch phase {
	case lifecycle.DriverRunning:
		d.StartedAt = at(5)
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		d.StartedAt, d.EndedAt = at(5), at(50)
	}

	for _, c := range change {
		c(&d)
	}
	return lifecycle.Observed{Drivers: []lifecycle.Driver{d}}
}

func readyAt(seconds int) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.Ready, d.ReadyAt = true, at(seconds) }
}

func why(reason string) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: reason, Message: "m"} }
}

func gated(d *lifecycle.Driver) { d.Gated = true; why(lifecycle.ReasonSchedulingGated)(d) }
func scheduledAt(seconds int) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.ScheduledAt = at(seconds) }
}

// deleting changes a driver to one that is being deleted. The functions below make similar changes, for example to a
// driver that was evicted.
func deleting(d *lifecycle.Driver) { d.Deleting = true }
func evicted(d *lifecycle.Driver)  { d.Evicted = true; why(lifecycle.ReasonEvicted)(d) }
func dueToGo(seconds int) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.Deleting, d.GoneBy = true, at(seconds) }
}
func silentSince(seconds int) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.NodeLostSince = at(seconds) }
}
func attempt(n int32) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.Attempt = n }
}

var (
	nothing   = lifecycle.Observed{}
	confirmed = lifecycle.Observed{Confirmed: true}
)

func refused(confirmed bool) lifecycle.Observed {
	return lifecycle.Observed{Confirmed: confirmed, Rejection: &lifecycle.Cause{Reason: "Forbidden", Message: "no"}}
}

func withExecutors(o lifecycle.Observed, phases ...lifecycle.DriverPhase) lifecycle.Observed {
	for _, p := range phases {
		o.Executors = append(o.Executors, lifecycle.Executor{Name: "exec", Attempt: 1, Phase: p})
	}
	return o
}

func create(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: n}
}

func remove(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: n}
}

// stop returns the deletion of a running driver. It comes before the deletion of the attempt's other objects.
func stop(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.DriverPod, Attempt: n}
}

func confirm(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: n}
}

var removeExecutors = lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Executors, Attempt: 1}

// want contains the parts of a plan that a table row checks.
type want struct {
	trail   []lifecycle.Phase
	do      []lifecycle.Action
	check   time.Duration
	attempt int32 // 0 stands for attempt 1, which most rows use
	outcome lifecycle.Outcome
	reason  string // the remembered reason
}

// none stands for attempt number 0 in a table row. A row without an attempt number stands for attempt 1, because most
// rows are about attempt 1.
const none = -1

type row struct {
	name string
	app  lifecycle.App
	mem  lifecycle.Memory
	seen lifecycle.Observed
	now  time.Time
	want want
}

func run(t *testing.T, rows []row) {
	t.Helper()

	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Helper()

			if r.now.IsZero() {
				r.now = at(60)
			}

			plan := stored(t, r.app, r.mem, r.seen, r.now)

			got := want{do: plan.Actions, check: plan.RequeueAfter, attempt: plan.Next.Attempt,
				outcome: plan.Next.Outcome, reason: plan.Next.Cause.Reason}
			for _, tr := range plan.Transitions {
				got.trail = append(got.trail, tr.To)
			}

			switch r.want.attempt {
			case 0:
				r.want.attempt = 1
			case none:
				r.want.attempt = 0
			}

			if diff := cmp.Diff(r.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// stored returns the plan of a decision. If the plan postpones deletions until their reason is stored, stored also
// makes the decision that follows the status write. The returned plan then contains the actions of that second
// decision.
func stored(t *testing.T, app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed,
	now time.Time) lifecycle.Plan {
	t.Helper()

	plan := Step(app, mem, seen, now)
	checkPlan(t, app, mem, seen, now, plan)

	if len(plan.Transitions) == 0 || plan.RequeueAfter != time.Millisecond {
		return plan
	}

	next := Step(app, plan.Next, seen, now)
	checkPlan(t, app, plan.Next, seen, now, next)

	if diff := cmp.Diff(plan.Next, next.Next); len(next.Transitions) > 0 || diff != "" {
		t.Errorf("the pass after the status write enters %v (-want +got):\n%s", next.Transitions, diff)
	}

	plan.Actions, plan.RequeueAfter = next.Actions, next.RequeueAfter
	return plan
}

func phases(p ...lifecycle.Phase) []lifecycle.Phase { return p }
func acts(a ...lifecycle.Action) []lifecycle.Action { return a }

func TestLaunch(t *testing.T) {
	invalid := func(a *lifecycle.App) {
		a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.x"}
	}
	run(t, []row{
		{"new", appWith(), lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Launched), do: acts(create(1)), check: 10 * second}},
		{"new with a deadline shorter than the grace",
			appWith(func(a *lifecycle.App) { a.Deadlines.DriverStart = 3 * second }), lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Launched), do: acts(create(1)), check: 3 * second}},
		{"new and suspended", appWith(suspended), lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Suspended), attempt: none, reason: lifecycle.ReasonSuspended}},
		{"new and invalid", appWith(invalid), lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInvalid}},
		{"an invalid spec is not retried", appWith(invalid, retries(3)), lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInvalid}},
		{"rejected: a live read looks for the driver of an earlier launch", appWith(), lifecycle.Memory{},
			refused(false), t0,
			want{do: acts(confirm(1)), check: rereadDelay, attempt: none}},
		{"rejected, and no retry is allowed", appWith(), lifecycle.Memory{}, refused(true), t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), outcome: lifecycle.Refused,
				reason: "Forbidden"}},
		{"rejected, and a retry is allowed", appWith(retries(1)), lifecycle.Memory{}, refused(true), t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), do: acts(remove(1)), check: 20 * second,
				outcome: lifecycle.Refused, reason: "Forbidden"}},
		{"rejected, because the driver of an earlier launch exists", appWith(), lifecycle.Memory{},
			func() lifecycle.Observed {
				o := driver(lifecycle.DriverRunning)
				o.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded"}
				return o
			}(), at(6), want{trail: phases(lifecycle.Launched, lifecycle.Started)}},
		{"a launch that was not stored", appWith(), lifecycle.Memory{}, driver(lifecycle.DriverPending), at(3),
			want{trail: phases(lifecycle.Launched)}},
		{"a launch that was not stored, and whose driver has ended", appWith(), lifecycle.Memory{},
			driver(lifecycle.DriverSucceeded), at(60),
			want{trail: phases(lifecycle.Launched, lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"executors of a driver that no longer exists", appWith(), lifecycle.Memory{},
			withExecutors(nothing, lifecycle.DriverRunning), at(3),
			want{trail: phases(lifecycle.Launched), check: 10 * second}},
		{"being deleted", appWith(func(a *lifecycle.App) { a.Deleting = true }), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning), at(60),
			want{do: acts(remove(1)), check: repeatDelay}},
		{"being deleted without its dependents", appWith(func(a *lifecycle.App) { a.Deleting, a.Orphan = true, true }),
			memoryIn(lifecycle.Running),
			withExecutors(driver(lifecycle.DriverRunning), lifecycle.DriverRunning), at(60), want{}},
		{"Orphan has no effect without a deletion", appWith(func(a *lifecycle.App) { a.Orphan = true }),
			lifecycle.Memory{}, nothing, t0,
			want{trail: phases(lifecycle.Launched), do: acts(create(1)), check: 10 * second}},
	})
}

// TestForgedAttempts checks that the operator ignores an attempt label with a number that it cannot have written
// itself. It also checks that no attempt follows the attempt with the largest possible number.
func TestForgedAttempts(t *testing.T) {
	const last = math.MaxInt32
	executor := func(n int32) lifecycle.Observed {
		o := driver(lifecycle.DriverRunning, readyAt(7))
		o.Executors = []lifecycle.Executor{{Name: "forged", Attempt: n, Phase: lifecycle.DriverRunning}}
		return o
	}
	at2 := func(n int32) func(*lifecycle.Memory) { return func(m *lifecycle.Memory) { m.Attempt = n } }
	run(t, []row{
		{"an executor with the largest attempt number", appWith(), memoryIn(lifecycle.Running), executor(last), at(60),
			want{}},
		{"an executor with the lowest number that is ignored", appWith(), memoryIn(lifecycle.Running),
			executor(2 + maxUnremembered), at(60), want{}},
		{"a driver with the largest attempt number", appWith(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Succeeded, "", 50)),
			driver(lifecycle.DriverRunning, attempt(last)), at(60), want{outcome: lifecycle.Succeeded}},
		{"a driver with the largest number that counts", appWith(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Succeeded, "", 50)),
			driver(lifecycle.DriverPending, attempt(1+maxUnremembered)), at(60),
			want{trail: phases(lifecycle.Launched), attempt: 1 + maxUnremembered}},
		{"an edit deletes the forged attempt", appWith(edited), memoryIn(lifecycle.Running), executor(last), at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1), remove(last)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"before the largest attempt number", appWith(always),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), at2(last-1)), confirmed, at(60),
			want{trail: phases(lifecycle.Launched), do: acts(create(last)), check: 10 * second, attempt: last}},
		{"at the largest attempt number", appWith(always), memoryIn(lifecycle.Running, at2(last)),
			driver(lifecycle.DriverFailed, attempt(last)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), attempt: last, outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"after the largest attempt number", appWith(edited), memoryIn(lifecycle.Editing, at2(last)), confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), attempt: last, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonNoAttempts}},
	})
}

// pending adds pending executors of attempt 1 to an observation, one for each wait reason.
func pending(o lifecycle.Observed, reasons ...string) lifecycle.Observed {
	o.Executors = slices.Clone(o.Executors)
	for i, reason := range reasons {
		e := lifecycle.Executor{Name: fmt.Sprint("exec-", i+1), Attempt: 1, Phase: lifecycle.DriverPending}
		if reason != "" {
			e.Why = lifecycle.Cause{Reason: reason, Message: fmt.Sprint("m", i+1)}
		}

		o.Executors = append(o.Executors, e)
	}
	return o
}

// executorsCreatedAt sets the creation time of all executors in an observation.
func executorsCreatedAt(o lifecycle.Observed, seconds int) lifecycle.Observed {
	for i := range o.Executors {
		o.Executors[i].CreatedAt = at(seconds)
	}
	return o
}

// TestManyExecutorsWait checks a scale-up for which the cluster first has no capacity. Later, nodes are added one by
// one. The passes must change the memory only twice: when the first executor begins to wait, and when the last executor
// no longer waits. They must emit only one event.
func TestManyExecutorsWait(t *testing.T) {
	const many = 200
	app := appWith(func(a *lifecycle.App) { a.InitialExecutors = 1 })
	seen := withExecutors(driver(lifecycle.DriverRunning, readyAt(7)), lifecycle.DriverRunning)
	m := memoryIn(lifecycle.Running)
	changes, events := 0, 0

	pass := func(now int) {
		plan := Step(app, m, seen, at(now))
		checkPlan(t, app, m, seen, at(now), plan)

		if plan.Next != m {
			changes++
		}

		events += len(plan.Notices)
		m = plan.Next
	}
	for i := range many { // each wait reason of the scheduler has another message
		e := lifecycle.Executor{Name: fmt.Sprint("exec-", i), Attempt: 1, Phase: lifecycle.DriverPending,
			CreatedAt: at(60 + i/50)}
		e.Why = lifecycle.Cause{Reason: "Unschedulable", Message: fmt.Sprintf("0/%d nodes are available", i)}
		seen.Executors = append(seen.Executors, e)

		pass(60 + i/20)
	}

	for i := range many { // the first executors get capacity first
		seen.Executors[1+i].Phase, seen.Executors[1+i].Why = lifecycle.DriverRunning, lifecycle.Cause{}
		pass(100 + i)
	}

	if changes != 2 || events != 1 || m.Cause.Reason != "" {
		t.Errorf("%d changes of the memory and %d events; want 2 and 1; remembers %+v", changes, events, m.Cause)
	}
}

// TestExecutorsWait checks which executor's wait reason becomes the wait reason of the application, and that a new wait
// reason is reported.
func TestExecutorsWait(t *testing.T) {
	app := appWith(func(a *lifecycle.App) { a.InitialExecutors = 3 })
	ready := driver(lifecycle.DriverRunning, readyAt(7))
	enough := withExecutors(ready, lifecycle.DriverRunning, lifecycle.DriverRunning, lifecycle.DriverRunning)
	known0 := lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod gone waits: 0/3"}

	known := func(m *lifecycle.Memory) { m.Cause = known0 }
	for _, c := range []struct {
		name string
		mem  lifecycle.Memory
		seen lifecycle.Observed
		want lifecycle.Cause
		pod  string // name of the pod
	}{
		{"the executors wait for nothing", memoryIn(lifecycle.Scaling), pending(ready, "", ""), lifecycle.Cause{}, ""},
		{"the first executor with a wait reason", memoryIn(lifecycle.Ready),
			pending(ready, "", "Unschedulable", "ImagePullBackOff"),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec-2 waits: m2"}, "exec-2"},
		{"the reason is known: another pod and another message are ignored", memoryIn(lifecycle.Scaling, known),
			pending(ready, "ImagePullBackOff", "Unschedulable"),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod gone waits: 0/3"}, ""},
		{"gated for a moment", memoryIn(lifecycle.Scaling), executorsCreatedAt(pending(ready, "SchedulingGated"), 56),
			lifecycle.Cause{}, ""},
		{"gated for a while", memoryIn(lifecycle.Scaling), executorsCreatedAt(pending(ready, "SchedulingGated"), 55),
			lifecycle.Cause{Reason: "SchedulingGated", Message: "executor pod exec-1 waits: m1"}, "exec-1"},
		{"another reason", memoryIn(lifecycle.Scaling, known), pending(ready, "ImagePullBackOff"),
			lifecycle.Cause{Reason: "ImagePullBackOff", Message: "executor pod exec-1 waits: m1"}, "exec-1"},
		{"the known reason no longer applies", memoryIn(lifecycle.Scaling, known), pending(ready, ""),
			lifecycle.Cause{}, ""},
		{"an executor's eviction is not the driver's", memoryIn(lifecycle.Scaling),
			pending(ready, lifecycle.ReasonEvicted), lifecycle.Cause{}, ""},
		{"the driver's wait reason has priority", memoryIn(lifecycle.Scaling),
			pending(driver(lifecycle.DriverRunning, readyAt(7), deleting), "Unschedulable"),
			lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleting, Message: "driver pod app-driver is being deleted"},
			"app-driver"},
		{"enough run, and another waits", memoryIn(lifecycle.Scaling, known), pending(enough, "Unschedulable"),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec-1 waits: m1"}, "exec-1"},
		{"it runs, and another executor waits", memoryIn(lifecycle.Running), pending(enough, "", "Unschedulable"),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec-2 waits: m2"}, "exec-2"},
		{"it runs with fewer executors than at its start", memoryIn(lifecycle.Running), pending(ready, "Unschedulable"),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec-1 waits: m1"}, "exec-1"},
		{"it runs, and an executor of 4 s waits", memoryIn(lifecycle.Running),
			executorsCreatedAt(pending(enough, "Unschedulable"), 56), lifecycle.Cause{}, ""},
		{"it runs, and an executor of 4 s waits for the known reason", memoryIn(lifecycle.Running, known),
			executorsCreatedAt(pending(enough, "Unschedulable"), 56), known0, ""},
		{"it runs, and an executor from the future waits", memoryIn(lifecycle.Running),
			executorsCreatedAt(pending(enough, "Unschedulable"), 600), lifecycle.Cause{}, ""},
		{"it runs, and an executor of 5 s waits", memoryIn(lifecycle.Running),
			executorsCreatedAt(pending(enough, "Unschedulable"), 55),
			lifecycle.Cause{Reason: "Unschedulable", Message: "executor pod exec-1 waits: m1"}, "exec-1"},
		{"it runs, and no executor waits any more", memoryIn(lifecycle.Running, known), enough, lifecycle.Cause{}, ""},
		{"it runs, and the driver's wait reason has priority", memoryIn(lifecycle.Running, known),
			pending(driver(lifecycle.DriverRunning, readyAt(7), evicted), "Unschedulable"),
			lifecycle.Cause{Reason: lifecycle.ReasonEvicted, Message: "m"}, "app-driver"},
		{"executors of another attempt wait", memoryIn(lifecycle.Scaling, func(m *lifecycle.Memory) { m.Attempt = 2 }),
			pending(driver(lifecycle.DriverRunning, readyAt(7), attempt(2)), "Unschedulable"), lifecycle.Cause{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Step(app, c.mem, c.seen, at(60))
			checkPlan(t, app, c.mem, c.seen, at(60), plan)

			reported := ""
			for _, n := range plan.Notices {
				reported += n.Name
			}

			if diff := cmp.Diff(c.want, plan.Next.Cause); diff != "" || reported != c.pod {
				t.Errorf("reported %q, want %q; cause (-want +got):\n%s", reported, c.pod, diff)
			}
		})
	}
}

// TestExecutorsWaitInADeadline checks that the cause of a timeout contains the wait reason of the missing executors.
func TestExecutorsWaitInADeadline(t *testing.T) {
	app := appWith(func(a *lifecycle.App) { a.InitialExecutors, a.Deadlines.ExecutorsStart = 2, 30*second })
	seen := pending(driver(lifecycle.DriverRunning, readyAt(7)), "Unschedulable")
	first := Step(app, memoryIn(lifecycle.Scaling), seen, at(20))

	got := Step(app, first.Next, afterLiveRead(seen), at(40)).Next.Cause.Message
	if want := "fewer than 2 executors ran within 30s; it waited for Unschedulable: executor pod exec-1 waits: m1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGatedDriver checks which deadlines include the time behind scheduling gates. The deadline of the driver's start
// does not include it, and the deadline of the run does.
func TestGatedDriver(t *testing.T) {
	limited := func(a *lifecycle.App) { a.Deadlines.DriverStart = 60 * second }
	queued := func(m *lifecycle.Memory) {
		m.Cause = lifecycle.Cause{Reason: lifecycle.ReasonSchedulingGated, Message: "m"}
	}
	ungated := func(seconds int) func(*lifecycle.Memory) {
		return func(m *lifecycle.Memory) { m.UngatedAt = at(seconds) }
	}
	late := func(change ...func(*lifecycle.Driver)) lifecycle.Observed {
		seen := driver(lifecycle.DriverPending, change...)
		seen.Confirmed = true
		return seen
	}
	over := want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay,
		outcome: lifecycle.StartTimedOut, reason: lifecycle.ReasonStartTimedOut}
	run(t, []row{
		{"gated for longer than the driver may take", appWith(limited), memoryIn(lifecycle.Launched, queued),
			driver(lifecycle.DriverPending, gated), at(3600), want{reason: lifecycle.ReasonSchedulingGated}},
		{"gated until the run is over", appWith(limited, func(a *lifecycle.App) { a.Deadlines.Run = 3600 * second }),
			memoryIn(lifecycle.Launched, queued), late(gated), at(3600),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay,
				outcome: lifecycle.RunTimedOut, reason: lifecycle.ReasonRunTimedOut}},
		{"the gates were removed", appWith(limited), memoryIn(lifecycle.Launched, queued),
			driver(lifecycle.DriverPending), at(3600),
			want{check: 60 * second}},
		{"after the gates, on a node for 10 s", appWith(limited), memoryIn(lifecycle.Launched, queued),
			driver(lifecycle.DriverPending, scheduledAt(3590)), at(3600), want{check: 50 * second}},
		{"after the gates, on a node since a time in the future", appWith(limited),
			memoryIn(lifecycle.Launched, queued),
			driver(lifecycle.DriverPending, scheduledAt(3700)), at(3600), want{check: 60 * second}},
		{"after the gates, on a node for longer than the deadline", appWith(limited),
			memoryIn(lifecycle.Launched, queued), late(scheduledAt(3540)), at(3600), over},
		{"no capacity after the gates", appWith(limited), memoryIn(lifecycle.Launched, ungated(3600)),
			driver(lifecycle.DriverPending, why("Unschedulable")), at(3630),
			want{check: 30 * second, reason: "Unschedulable"}},
		{"no capacity after the gates until the deadline", appWith(limited),
			memoryIn(lifecycle.Launched, ungated(3600)),
			late(why("Unschedulable")), at(3660), over},
		{"never gated", appWith(limited), memoryIn(lifecycle.Launched), late(), at(60), over},
	})

	relaunched := Step(appWith(always),
		memoryIn(lifecycle.Waiting, ungated(10), outcome(lifecycle.Failed, "Error", 50)), confirmed, at(70))
	if !relaunched.Next.UngatedAt.IsZero() || relaunched.Next.Attempt != 2 {
		t.Errorf("attempt %d counts from %s", relaunched.Next.Attempt, relaunched.Next.UngatedAt)
	}
}

// TestGatedExecutors checks that time in which an executor waits behind scheduling gates does not count against the
// start of the executors, and that the time counts anew when all gates are gone.
func TestGatedExecutors(t *testing.T) {
	limited := appWith(func(a *lifecycle.App) { a.InitialExecutors, a.Deadlines.ExecutorsStart = 2, 60*second })
	waits := func(m *lifecycle.Memory) {
		m.Cause = lifecycle.Cause{Reason: lifecycle.ReasonSchedulingGated, Message: "m"}
	}
	ungated := func(m *lifecycle.Memory) { m.UngatedAt = at(3600) }
	with := func(reason string) lifecycle.Observed {
		seen := driver(lifecycle.DriverRunning, readyAt(7))
		seen.Confirmed, seen.PodsConfirmed = true, true
		seen.Executors = []lifecycle.Executor{{Name: "exec-1", Attempt: 1, Phase: lifecycle.DriverPending, CreatedAt: at(8),
			Why: lifecycle.Cause{Reason: reason, Message: "m"}}}
		return seen
	}
	over := want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay,
		outcome: lifecycle.ExecutorsTimedOut, reason: lifecycle.ReasonExecutorsTimedOut}

	run(t, []row{
		{"gated for longer than executors may take", limited, memoryIn(lifecycle.Scaling, waits),
			with(lifecycle.ReasonSchedulingGated), at(3600), want{reason: lifecycle.ReasonSchedulingGated}},
		{"the gates were removed", limited, memoryIn(lifecycle.Scaling, waits), with("Unschedulable"), at(3600),
			want{check: 60 * second, reason: "Unschedulable"}},
		{"no capacity after the gates", limited, memoryIn(lifecycle.Scaling, ungated), with("Unschedulable"), at(3630),
			want{check: 30 * second, reason: "Unschedulable"}},
		{"no capacity after the gates until the deadline", limited, memoryIn(lifecycle.Scaling, ungated),
			with("Unschedulable"), at(3660), over},
		{"never gated", limited, memoryIn(lifecycle.Scaling), with("Unschedulable"), at(67), over},
	})
}

func TestDriver(t *testing.T) {
	executors := func(n int32) func(*lifecycle.App) { return func(a *lifecycle.App) { a.InitialExecutors = n } }
	lost := func(reason string) lifecycle.Memory {
		return memoryIn(lifecycle.Running,
			func(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: reason, Message: "m"} })
	}
	everyLimit := func(a *lifecycle.App) {
		a.InitialExecutors = 1
		a.Deadlines = lifecycle.Deadlines{DriverStart: second, DriverReady: second, ExecutorsStart: second,
			Run: 300 * second}
	}
	lostNode := memoryIn(lifecycle.Unknown,
		func(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: "m"} })
	run(t, []row{
		{"pending", appWith(), memoryIn(lifecycle.Launched), driver(lifecycle.DriverPending), at(60), want{}},
		{"pending for an image", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending, why("ImagePullBackOff")), at(60),
			want{reason: "ImagePullBackOff"}},
		{"gated for 4 s: not reported", appWith(), memoryIn(lifecycle.Launched), driver(lifecycle.DriverPending, gated),
			at(4), want{check: second}},
		{"gated for 5 s: reported", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending, gated), at(5),
			want{reason: lifecycle.ReasonSchedulingGated}},
		{"gated for 4 s, and being deleted", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending, gated, deleting), at(4),
			want{check: second, reason: lifecycle.ReasonDriverDeleting}},
		{"gated, and created in the future", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending, gated), at(-60),
			want{check: 5 * second}},
		{"running", appWith(), memoryIn(lifecycle.Launched), driver(lifecycle.DriverRunning), at(60),
			want{trail: phases(lifecycle.Started)}},
		{"running after a wait", appWith(),
			memoryIn(lifecycle.Launched, func(m *lifecycle.Memory) { m.Cause.Reason = "Unschedulable" }),
			driver(lifecycle.DriverRunning), at(60), want{trail: phases(lifecycle.Started)}},
		{"ready, without initial executors", appWith(), memoryIn(lifecycle.Started),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60),
			want{trail: phases(lifecycle.Ready, lifecycle.Running)}},
		{"ready", appWith(executors(2)), memoryIn(lifecycle.Launched), driver(lifecycle.DriverRunning, readyAt(7)),
			at(60),
			want{trail: phases(lifecycle.Started, lifecycle.Ready), check: startupQueryDelay}},
		{"first executor", appWith(executors(2)), memoryIn(lifecycle.Ready),
			withExecutors(driver(lifecycle.DriverRunning, readyAt(7)), lifecycle.DriverPending), at(60),
			want{trail: phases(lifecycle.Scaling), check: shortageQueryDelay}},
		{"enough executors", appWith(executors(2)), memoryIn(lifecycle.Scaling),
			withExecutors(driver(lifecycle.DriverRunning, readyAt(7)), lifecycle.DriverRunning,
				lifecycle.DriverSucceeded), at(60),
			want{trail: phases(lifecycle.Running)}},
		{"fewer executors than before: the phase stays", appWith(executors(2)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60), want{}},
		{"an outdated read: the phase stays", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverPending),
			at(60), want{}},
		{"succeeded", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverSucceeded), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"succeeded, while executors still run", appWith(), memoryIn(lifecycle.Running),
			withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverRunning, lifecycle.DriverFailed), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), do: acts(removeExecutors), check: repeatDelay,
				outcome: lifecycle.Succeeded}},
		{"succeeded, and ended executors are kept", appWith(), memoryIn(lifecycle.Running),
			withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverFailed), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"failed before it was observed to run", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverFailed, why("OOMKilled")), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Failed, reason: "OOMKilled"}},
		{"failed without a reason", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverFailed), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"evicted", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverFailed, evicted), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Evicted,
				reason: lifecycle.ReasonEvicted}},

		{"missing for 4 s after the launch", appWith(), memoryIn(lifecycle.Launched), nothing, at(4),
			want{check: 6 * second}},
		{"missing after MissingGrace", appWith(), memoryIn(lifecycle.Launched), nothing, at(10),
			want{do: acts(confirm(1)), check: rereadDelay}},
		{"missing while it ran", appWith(), memoryIn(lifecycle.Running), nothing, at(1),
			want{do: acts(confirm(1)), check: rereadDelay}},
		{"a live read finds no driver", appWith(), memoryIn(lifecycle.Running), confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Lost,
				reason: lifecycle.ReasonDriverLost}},
		{"a live read finds no driver, but other objects", appWith(), memoryIn(lifecycle.Running),
			lifecycle.Observed{Confirmed: true, RemainingAttempts: []int32{1}}, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), check: repeatDelay,
				outcome: lifecycle.Lost, reason: lifecycle.ReasonDriverLost}},
		{"deleted after an observed eviction", appWith(), lost(lifecycle.ReasonEvicted), confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Evicted,
				reason: lifecycle.ReasonEvicted}},
		{"deleted after an observed preemption", appWith(), lost(lifecycle.ReasonPreempted), confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Evicted,
				reason: lifecycle.ReasonPreempted}},
		{"deleted after an observed deletion", appWith(), lost(lifecycle.ReasonDriverDeleting), confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverDeleted}},
		{"deleted, and its end was observed", appWith(), lost(lifecycle.ReasonDriverDeleting),
			driver(lifecycle.DriverFailed, deleting, why(lifecycle.ReasonDriverDeleted)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverDeleted}},
		{"deleted together with its lost node", appWith(),
			memoryIn(lifecycle.Unknown, func(m *lifecycle.Memory) { m.Cause.Reason = lifecycle.ReasonNodeLost }),
			confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Lost,
				reason: lifecycle.ReasonNodeLost}},
		{"being deleted", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(7), deleting),
			at(60),
			want{reason: lifecycle.ReasonDriverDeleting}},
		{"its node is lost", appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverUnknown), at(60),
			want{trail: phases(lifecycle.Unknown), reason: lifecycle.ReasonNodeLost}},
		{"its node was reported lost 10 s ago", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverUnknown, silentSince(50)), at(60),
			want{check: 5 * second}},
		{"its node was reported lost 15 s ago", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverUnknown, silentSince(50)), at(65),
			want{trail: phases(lifecycle.Unknown), reason: lifecycle.ReasonNodeLost}},
		{"its node was reported lost in the future", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverUnknown, silentSince(500)), at(60), want{check: nodeLostGrace}},
		{"a lost node stays lost until Kubernetes reports otherwise", appWith(), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverUnknown, silentSince(59)), at(60),
			want{reason: lifecycle.ReasonNodeLost}},
		{"reported lost 10 s ago: the wait reason is kept", appWith(), lost("Unschedulable"),
			driver(lifecycle.DriverUnknown, silentSince(50), why(lifecycle.ReasonNodeLost)), at(60),
			want{check: 5 * second, reason: "Unschedulable"}},
		{"reported lost 10 s ago, and evicted by a taint", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverUnknown, silentSince(50), evicted, dueToGo(90)), at(60), want{check: 5 * second}},
		{"reported lost 5 s ago: the deadlines still apply",
			appWith(func(a *lifecycle.App) { a.Deadlines.Run = 57 * second }), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverUnknown, silentSince(50)), at(55), want{check: 2 * second}},
		{"evicted by a taint, before its deletion is overdue", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7), evicted, dueToGo(60)), at(50),
			want{check: 40 * second, reason: lifecycle.ReasonEvicted}},
		{"evicted by a taint, and its deletion is overdue", appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, evicted, dueToGo(60)), at(90),
			want{trail: phases(lifecycle.Unknown), reason: lifecycle.ReasonNodeLost}},
		{"evicted before it ran, and its deletion is overdue", appWith(), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending, evicted, dueToGo(60)), at(90),
			want{trail: phases(lifecycle.Unknown), reason: lifecycle.ReasonNodeLost}},
		{"its node works again and evicts it", appWith(), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverFailed, evicted, dueToGo(60)), at(95),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Evicted,
				reason: lifecycle.ReasonEvicted}},
		{"a lost node: only the deadline of the run applies", appWith(everyLimit), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverUnknown), at(299),
			want{check: second, reason: lifecycle.ReasonNodeLost}},
		{"a lost node at the deadline of the run", appWith(everyLimit, retries(1)), lostNode,
			live(driver(lifecycle.DriverUnknown)), at(300),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut,
				reason: lifecycle.ReasonRunTimedOut}},
		{"a node that is lost at the deadline of the run", appWith(everyLimit), memoryIn(lifecycle.Running),
			live(driver(lifecycle.DriverUnknown)), at(300),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut,
				reason: lifecycle.ReasonRunTimedOut}},
		{"an overdue deletion at the deadline of the run", appWith(everyLimit), memoryIn(lifecycle.Unknown),
			live(driver(lifecycle.DriverRunning, evicted, dueToGo(60))), at(300),
			want{trail: phases(lifecycle.Ended), do: acts(remove(1)), check: repeatDelay,
				outcome: lifecycle.RunTimedOut, reason: lifecycle.ReasonRunTimedOut}},
		{"its node works again", appWith(), memoryIn(lifecycle.Unknown), driver(lifecycle.DriverRunning, readyAt(7)),
			at(60), want{trail: phases(lifecycle.Running)}},
		{"its node works again, and it has ended", appWith(), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverSucceeded), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"objects of an older attempt are deleted", appWith(),
			memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.Attempt = 2 }),
			func() lifecycle.Observed {
				o := driver(lifecycle.DriverRunning, readyAt(7), attempt(2))
				o.RemainingAttempts = []int32{1, 2}
				return o
			}(), at(60), want{do: acts(remove(1)), check: repeatDelay, attempt: 2}},
	})
}

func TestDeadlines(t *testing.T) {
	limits := func(start, ready, executors, whole int) func(*lifecycle.App) {
		return func(a *lifecycle.App) {
			a.InitialExecutors = 2
			a.Deadlines = lifecycle.Deadlines{
				DriverStart: time.Duration(start) * second, DriverReady: time.Duration(ready) * second,
				ExecutorsStart: time.Duration(executors) * second, Run: time.Duration(whole) * second,
			}
		}
	}
	running, ready := driver(lifecycle.DriverRunning), driver(lifecycle.DriverRunning, readyAt(7))
	scaling := withExecutors(ready, lifecycle.DriverRunning)
	timedOut := func(o lifecycle.Outcome, reason string) want {
		return want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay, outcome: o, reason: reason}
	}
	run(t, []row{
		{"start: a second left", appWith(limits(30, 0, 0, 0)), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending), at(29), want{check: second}},
		{"start: at the deadline, before a live read", appWith(limits(30, 0, 0, 0)), memoryIn(lifecycle.Launched),
			driver(lifecycle.DriverPending), at(30),
			want{do: acts(confirm(1)), check: rereadDelay}},
		{"start: at the deadline, the cache is behind", appWith(limits(30, 0, 0, 0)), memoryIn(lifecycle.Launched),
			cacheBehind(driver(lifecycle.DriverPending)), at(30),
			want{check: repeatDelay}},
		{"start: at the deadline, after a live read", appWith(limits(30, 0, 0, 0)), memoryIn(lifecycle.Launched),
			live(driver(lifecycle.DriverPending)), at(30),
			timedOut(lifecycle.StartTimedOut, lifecycle.ReasonStartTimedOut)},
		{"start: the driver has started", appWith(limits(30, 0, 0, 0)), memoryIn(lifecycle.Launched), running, at(31),
			want{trail: phases(lifecycle.Started)}},
		{"ready: a second left, from the container's start", appWith(limits(0, 30, 0, 0)), memoryIn(lifecycle.Started),
			running, at(34), want{check: second}},
		{"ready: at the deadline", appWith(limits(0, 30, 0, 0)), memoryIn(lifecycle.Started), live(running), at(35),
			timedOut(lifecycle.ReadyTimedOut, lifecycle.ReasonReadyTimedOut)},
		{"executors: a second left, from the readiness", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Ready), ready,
			at(36), want{check: second}},
		{"executors: at the deadline, before a live read", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Ready),
			live(ready), at(37),
			want{do: acts(lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.Attempt, Attempt: 1}),
				check: rereadDelay}},
		{"executors: at the deadline, the cache is behind", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Ready),
			cacheBehind(ready), at(37), want{check: repeatDelay}},
		{"executors: at the deadline, after a live read", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Ready),
			afterLiveRead(ready), at(37), timedOut(lifecycle.ExecutorsTimedOut, lifecycle.ReasonExecutorsTimedOut)},
		{"executors: at the deadline, with one of two", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Scaling),
			afterLiveRead(scaling), at(37), timedOut(lifecycle.ExecutorsTimedOut, lifecycle.ReasonExecutorsTimedOut)},
		{"executors: no deadline after they ran", appWith(limits(0, 0, 30, 0)), memoryIn(lifecycle.Running), scaling,
			at(99), want{}},
		{"run: three seconds left, before the deadline of the executors", appWith(limits(0, 0, 90, 40)),
			memoryIn(lifecycle.Ready), ready, at(37), want{check: 3 * second}},
		{"run: at the deadline, the cache is behind", appWith(limits(0, 0, 0, 40)), memoryIn(lifecycle.Running),
			cacheBehind(ready), at(40), want{check: repeatDelay}},
		{"run: at the deadline, after a live read", appWith(limits(0, 0, 0, 40)), memoryIn(lifecycle.Running),
			live(ready), at(40), timedOut(lifecycle.RunTimedOut, lifecycle.ReasonRunTimedOut)},
		{"an observed end has priority over the deadlines", appWith(limits(1, 1, 1, 1)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded), at(99),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"timed out, and the driver still runs", appWith(limits(1, 1, 1, 1)),
			memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "r", 40)), ready, at(99),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut, reason: "r"}},
		{"timed out on a lost node: no attempt follows while the pod exists", appWith(limits(1, 1, 1, 1), retries(1)),
			memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "r", 40)),
			driver(lifecycle.DriverUnknown), at(9999),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut, reason: "r"}},
		{"timed out, and the driver no longer exists", appWith(limits(1, 1, 1, 1)),
			memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "r", 40)), nothing, at(99),
			want{trail: phases(lifecycle.Done), outcome: lifecycle.RunTimedOut, reason: "r"}},
		{"timed out, and the policy allows a retry", appWith(limits(1, 1, 1, 1), retries(1)),
			memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "r", 95)), nothing, at(99),
			want{trail: phases(lifecycle.Waiting), check: 6 * second, outcome: lifecycle.RunTimedOut, reason: "r"}},
	})
}

// TestLimit checks which limit a plan names: the first of those that apply.
func TestLimit(t *testing.T) {
	hour := 3600 * second
	limited := appWith(func(a *lifecycle.App) { a.Deadlines.DriverStart, a.Deadlines.Run = 30*second, hour })
	kept := secondFamily(retain(lifecycle.RetainAlways), func(a *lifecycle.App) { a.Retain.For, a.TTL = new(60*second), &hour })

	for name, c := range map[string]struct {
		app  lifecycle.App
		m    lifecycle.Memory
		seen lifecycle.Observed
		want lifecycle.Limit
	}{
		"none": {appWith(), memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning), lifecycle.Limit{}},
		"the start, before the end of the run": {limited, memoryIn(lifecycle.Launched), driver(lifecycle.DriverPending),
			lifecycle.Limit{At: at(30), Part: lifecycle.Attempt, Reason: lifecycle.ReasonStartTimedOut}},
		"the end of the run": {limited, memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(7)),
			lifecycle.Limit{At: at(3600), Part: lifecycle.Attempt, Reason: lifecycle.ReasonRunTimedOut}},
		"the retention, before the time to live": {kept, memoryIn(lifecycle.Retained, outcome(lifecycle.Failed, "r", 10)), driver(lifecycle.DriverFailed),
			lifecycle.Limit{At: memoryIn(lifecycle.Retained).Since.Add(60 * second), Part: lifecycle.Attempt}},
		"the time to live": {kept, memoryIn(lifecycle.Done, outcome(lifecycle.Failed, "r", 10)), confirmed,
			lifecycle.Limit{At: at(3610), Part: lifecycle.Application}},
	} {
		if d := cmp.Diff(c.want, Step(c.app, c.m, c.seen, at(20)).Limit); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestDeadlineTellsWhatItWaitedFor(t *testing.T) {
	app := appWith(func(a *lifecycle.App) { a.Deadlines.DriverStart = 30 * second })
	mem := memoryIn(lifecycle.Launched,
		func(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes"} })

	got := Step(app, mem, live(driver(lifecycle.DriverPending, why("Unschedulable"))), at(30)).Next.Cause.Message
	if want := "the driver did not start within 30s; it waited for Unschedulable: 0/3 nodes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRestart(t *testing.T) {
	failed := outcome(lifecycle.Failed, "Error", 50)
	waiting := memoryIn(lifecycle.Waiting, failed, due(60))
	cleared := memoryIn(lifecycle.Waiting, failed)
	refusedBefore := memoryIn(lifecycle.Waiting, outcome(lifecycle.Refused, "Forbidden", 50), due(60),
		func(m *lifecycle.Memory) { m.Runs = 0 })
	run(t, []row{
		{"failed: a retry follows", appWith(retries(1)), memoryIn(lifecycle.Running), driver(lifecycle.DriverFailed),
			at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 5 * second, outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"failed: no retry is left", appWith(retries(1)),
			memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.Runs = 2 }), driver(lifecycle.DriverFailed),
			at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"failed once after a suspension: a retry follows", appWith(retries(1)),
			memoryIn(lifecycle.Running, withRuns(2, 1)), driver(lifecycle.DriverFailed), at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 5 * second, outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"failed twice after a suspension: no retry is left", appWith(retries(1)),
			memoryIn(lifecycle.Running, withRuns(3, 1)), driver(lifecycle.DriverFailed), at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverFailed}},
		{"succeeded: no retry with OnFailure", appWith(retries(1)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded), at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"succeeded: a retry with Always, after the interval", appWith(always), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded), at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 5 * second, outcome: lifecycle.Succeeded}},
		{"evicted: a retry follows", appWith(retries(1)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverFailed, evicted), at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 5 * second, outcome: lifecycle.Evicted,
				reason: lifecycle.ReasonEvicted}},
		{"lost: a retry follows", appWith(retries(1)), memoryIn(lifecycle.Running), confirmed, at(55),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 10 * second, outcome: lifecycle.Lost,
				reason: lifecycle.ReasonDriverLost}},

		{"during the interval, the driver is kept for its log", appWith(retries(1)), waiting,
			driver(lifecycle.DriverFailed), at(58),
			want{check: 2 * second, outcome: lifecycle.Failed, reason: "Error"}},
		{"during the interval, executors are deleted", appWith(retries(1)), waiting,
			withExecutors(driver(lifecycle.DriverFailed), lifecycle.DriverRunning), at(58),
			want{do: acts(removeExecutors), check: 2 * second, outcome: lifecycle.Failed, reason: "Error"}},
		{"after the interval, the old attempt is deleted", appWith(retries(1)), waiting, driver(lifecycle.DriverFailed),
			at(60),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{"the old attempt is missing in the cache: a live read follows", appWith(retries(1)), cleared, nothing, at(60),
			want{do: acts(confirm(1)), check: rereadDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{"executors of the old attempt still exist", appWith(retries(1)), cleared,
			withExecutors(confirmed, lifecycle.DriverRunning), at(60),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{"all objects are deleted: the next attempt is launched", appWith(retries(1)), cleared, confirmed, at(60),
			want{trail: phases(lifecycle.Launched), do: acts(create(2)), check: 10 * second, attempt: 2}},
		{"the launch of the next attempt was not stored", appWith(retries(1)), cleared,
			driver(lifecycle.DriverRunning, attempt(2)), at(60),
			want{trail: phases(lifecycle.Launched, lifecycle.Started), attempt: 2}},
		{"the old driver is on a lost node", appWith(retries(1)), cleared, driver(lifecycle.DriverUnknown), at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.Failed, reason: lifecycle.ReasonNodeLost}},
		{"the old driver is being deleted", appWith(retries(1)), cleared, driver(lifecycle.DriverRunning, dueToGo(60)),
			at(90),
			want{do: acts(stop(1)), check: second, outcome: lifecycle.Failed, reason: "Error"}},
		{"the deletion of the old driver is overdue", appWith(retries(1)), cleared,
			driver(lifecycle.DriverRunning, dueToGo(60)), at(91),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverDeleting}},
		{"the policy no longer allows a retry", appWith(), waiting, driver(lifecycle.DriverFailed), at(55),
			want{trail: phases(lifecycle.Retained), outcome: lifecycle.Failed, reason: "Error"}},

		{"rejected again, and a retry is left", appWith(retries(2)), refusedBefore, refused(true), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), do: acts(remove(2)), check: 40 * second, attempt: 2,
				outcome: lifecycle.Refused, reason: "Forbidden"}},
		{"rejected again, and no retry is left", appWith(retries(1)), refusedBefore, refused(true), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(2)), attempt: 2,
				outcome: lifecycle.Refused, reason: "Forbidden"}},
		{"a driver that exists after a rejection is deleted", appWith(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Refused, "r", 50)), driver(lifecycle.DriverRunning), at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.Refused, reason: "r"}},
	})
}

func TestDelay(t *testing.T) {
	const most = time.Duration(1<<63-1) / 2
	for _, c := range []struct {
		name                      string
		outcome                   lifecycle.Outcome
		runs, submissions, spared int32
		factor                    float64
		interval, max             time.Duration
		want                      time.Duration
	}{
		{"linear: first failure", lifecycle.Failed, 1, 1, 0, 0, 10 * second, 0, 10 * second},
		{"linear: third failure", lifecycle.Failed, 3, 3, 0, 0, 10 * second, 0, 30 * second},
		{"linear: rejected submissions count", lifecycle.Failed, 1, 4, 0, 0, 10 * second, 0, 40 * second},
		{"linear: suspended runs do not count", lifecycle.Failed, 3, 4, 2, 0, 10 * second, 0, 20 * second},
		{"linear: at the maximum", lifecycle.Failed, 3, 3, 0, 0, 10 * second, 25 * second, 25 * second},
		{"exponential: first failure", lifecycle.Failed, 1, 1, 0, 2, 10 * second, 0, 10 * second},
		{"exponential: fourth failure", lifecycle.Failed, 4, 4, 0, 2, 10 * second, 0, 80 * second},
		{"exponential: suspended runs do not count", lifecycle.Failed, 4, 4, 2, 2, 10 * second, 0, 20 * second},
		{"exponential: at the maximum", lifecycle.Failed, 60, 60, 0, 2, 10 * second, 300 * second, 300 * second},
		{"exponential: more than a duration can hold", lifecycle.Failed, 2000, 2000, 0, 9, 10 * second, 0, most},
		{"factor 1: the interval is constant", lifecycle.Failed, 7, 7, 0, 1, 10 * second, 0, 10 * second},
		{"rejected: only rejections count", lifecycle.Refused, 3, 5, 0, 2, 10 * second, 0, 20 * second},
		{"succeeded: the interval does not grow", lifecycle.Succeeded, 9, 9, 0, 2, 10 * second, 0, 10 * second},
		{"an interval of 0", lifecycle.Failed, 9, 9, 0, 2, 0, 0, minDelay},
		{"an interval of 0 after a success", lifecycle.Succeeded, 9, 9, 0, 2, 0, 0, minDelay},
		{"a negative interval", lifecycle.Failed, 1, 1, 0, 0, -second, 0, minDelay},
		{"a factor below 1", lifecycle.Failed, 9, 9, 0, 0.1, 10 * second, 0, minDelay},
		{"a maximum below MinDelay", lifecycle.Refused, 1, 9, 0, 0, 10 * second, time.Millisecond, minDelay},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &step{
				app: lifecycle.App{Restart: lifecycle.Restart{FailureInterval: c.interval,
					SubmissionInterval: c.interval, Factor: c.factor, Max: c.max}},
				m: lifecycle.Memory{Outcome: c.outcome, Runs: c.runs, Submissions: c.submissions,
					SuspendedRuns: c.spared},
			}
			if got := s.restartDelay(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestSuspend(t *testing.T) {
	run(t, []row{
		{"running: the attempt is deleted", appWith(suspended), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"the driver has succeeded", appWith(suspended), memoryIn(lifecycle.Running), driver(lifecycle.DriverSucceeded),
			at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"a finished application is not suspended", appWith(suspended),
			memoryIn(lifecycle.Retained, outcome(lifecycle.Failed, "Error", 50)), driver(lifecycle.DriverFailed),
			at(60),
			want{outcome: lifecycle.Failed, reason: "Error"}},
		{"waiting for a retry: the attempt is deleted", appWith(suspended, retries(1)),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(60)),
			driver(lifecycle.DriverFailed), at(55),
			want{trail: phases(lifecycle.Suspending), do: acts(remove(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"suspending: a live read follows when no object is observed", appWith(suspended),
			memoryIn(lifecycle.Suspending), nothing, at(60), want{do: acts(confirm(1)), check: rereadDelay}},
		{"suspending: no objects are left", appWith(suspended), memoryIn(lifecycle.Suspending), confirmed, at(60),
			want{trail: phases(lifecycle.Suspended), reason: lifecycle.ReasonSuspended}},
		{"resumed while suspending: the attempt is deleted first", appWith(), memoryIn(lifecycle.Suspending),
			driver(lifecycle.DriverRunning), at(60),
			want{do: acts(stop(1)), check: repeatDelay}},
		{"resumed while suspending: no objects are left", appWith(), memoryIn(lifecycle.Suspending), confirmed, at(60),
			want{trail: phases(lifecycle.Suspended, lifecycle.Resuming, lifecycle.Launched), do: acts(create(2)),
				check: 10 * second, attempt: 2}},
		{"suspended: no objects are left", appWith(suspended), memoryIn(lifecycle.Suspended), nothing, at(60), want{}},
		{"suspended: remaining objects are deleted", appWith(suspended), memoryIn(lifecycle.Suspended),
			lifecycle.Observed{RemainingAttempts: []int32{1}}, at(60),
			want{do: acts(remove(1)), check: repeatDelay}},
		{"resumed", appWith(), memoryIn(lifecycle.Suspended), confirmed, at(60),
			want{trail: phases(lifecycle.Resuming, lifecycle.Launched), do: acts(create(2)), check: 10 * second,
				attempt: 2}},
		{"resumed and rejected", appWith(), memoryIn(lifecycle.Suspended), refused(true), at(60),
			want{trail: phases(lifecycle.Resuming, lifecycle.Ended, lifecycle.Done), do: acts(remove(2)), attempt: 2,
				outcome: lifecycle.Refused, reason: "Forbidden"}},
		{"first launch after being created suspended", appWith(),
			lifecycle.Memory{Phase: lifecycle.Suspended, Since: t0}, nothing, at(60),
			want{trail: phases(lifecycle.Resuming, lifecycle.Launched), do: acts(create(1)), check: 10 * second}},
		{"a launch that was not stored is stored before the suspension", appWith(suspended),
			memoryIn(lifecycle.Suspended),
			driver(lifecycle.DriverRunning, attempt(2)), at(60),
			want{trail: phases(lifecycle.Launched, lifecycle.Suspending), do: acts(stop(2)), check: repeatDelay,
				attempt: 2, reason: lifecycle.ReasonSuspended}},
	})
}

func TestEdit(t *testing.T) {
	run(t, []row{
		{"running", appWith(edited), memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(7)), at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"finished", appWith(edited), memoryIn(lifecycle.Retained, outcome(lifecycle.Failed, "Error", 50)),
			driver(lifecycle.DriverFailed), at(60),
			want{trail: phases(lifecycle.Editing), do: acts(remove(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"finished, and no objects are left", appWith(edited),
			memoryIn(lifecycle.Done, outcome(lifecycle.Failed, "Error", 50)), confirmed, at(60),
			want{trail: phases(lifecycle.Editing, lifecycle.Launched), do: acts(create(2)), check: 10 * second,
				attempt: 2}},
		{"on a lost node: the next attempt waits", appWith(edited), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverUnknown), at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonNodeLost}},
		{"suspended: only the hash is stored", appWith(edited, suspended), memoryIn(lifecycle.Suspended), nothing,
			at(60), want{}},
		{"running, and suspended in the same update", appWith(edited, suspended), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"suspended in the same update, and no objects are left", appWith(edited, suspended),
			memoryIn(lifecycle.Running), confirmed, at(60),
			want{trail: phases(lifecycle.Suspending, lifecycle.Suspended), reason: lifecycle.ReasonSuspended}},
		{"suspended in the same update, before a retry", appWith(edited, suspended, retries(1)),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(90)), confirmed, at(60),
			want{trail: phases(lifecycle.Suspending, lifecycle.Suspended), reason: lifecycle.ReasonSuspended}},
		{"suspended in the same update, after the end", appWith(edited, suspended),
			memoryIn(lifecycle.Retained, outcome(lifecycle.Failed, "Error", 50)), driver(lifecycle.DriverFailed),
			at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(remove(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"suspended in the same update, on a lost node", appWith(edited, suspended), memoryIn(lifecycle.Unknown),
			driver(lifecycle.DriverUnknown), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonNodeLost}},
		{"suspended while the old run is deleted", appWith(edited, suspended), memoryIn(lifecycle.Editing),
			driver(lifecycle.DriverRunning), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"while it is being suspended", appWith(edited, suspended), memoryIn(lifecycle.Suspending),
			driver(lifecycle.DriverRunning), at(60),
			want{do: acts(stop(1)), check: repeatDelay}},
		{"resumed in the same update, while suspending", appWith(edited), memoryIn(lifecycle.Suspending), confirmed,
			at(60),
			want{trail: phases(lifecycle.Suspended, lifecycle.Resuming, lifecycle.Launched), do: acts(create(2)),
				check: 10 * second, attempt: 2}},
		{"resumed in the same update", appWith(edited), memoryIn(lifecycle.Suspended), confirmed, at(60),
			want{trail: phases(lifecycle.Resuming, lifecycle.Launched), do: acts(create(2)), check: 10 * second,
				attempt: 2}},
		{"while it is being resumed", appWith(edited), memoryIn(lifecycle.Resuming),
			lifecycle.Observed{RemainingAttempts: []int32{1}}, at(60),
			want{do: acts(remove(1)), check: repeatDelay}},
		{"before the first launch: a live read looks for an earlier launch", appWith(edited), lifecycle.Memory{},
			nothing, at(60),
			want{do: acts(confirm(1)), check: rereadDelay, attempt: none}},
		{"before the first launch: an earlier launch is found", appWith(edited), lifecycle.Memory{},
			driver(lifecycle.DriverPending, func(d *lifecycle.Driver) { d.SpecHash = "1:a" }), at(60),
			want{trail: phases(lifecycle.Launched, lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"created suspended, edited and resumed: a live read looks for an earlier launch", appWith(edited),
			lifecycle.Memory{Phase: lifecycle.Suspended, Since: t0}, nothing, at(60),
			want{trail: phases(lifecycle.Resuming), do: acts(confirm(1)), check: rereadDelay, attempt: none}},
		{"before the first launch", appWith(edited), lifecycle.Memory{}, confirmed, at(60),
			want{trail: phases(lifecycle.Launched), do: acts(create(1)), check: 10 * second}},
		{"a hash of another version is no edit", appWith(func(a *lifecycle.App) { a.SpecHash = "2:z" }),
			memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60), want{}},
		{"without a remembered hash, there is no edit", appWith(edited),
			memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.SpecHash = "" }),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60), want{}},
		{"between a launch and its status write", appWith(edited),
			memoryIn(lifecycle.Launched, func(m *lifecycle.Memory) { m.SpecHash = "1:b" }),
			driver(lifecycle.DriverRunning, func(d *lifecycle.Driver) { d.SpecHash = "1:a" }), at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
	})
}

// TestSuspensionsAreSpared checks that a suspended run is counted separately. A run that had already failed when it was
// suspended counts as a failure.
func TestSuspensionsAreSpared(t *testing.T) {
	for _, c := range []struct {
		name string
		mem  lifecycle.Memory
		seen lifecycle.Observed
		want int32
	}{
		{"while it runs", memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(7)), 1},
		{"before it runs", memoryIn(lifecycle.Launched), driver(lifecycle.DriverPending), 1},
		{"on a lost node", memoryIn(lifecycle.Unknown), driver(lifecycle.DriverUnknown), 1},
		{"after two suspended runs", memoryIn(lifecycle.Running, withRuns(4, 2)),
			driver(lifecycle.DriverRunning, readyAt(7)), 3},
		{"before its retry", memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(90)),
			driver(lifecycle.DriverFailed), 0},
		{"while it is being suspended", memoryIn(lifecycle.Suspending, withRuns(1, 1)),
			driver(lifecycle.DriverRunning), 1},
		{"created suspended", lifecycle.Memory{}, nothing, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := Step(appWith(suspended, retries(1)), c.mem, c.seen, at(60)).Next
			if next.SuspendedRuns != c.want || next.Runs != c.mem.Runs {
				t.Errorf("%d of %d runs are spared, want %d of %d", next.SuspendedRuns, next.Runs, c.want, c.mem.Runs)
			}
		})
	}
}

// TestEditsOfAQueue checks edits that a queue writes together with the start or the end of a suspension. They must not
// reset the counts: an application with one retry still has exactly one after three preemptions and admissions.
func TestEditsOfAQueue(t *testing.T) {
	now, hash := 60, 0
	app := appWith(retries(1))
	m := memoryIn(lifecycle.Running)
	pass := func(seen lifecycle.Observed) {
		t.Helper()

		now += 60
		plan := Step(app, m, seen, at(now))
		checkPlan(t, app, m, seen, at(now), plan)
		m = plan.Next
	}

	write := func(suspend bool) {
		hash++
		app.Suspend, app.SpecHash = suspend, fmt.Sprint("1:", hash)
	}
	for range 3 {
		write(true)
		pass(driver(lifecycle.DriverRunning, attempt(m.Attempt)))

		if m.Phase != lifecycle.Suspending {
			t.Fatalf("suspended and edited: phase %s", m.Phase)
		}

		pass(confirmed)
		write(false)
		pass(confirmed)
		pass(driver(lifecycle.DriverRunning, attempt(m.Attempt), readyAt(now)))
	}

	if m.Phase != lifecycle.Running || m.Attempt != 4 || m.Runs != 4 || m.Submissions != 4 || m.SuspendedRuns != 3 {
		t.Fatalf("after the last admission: %+v", m)
	}

	pass(driver(lifecycle.DriverFailed, attempt(4)))

	if m.Phase != lifecycle.Waiting {
		t.Fatalf("after the first failure: phase %s", m.Phase)
	}

	pass(confirmed)
	pass(driver(lifecycle.DriverFailed, attempt(5)))

	if m.Phase != lifecycle.Retained || m.Runs != 5 {
		t.Fatalf("after the second failure: phase %s with %d runs", m.Phase, m.Runs)
	}
	// After an edit, a finished application counts as a new one, even if it is suspended.
	write(true)
	pass(confirmed)

	if m.Phase != lifecycle.Suspended || m.Runs != 0 || m.SuspendedRuns != 0 {
		t.Fatalf("edited and suspended after the end: phase %s with %d runs, %d suspended", m.Phase, m.Runs,
			m.SuspendedRuns)
	}
}

func TestEditStartsCountingAnew(t *testing.T) {
	mem := memoryIn(lifecycle.Running,
		func(m *lifecycle.Memory) { m.Runs, m.Submissions, m.SuspendedRuns, m.Attempt = 3, 4, 2, 4 })

	next := Step(appWith(edited), mem, confirmed, at(60)).Next
	if next.Runs != 1 || next.Submissions != 1 || next.SuspendedRuns != 0 || next.Attempt != 5 ||
		next.SpecHash != "1:b" {
		t.Errorf("runs %d, submissions %d, attempt %d, hash %s; want 1, 1, 5, 1:b", next.Runs, next.Submissions,
			next.Attempt, next.SpecHash)
	}
}

func TestExpiry(t *testing.T) {
	ttl := func(n int) func(*lifecycle.App) {
		return func(a *lifecycle.App) { a.TTL = new(time.Duration(n) * second) }
	}
	expire := lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Application}
	over := memoryIn(lifecycle.Retained, outcome(lifecycle.Succeeded, "", 50))
	run(t, []row{
		{"a second before the expiry", appWith(ttl(30)), over, driver(lifecycle.DriverSucceeded), at(79),
			want{check: second, outcome: lifecycle.Succeeded}},
		{"at the expiry", appWith(ttl(30)), over, driver(lifecycle.DriverSucceeded), at(80),
			want{do: acts(expire), check: repeatDelay, outcome: lifecycle.Succeeded}},
		{"the end of the run is unknown", appWith(ttl(30)),
			memoryIn(lifecycle.Done, func(m *lifecycle.Memory) { m.Outcome = lifecycle.Succeeded }), nothing, at(60),
			want{check: 30 * second, outcome: lifecycle.Succeeded}},
		{"a time to live of 0: the end is stored first", appWith(ttl(0)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), do: acts(expire), check: repeatDelay,
				outcome: lifecycle.Succeeded}},
		{"a negative time to live", appWith(ttl(-5)), over, driver(lifecycle.DriverSucceeded), at(60),
			want{do: acts(expire), check: repeatDelay, outcome: lifecycle.Succeeded}},
		{"a running application does not expire", appWith(ttl(0)), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(7)), at(60), want{}},
		{"an edit has priority over the expiry", appWith(ttl(0), edited), over, driver(lifecycle.DriverSucceeded),
			at(60),
			want{trail: phases(lifecycle.Editing), do: acts(remove(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"somebody deleted the driver: a live read follows", appWith(), over,
			lifecycle.Observed{RemainingAttempts: []int32{1}}, at(60),
			want{do: acts(confirm(1)), check: rereadDelay, outcome: lifecycle.Succeeded}},
		{"somebody deleted the driver: the other objects are deleted", appWith(), over,
			lifecycle.Observed{RemainingAttempts: []int32{1}, Confirmed: true}, at(60),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Succeeded}},
	})
}

// TestStuckDeletion checks the message about a driver that cannot be deleted. The message contains the name of the
// driver and the time at which the driver should have been deleted. It is the same in every pass.
func TestStuckDeletion(t *testing.T) {
	stuck := driver(lifecycle.DriverRunning, dueToGo(60))

	want := "driver pod app-driver should have been deleted before 2026-03-01T12:01:00Z, so its node may be dead; the next attempt starts when the pod is gone"
	for _, mem := range []lifecycle.Memory{memoryIn(lifecycle.Editing), memoryIn(lifecycle.Suspending),
		memoryIn(lifecycle.Resuming)} {
		app := appWith(func(a *lifecycle.App) { a.Suspend = mem.Phase == lifecycle.Suspending })
		first := Step(app, mem, stuck, at(100))

		second := Step(app, first.Next, stuck, at(200))
		if first.Next.Cause.Message != want || len(first.Notices) != 1 || second.Next.Cause != first.Next.Cause ||
			len(second.Notices) != 0 {
			t.Errorf("%s: reported %v, then %v; remembers %q", mem.Phase, first.Notices, second.Notices,
				second.Next.Cause.Message)
		}
	}
}

// TestTellsOnce checks that a new wait reason is reported, and that a new message with the same reason is not.
func TestTellsOnce(t *testing.T) {
	waiting := func(message string) lifecycle.Observed {
		return driver(lifecycle.DriverPending,
			func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: "Unschedulable", Message: message} })
	}
	first := Step(appWith(), memoryIn(lifecycle.Launched), waiting("0/3"), at(20))

	want := []lifecycle.Notice{{
		Part: lifecycle.DriverPod, Name: "app-driver", Waits: true, Attempt: 1,
		Cause: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3"},
	}}
	if diff := cmp.Diff(want, first.Notices); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}

	second := Step(appWith(), first.Next, waiting("0/4"), at(25))
	if len(second.Notices) > 0 || second.Next.Cause.Message != "0/4" {
		t.Errorf("second pass: reported %v, remembers %q; want nothing reported, 0/4 remembered", second.Notices,
			second.Next.Cause.Message)
	}
}

// TestUnasked checks when the memory loses its wait reason. If the operator did not query for the reason in this pass,
// the memory keeps it. If the operator queried and found none, the memory loses it.
func TestUnasked(t *testing.T) {
	known := memoryIn(lifecycle.Launched,
		func(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: "FailedMount", Message: "no such secret"} })
	for _, test := range []struct {
		name    string
		unasked bool
		says    string
		want    string
	}{
		{"the operator did not query", true, "", "FailedMount"},
		{"the operator queried and found no reason", false, "", ""},
		{"the pod's status contains the reason", true, "ErrImagePull", "ErrImagePull"},
	} {
		seen := driver(lifecycle.DriverPending,
			func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: test.says} })

		seen.QuerySkipped = test.unasked
		if got := Step(appWith(), known, seen, at(20)).Next.Cause.Reason; got != test.want {
			t.Errorf("%s: it remembers %q, want %q", test.name, got, test.want)
		}
	}

	runs := driver(lifecycle.DriverRunning)

	runs.QuerySkipped = true
	if next := Step(appWith(), known, runs, at(20)).Next; next.Phase == lifecycle.Launched ||
		next.Cause.Reason == "FailedMount" {
		t.Errorf("a driver that runs is in phase %s and waits for %q", next.Phase, next.Cause.Reason)
	}
}

// TestLongMessages checks that long messages are cut. A condition with a message above the API server's limit would
// prevent every status write.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("é", 40000)
	seen := lifecycle.Observed{Confirmed: true, Rejection: &lifecycle.Cause{Reason: "Invalid", Message: long}}

	waiting := driver(lifecycle.DriverPending,
		func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: "Unschedulable", Message: long} })
	for _, plan := range []lifecycle.Plan{
		Step(appWith(), lifecycle.Memory{}, seen, t0),
		Step(appWith(), memoryIn(lifecycle.Launched), waiting, at(5)),
	} {
		if m := plan.Next.Cause.Message; len(m) > lifecycle.MaxMessage+3 || m == "" || strings.ToValidUTF8(m, "") != m {
			t.Errorf("a message of %d bytes is remembered", len(m))
		}
	}
}

// TestNodeClockIsBehind checks that an attempt never ends before its submission, from which the delay of a retry and
// the lifetime of the application then count.
func TestNodeClockIsBehind(t *testing.T) {
	app := appWith(func(a *lifecycle.App) { a.TTL = new(30 * second) })

	behind := driver(lifecycle.DriverFailed, func(d *lifecycle.Driver) { d.StartedAt, d.EndedAt = at(-115), at(-100) })

	plan := Step(app, memoryIn(lifecycle.Running), behind, at(20))
	if wait := plan.RequeueAfter; !plan.Next.EndedAt.Equal(t0) || wait > 10*second || wait <= 0 {
		t.Errorf("the attempt ends at %s, and the next pass is in %s", plan.Next.EndedAt, plan.RequeueAfter)
	}
}
