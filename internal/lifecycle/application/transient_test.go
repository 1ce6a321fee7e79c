package application

import (
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// withTransientErrors adds transient errors to an observation. They began the given number of seconds after t0.
func withTransientErrors(seen lifecycle.Observed, since int) lifecycle.Observed {
	seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "WebhookFailed",
		Message: "nobody answers"}, Since: at(since)}
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
		{name: "a launch waits", app: appWith(), mem: fresh, seen: withTransientErrors(nothing, 50),
			want: want{attempt: none, check: repeatDelay}},
		{name: "a launch waits, a second before its deadline", app: limited, mem: fresh,
			seen: withTransientErrors(nothing, 31),
			want: want{attempt: none, check: second}},
		{name: "a launch at its deadline: a live read", app: limited, mem: fresh,
			seen: withTransientErrors(nothing, 30),
			want: want{attempt: none, do: []lifecycle.Action{confirm(1)}, check: rereadDelay}},
		{name: "a launch at its deadline counts as a rejected submission", app: limited, mem: fresh,
			seen: withTransientErrors(confirmed, 30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, do: []lifecycle.Action{remove(1)},
				outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "a launch at its deadline, and the policy allows a retry", app: appWith(startsIn(30*second), retries(1)),
			mem: fresh, seen: withTransientErrors(confirmed, 30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Waiting}, do: []lifecycle.Action{remove(1)},
				check: 20 * second, outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "a rejection counts during transient errors", app: appWith(), mem: fresh,
			seen: withTransientErrors(refused(true), 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, do: []lifecycle.Action{remove(1)},
				outcome: lifecycle.Refused, reason: "Forbidden"}},
		{name: "an invalid spec is rejected during transient errors",
			app: appWith(func(a *lifecycle.App) { a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid} }),
			mem: fresh, seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInvalid}},
		{name: "a resumed application waits in Resuming", app: appWith(), mem: memoryIn(lifecycle.Suspended),
			seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Resuming}, check: rereadDelay}},
		{name: "a retry waits", app: appWith(retries(1)),
			mem:  memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)),
			seen: withTransientErrors(nothing, 50),
			want: want{check: rereadDelay, outcome: lifecycle.Failed, reason: "Error"}},
		{name: "a retry at its deadline: a live read", app: appWith(retries(1), startsIn(5*second)),
			mem:  memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)),
			seen: withTransientErrors(nothing, 50),
			want: want{do: []lifecycle.Action{confirm(1)}, check: rereadDelay, outcome: lifecycle.Failed,
				reason: "Error"}},
		{name: "a retry at its deadline counts as a rejected submission", app: appWith(retries(1), startsIn(5*second)),
			mem:  memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 40), due(50)),
			seen: withTransientErrors(confirmed, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Waiting}, do: []lifecycle.Action{remove(2)},
				attempt: 2, check: 40 * second, outcome: lifecycle.Refused, reason: lifecycle.ReasonStartTimedOut}},
		{name: "remaining objects are not deleted", app: appWith(suspended), mem: memoryIn(lifecycle.Suspending),
			seen: withTransientErrors(left, 50),
			want: want{check: repeatDelay}},
		{name: "the end of a driver counts", app: appWith(), mem: memoryIn(lifecycle.Running),
			seen: withTransientErrors(withExecutors(driver(lifecycle.DriverSucceeded), lifecycle.DriverRunning), 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Retained}, outcome: lifecycle.Succeeded}},
		{name: "a missing driver, a second before its deadline to start", app: limited,
			mem: memoryIn(lifecycle.Launched), seen: withTransientErrors(nothing, 50), now: at(29),
			want: want{check: second}},
		{name: "a missing driver, at its deadline to start", app: limited, mem: memoryIn(lifecycle.Launched),
			seen: withTransientErrors(nothing, 50), now: at(30),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.StartTimedOut,
				reason: lifecycle.ReasonStartTimedOut}},
		{name: "a missing driver, at the deadline of the run", app: appWith(runsFor(60 * second)),
			mem: memoryIn(lifecycle.Running), seen: withTransientErrors(nothing, 50),
			want: want{trail: []lifecycle.Phase{lifecycle.Ended, lifecycle.Done}, outcome: lifecycle.RunTimedOut,
				reason: lifecycle.ReasonRunTimedOut}},
		{name: "a missing driver after a lost node, before the deadline of the run",
			app: appWith(runsFor(61*second), startsIn(second)), mem: memoryIn(lifecycle.Unknown),
			seen: withTransientErrors(nothing, 50),
			want: want{check: second}},
		{name: "an expired application is not deleted", app: appWith(func(a *lifecycle.App) { a.TTL = new(second) }),
			mem: memoryIn(lifecycle.Done, outcome(lifecycle.Succeeded, "", 10)), seen: withTransientErrors(nothing, 50),
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

		if m := plan.Next.Cause.Message; !strings.Contains(m, "within 1s") ||
			!strings.HasSuffix(m, "WebhookFailed: nobody answers") {
			t.Errorf("%q", m)
		}
	}
}
