package application

import (
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// withTransientErrors adds transient errors to an observation. They began the given number of seconds after t0.
func withTransientErrors(seen lifecycle.Observed, since int) lifecycle.Observed {
	seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "WebhookFailed", Message: "nobody answers"}, Since: at(since)}
	return seen
}

func startsIn(limit time.Duration) func(*lifecycle.App) {
	return func(a *lifecycle.App) { a.Deadlines.DriverStart = limit }
}

func runsFor(limit time.Duration) func(*lifecycle.App) {
	return func(a *lifecycle.App) { a.Deadlines.Run = limit }
}

// TestTransientErrors checks decisions during transient errors. They must request nothing that would fail. Apart from
// that, they must decide as usual, and deadlines still apply.
func TestTransientErrors(t *testing.T) {
	fresh := lifecycle.Memory{}
	left := lifecycle.Observed{RemainingAttempts: []int32{1}}
	limited := appWith(startsIn(30 * second))
	run(t, []row{
		{name: "a launch is held", app: appWith(), mem: fresh, seen: withTransientErrors(nothing, 50),
			want: want{attempt: none, check: repeatDelay}},
		{name: "a launch has its time", app: limited, mem: fresh, seen: withTransientErrors(nothing, 31),
			want: want{attempt: none, check: second}},
		{name: "a launch whose time is over is looked for", app: limited, mem: fresh, seen: withTransientErrors(nothing, 30),
			want: want{attempt: none, do: []lifecycle.Action{confirm(1)}, check: rereadDelay}},
		{name: "a launch whose time is over failed as a submission", app: limited, mem: fresh, seen: withTransientErrors(confirmed, 30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, do: []lifecycle.Action{remove(1)}, outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "and is made again by policy", app: appWith(startsIn(30*second), retries(1)), mem: fresh, seen: withTransientErrors(confirmed, 30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Waiting}, do: []lifecycle.Action{remove(1)}, check: 20 * second, outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "a rejection counts during transient errors", app: appWith(), mem: fresh, seen: withTransientErrors(refused(true), 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, do: []lifecycle.Action{remove(1)}, outcome: lifecycle.Refused, reason: "Forbidden"}},
		{name: "an invalid spec is rejected during transient errors", app: appWith(func(a *lifecycle.App) { a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid} }), mem: fresh, seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.Refused, reason: lifecycle.ReasonInvalid}},
		{name: "a resumed launch is held where it is", app: appWith(), mem: memoryIn(lifecycle.Suspended), seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Resuming}, check: rereadDelay}},
		{name: "a retry is held", app: appWith(retries(1)), mem: memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)), seen: withTransientErrors(nothing, 50),
			want: want{check: rereadDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{name: "a retry whose time is over is looked for", app: appWith(retries(1), startsIn(5*second)), mem: memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)), seen: withTransientErrors(nothing, 50),
			want: want{do: []lifecycle.Action{confirm(1)}, check: rereadDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{name: "a retry whose time is over failed", app: appWith(retries(1), startsIn(5*second)), mem: memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)), seen: withTransientErrors(confirmed, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Waiting}, do: []lifecycle.Action{remove(2)}, attempt: 2, check: 40 * second, outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "what does not go is waited for", app: appWith(suspended), mem: memoryIn(lifecycle.Suspending), seen: withTransientErrors(left, 50),
			want: want{check: repeatDelay}},
		{name: "an end is an end", app: appWith(), mem: memoryIn(lifecycle.Running), seen: withTransientErrors(withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverRunning), 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Retained}, outcome: lifecycle.Succeeded}},
		{name: "a driver that cannot be looked for", app: limited, mem: memoryIn(lifecycle.Launched), seen: withTransientErrors(nothing, 50), now: at(29),
			want: want{check: second}},
		{name: "has its time to start", app: limited, mem: memoryIn(lifecycle.Launched), seen: withTransientErrors(nothing, 50), now: at(30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.StartTimedOut, reason: lifecycle.ReasonStartTimedOut}},
		{name: "and to run", app: appWith(runsFor(60 * second)), mem: memoryIn(lifecycle.Running), seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.RunTimedOut, reason: lifecycle.ReasonRunTimedOut}},
		{name: "also where its node was lost", app: appWith(runsFor(61*second), startsIn(second)), mem: memoryIn(lifecycle.Unknown), seen: withTransientErrors(nothing, 50),
			want: want{check: second}},
		{name: "a time to live waits", app: appWith(func(a *lifecycle.App) { a.TTL = new(second) }), mem: memoryIn(lifecycle.Done, outcome(lifecycle.Succeeded, "", 10)), seen: withTransientErrors(nothing, 50),
			want: want{check: repeatDelay, outcome: lifecycle.Succeeded}},
	})
}

// TestTransientErrorIsTheCause checks that the cause of an attempt that exceeds a deadline during transient errors
// names the transient error.
func TestTransientErrorIsTheCause(t *testing.T) {
	for _, mem := range []lifecycle.Memory{{}, memoryIn(lifecycle.Launched)} {
		plan := Step(appWith(startsIn(second)), mem, withTransientErrors(confirmed, 0), at(60))
		if mem.Attempt > 0 {
			plan = Step(appWith(startsIn(second)), mem, withTransientErrors(nothing, 0), at(60))
		}
		if m := plan.Next.Cause.Message; !strings.Contains(m, "within 1s") || !strings.HasSuffix(m, "WebhookFailed: nobody answers") {
			t.Errorf("%q", m)
		}
	}
}
