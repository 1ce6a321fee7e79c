package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// forced returns the given deletion without a grace period.
func forced(a lifecycle.Action) lifecycle.Action { a.Force = true; return a }

// TestRetention checks which objects of the last attempt are kept, for each policy and outcome.
func TestRetention(t *testing.T) {
	ended := func(o lifecycle.Outcome) lifecycle.Memory { return memoryIn(lifecycle.Ended, outcome(o, "r", 50)) }
	retained := func(o lifecycle.Outcome) lifecycle.Memory {
		return memoryIn(lifecycle.Retained, outcome(o, "r", 50), func(m *lifecycle.Memory) { m.Since = at(55) })
	}
	well, ill := observedAttempt(1, lifecycle.DriverSucceeded), observedAttempt(1, lifecycle.DriverFailed)
	stays := func(o lifecycle.Outcome) want {
		return want{trail: phases(lifecycle.Retained), outcome: o, reason: "r"}
	}
	goes := func(o lifecycle.Outcome, do ...lifecycle.Action) want {
		return want{do: do, check: 2 * second, outcome: o, reason: "r"}
	}
	over := func(o lifecycle.Outcome) want { return want{trail: phases(lifecycle.Done), outcome: o, reason: "r"} }
	remains := lifecycle.Observed{RemainingAttempts: []int32{1}}
	run(t, []row{
		{"always: success", secondFamily(retain(lifecycle.RetainAlways)), ended(lifecycle.Succeeded), well, at(60),
			stays(lifecycle.Succeeded)},
		{"always: failure", secondFamily(retain(lifecycle.RetainAlways)), ended(lifecycle.Failed), ill, at(60),
			stays(lifecycle.Failed)},
		{"on failure: failure", secondFamily(retain(lifecycle.RetainOnFailure)), ended(lifecycle.Evicted), ill, at(60),
			stays(lifecycle.Evicted)},
		{"on failure: success is deleted", secondFamily(retain(lifecycle.RetainOnFailure)), ended(lifecycle.Succeeded),
			well, at(60), goes(lifecycle.Succeeded, remove(1))},
		{"never: success is deleted", secondFamily(), ended(lifecycle.Succeeded), well, at(60),
			goes(lifecycle.Succeeded, remove(1))},
		{"never: failure is deleted", secondFamily(), ended(lifecycle.Failed), ill, at(60),
			goes(lifecycle.Failed, remove(1))},
		{"never: objects remain after the pod", secondFamily(), ended(lifecycle.Failed), remains, at(60),
			goes(lifecycle.Failed, remove(1))},
		{"never: executors remain after the driver", secondFamily(), ended(lifecycle.Lost),
			withExecutors(nothing, lifecycle.DriverSucceeded), at(60),
			goes(lifecycle.Lost, remove(1))},
		{"never: no objects are left", secondFamily(), ended(lifecycle.Failed), nothing, at(60),
			over(lifecycle.Failed)},
		{"always, for 0 s", secondFamily(retain(lifecycle.RetainAlways, 0)), ended(lifecycle.Succeeded), well, at(60),
			goes(lifecycle.Succeeded, remove(1))},
		{"always: no objects exist", secondFamily(retain(lifecycle.RetainAlways)), ended(lifecycle.Lost), nothing,
			at(60), over(lifecycle.Lost)},
		{"always: a pod that is being deleted does not count as kept", secondFamily(retain(lifecycle.RetainAlways)),
			ended(lifecycle.ReadyTimedOut),
			observedAttempt(1, lifecycle.DriverFailed, deleting), at(60), goes(lifecycle.ReadyTimedOut, remove(1))},
		{"without a retention rule, a pod that is being deleted is not awaited", appWith(),
			ended(lifecycle.ReadyTimedOut), observedAttempt(1, lifecycle.DriverFailed, deleting), at(60),
			stays(lifecycle.ReadyTimedOut)},
		{"always: a running driver is stopped", secondFamily(retain(lifecycle.RetainAlways)),
			ended(lifecycle.ReadyTimedOut), observedAttempt(1, lifecycle.DriverRunning),
			at(60), goes(lifecycle.ReadyTimedOut, stop(1))},

		{"during the retention", secondFamily(retain(lifecycle.RetainAlways, 20)), retained(lifecycle.Succeeded), well,
			at(60),
			want{check: 15 * second, outcome: lifecycle.Succeeded, reason: "r"}},
		{"a second before the end of the retention", secondFamily(retain(lifecycle.RetainAlways, 20)),
			retained(lifecycle.Succeeded), well, at(74),
			want{check: second, outcome: lifecycle.Succeeded, reason: "r"}},
		{"at the end of the retention", secondFamily(retain(lifecycle.RetainAlways, 20)), retained(lifecycle.Succeeded),
			well, at(75), goes(lifecycle.Succeeded, remove(1))},
		{"after the retention, when all objects are deleted", secondFamily(retain(lifecycle.RetainAlways, 20)),
			retained(lifecycle.Succeeded), nothing, at(76), over(lifecycle.Succeeded)},
		{"the rule has changed to never", secondFamily(), retained(lifecycle.Succeeded), well, at(60),
			goes(lifecycle.Succeeded, remove(1))},
		{"the time to live ends before the retention",
			secondFamily(retain(lifecycle.RetainAlways, 20), func(a *lifecycle.App) { a.TTL = new(5 * second) }),
			retained(lifecycle.Succeeded), well, at(60),
			want{do: acts(lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Application}), check: repeatDelay,
				outcome: lifecycle.Succeeded, reason: "r"}},
		{"Done: an interrupted launch left objects", secondFamily(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Failed, "r", 50)),
			lifecycle.Observed{RemainingAttempts: []int32{2}}, at(60), goes(lifecycle.Failed, remove(2))},
		{"Done: a driver pod appears late", secondFamily(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Failed, "r", 50)), ill, at(60),
			goes(lifecycle.Failed, remove(1))},
		{"Done, without a retention rule: the driver pod stays", appWith(),
			memoryIn(lifecycle.Done, outcome(lifecycle.Failed, "r", 50)), ill, at(60),
			want{outcome: lifecycle.Failed, reason: "r"}},
	})
}

// TestNothingIsRetainedBetweenAttempts checks that the next attempt waits until all objects of the last attempt are
// deleted, whatever the retention policy says.
func TestNothingIsRetainedBetweenAttempts(t *testing.T) {
	for _, policy := range []lifecycle.RetainPolicy{lifecycle.RetainAlways, lifecycle.RetainOnFailure,
		lifecycle.RetainNever} {
		app := secondFamily(restarts(lifecycle.OnFailure, 3), retain(policy))
		waiting := memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "r", 50), due(80))
		run(t, []row{
			{string(policy) + ": its log is there until the interval is over", app, waiting,
				observedAttempt(1, lifecycle.DriverFailed), at(60),
				want{check: 20 * second, outcome: lifecycle.Failed, reason: "r"}},
			{string(policy) + ": then it goes", app, waiting, observedAttempt(1, lifecycle.DriverFailed), at(80),
				want{do: acts(remove(1)), check: 2 * second, outcome: lifecycle.Failed, reason: "r"}},
			{string(policy) + ": and the next one comes", app, waiting, confirmed, at(81),
				want{trail: phases(lifecycle.Launched), do: acts(create(2)), check: 60 * second, attempt: 2}},
		})
	}
}

// TestForce checks, to the second, when the operator begins to delete the remaining objects without a grace period. An
// attempt that should exist is never deleted without a grace period.
func TestForce(t *testing.T) {
	app := secondFamily(func(a *lifecycle.App) { a.ForceAfter, a.CleanupInterval = 100*second, 0 })
	never := secondFamily(func(a *lifecycle.App) { a.ForceAfter, a.CleanupInterval = 0, 0 })
	deleted := func(seconds int) lifecycle.App {
		app := app
		app.Deleting, app.DeletedAt = true, at(seconds)
		return app
	}
	timedOut := memoryIn(lifecycle.Ended, outcome(lifecycle.ReadyTimedOut, "r", 50))
	stuck, ended := observedAttempt(1, lifecycle.DriverRunning, dueToGo(80)),
		observedAttempt(1, lifecycle.DriverFailed, dueToGo(80))
	lost := observedAttempt(1, lifecycle.DriverUnknown, dueToGo(80))
	goes := func(check time.Duration, do lifecycle.Action) want {
		return want{do: acts(do), check: check, outcome: lifecycle.ReadyTimedOut, reason: "r"}
	}
	run(t, []row{
		{"a driver is asked to stop", app, timedOut, stuck, at(60), goes(repeatDelay, stop(1))},
		{"the deadline is before the next repetition", app, timedOut, ended, at(140), goes(10*second, remove(1))},
		{"the deadline has passed", app, timedOut, ended, at(150), goes(repeatDelay, forced(remove(1)))},
		{"a lost node, a second before the deadline", app, timedOut, lost, at(149), goes(second, remove(1))},
		{"a lost node, at the deadline", app, timedOut, lost, at(150), goes(repeatDelay, forced(remove(1)))},
		{"a driver in its grace period, at the deadline", app, timedOut,
			observedAttempt(1, lifecycle.DriverRunning, dueToGo(200)), at(150), goes(repeatDelay, forced(stop(1)))},
		{"ForceAfter is 0", never, timedOut, lost, at(9000), goes(repeatDelay, remove(1))},
		{"before the next attempt", func() lifecycle.App { a := app; restarts(lifecycle.Always, 9)(&a); return a }(),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "r", 50)), ended, at(200),
			want{do: acts(forced(remove(1))), check: repeatDelay, outcome: lifecycle.Failed,
				reason: lifecycle.ReasonDriverDeleting}},
		{"an attempt that should exist", app, memoryIn(lifecycle.Running),
			observedAttempt(1, lifecycle.DriverRunning, dueToGo(80)), at(9000),
			want{trail: phases(lifecycle.Unknown), reason: lifecycle.ReasonNodeLost}},
		{"the application is deleted", deleted(60), memoryIn(lifecycle.Running),
			observedAttempt(1, lifecycle.DriverRunning), at(61), want{do: acts(remove(1)), check: repeatDelay}},
		{"the application was deleted long ago", deleted(60), memoryIn(lifecycle.Running),
			observedAttempt(1, lifecycle.DriverRunning), at(160),
			want{do: acts(forced(remove(1))), check: repeatDelay}},
		{"the application is deleted long after the attempt's end", deleted(60), timedOut, ended, at(150),
			goes(repeatDelay, forced(remove(1)))},
		{"the application is deleted after a launch that was not stored", deleted(140), timedOut,
			observedAttempt(2, lifecycle.DriverRunning), at(150), goes(repeatDelay, remove(2))},
		{"the time of the deletion is unknown", func() lifecycle.App { a := app; a.Deleting = true; return a }(),
			memoryIn(lifecycle.Running),
			observedAttempt(1, lifecycle.DriverRunning), at(9000), want{do: acts(remove(1)), check: repeatDelay}},
		{"the application was suspended long ago", func() lifecycle.App { a := app; a.Suspend = true; return a }(), memoryIn(lifecycle.Suspending), lost, at(180),
			want{do: acts(forced(remove(1))), check: repeatDelay, reason: lifecycle.ReasonNodeLost}},
		{"a suspended driver is asked to stop first", func() lifecycle.App { a := app; a.Suspend = true; return a }(), memoryIn(lifecycle.Suspending),
			observedAttempt(1, lifecycle.DriverRunning), at(9000), want{do: acts(stop(1)), check: repeatDelay}},
		{"a restart request does not shorten the grace period", func() lifecycle.App { a := app; a.Suspend = true; return a }(),
			memoryIn(lifecycle.Suspending, func(m *lifecycle.Memory) { m.EndedAt = at(1) }), lost, at(150),
			want{do: acts(remove(1)), check: repeatDelay, reason: lifecycle.ReasonNodeLost}},
		{"a suspended driver in its grace period is not forced", func() lifecycle.App { a := app; a.Suspend = true; return a }(), memoryIn(lifecycle.Suspending), lost, at(100),
			want{do: acts(stop(1)), check: 10 * second, reason: lifecycle.ReasonNodeLost}},
	})
}
