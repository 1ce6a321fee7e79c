package application

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestPolicies checks every restart policy with every outcome.
func TestPolicies(t *testing.T) {
	infrastructure := []lifecycle.Outcome{lifecycle.StartTimedOut, lifecycle.ExecutorsTimedOut, lifecycle.Refused}
	failures := append([]lifecycle.Outcome{
		lifecycle.Failed, lifecycle.Lost, lifecycle.Evicted, lifecycle.ReadyTimedOut, lifecycle.RunTimedOut,
	}, infrastructure...)

	all := append([]lifecycle.Outcome{lifecycle.Succeeded}, failures...)
	for policy, again := range map[lifecycle.RestartPolicy][]lifecycle.Outcome{
		lifecycle.Never: nil, "": nil, lifecycle.Always: all, lifecycle.OnFailure: failures,
		lifecycle.OnInfrastructureFailure: infrastructure,
	} {
		for _, how := range all {
			want := false
			for _, o := range again {
				want = want || o == how
			}

			s := &step{app: secondFamily(restarts(policy, math.MaxInt64)),
				m: memoryIn(lifecycle.Ended, outcome(how, "r", 50)), now: at(60)}
			if got := s.mayRestart(); got != want {
				t.Errorf("%q after %s: again %v", policy, how, got)
			}
			// The counts of sparkoperator.k8s.io support the policies too.
			s.app.Restart = lifecycle.Restart{Policy: policy, FailureRetries: 9, SubmissionRetries: 9}

			s.m.Submissions++
			if got := s.mayRestart(); got != want {
				t.Errorf("%q after %s, by retries: again %v", policy, how, got)
			}
		}
	}
}

// TestRestartsAreCounted checks the counts of restarts after the end of an attempt, and the limits that prevent another
// attempt.
func TestRestartsAreCounted(t *testing.T) {
	type counts [3]int64 // all, failures, refusals
	restartsOf := func(c counts) lifecycle.Restarts {
		return lifecycle.Restarts{Total: c[0], Failures: c[1], Rejections: c[2]}
	}
	none := func(*lifecycle.RestartLimits) {}
	limits := func(change func(c *lifecycle.RestartLimits)) func(*lifecycle.RestartLimits) { return change }
	failuresAt := func(n int64) func(*lifecycle.RestartLimits) {
		return limits(func(c *lifecycle.RestartLimits) { c.MaxFailures = new(n) })
	}
	refusalsAt := func(n int64) func(*lifecycle.RestartLimits) {
		return limits(func(c *lifecycle.RestartLimits) { c.MaxRejections = new(n) })
	}
	bothAt := func(failures, refusals int64) func(*lifecycle.RestartLimits) {
		return limits(func(c *lifecycle.RestartLimits) {
			c.MaxFailures, c.MaxRejections = new(failures),
				new(refusals)
		})
	}
	most := func(n int64) func(*lifecycle.RestartLimits) {
		return limits(func(c *lifecycle.RestartLimits) { c.MaxRestarts = n })
	}

	reset := func(seconds int) func(*lifecycle.RestartLimits) {
		return limits(func(c *lifecycle.RestartLimits) {
			c.MaxRestarts, c.ResetAfter = 3,
				new(time.Duration(seconds)*second)
		})
	}
	for _, c := range []struct {
		name   string
		limits func(*lifecycle.RestartLimits)
		before counts
		how    lifecycle.Outcome // after an attempt of 50 s
		want   counts            // the counts of the next attempt
		limit  string            // the limit that prevents the next attempt; empty if the next attempt follows
	}{
		{"the first failure", none, counts{}, lifecycle.Failed, counts{1, 1, 0}, ""},
		{"the second failure in a row", none, counts{1, 1, 0}, lifecycle.Evicted, counts{2, 2, 0}, ""},
		{"a success in between", none, counts{2, 2, 0}, lifecycle.Succeeded, counts{3, 0, 0}, ""},
		{"a rejection is a failure", none, counts{2, 2, 0}, lifecycle.Refused, counts{3, 3, 1}, ""},
		{"rejections in a row", none, counts{3, 3, 1}, lifecycle.Refused, counts{4, 4, 2}, ""},
		{"a failure ends a row of rejections", none, counts{4, 4, 2}, lifecycle.StartTimedOut, counts{5, 5, 0}, ""},
		{"a success ends a row of rejections", none, counts{4, 4, 2}, lifecycle.Succeeded, counts{5, 0, 0}, ""},
		{"a lost driver is a failure", none, counts{}, lifecycle.Lost, counts{1, 1, 0}, ""},
		{"a driver that is not ready in time is a failure", none, counts{}, lifecycle.ReadyTimedOut,
			counts{1, 1, 0}, ""},
		{"executors that do not start in time are a failure", none, counts{}, lifecycle.ExecutorsTimedOut,
			counts{1, 1, 0}, ""},
		{"a run that exceeds its deadline is a failure", none, counts{}, lifecycle.RunTimedOut, counts{1, 1, 0}, ""},

		{"the last allowed restart", most(2), counts{1, 0, 0}, lifecycle.Succeeded, counts{2, 0, 0}, ""},
		{"one restart more than allowed", most(2), counts{2, 0, 0}, lifecycle.Succeeded, counts{},
			"the limit is 2 restarts; the last attempt: Succeeded"},
		{"no restart is allowed", most(0), counts{}, lifecycle.Failed, counts{}, "the limit is 0 restarts"},
		{"both limits are exceeded",
			limits(func(c *lifecycle.RestartLimits) { c.MaxRestarts, c.MaxFailures = 2, new(int64(1)) }),
			counts{2, 2, 0}, lifecycle.Failed,
			counts{}, "the limit is 2 restarts; the last attempt: Failed, r: m"},
		{"the last allowed failure", failuresAt(2), counts{4, 1, 0}, lifecycle.Failed, counts{5, 2, 0}, ""},
		{"one failure more than allowed", failuresAt(2), counts{4, 2, 0}, lifecycle.Failed, counts{},
			"the limit is 2 restarts in a row after failures; the last attempt: Failed"},
		{"a success is no failure", failuresAt(0), counts{4, 2, 0}, lifecycle.Succeeded, counts{5, 0, 0}, ""},
		{"a rejection counts as a failure if rejections have no limit", failuresAt(2), counts{4, 2, 1},
			lifecycle.Refused, counts{}, "after failures"},
		{"one rejection more than allowed", refusalsAt(2), counts{4, 4, 2}, lifecycle.Refused, counts{},
			"the limit is 2 restarts in a row after rejected submissions"},
		{"the last allowed rejection", refusalsAt(2), counts{1, 1, 1}, lifecycle.Refused, counts{2, 2, 2}, ""},
		{"the limit on rejections does not apply to failures", refusalsAt(2), counts{9, 9, 2}, lifecycle.Failed,
			counts{10, 10, 0}, ""},
		{"the limit on failures does not apply to rejections", bothAt(2, 3), counts{4, 4, 1}, lifecycle.Refused,
			counts{5, 5, 2}, ""},
		{"one rejection more than both limits allow", bothAt(2, 3), counts{6, 6, 3}, lifecycle.Refused, counts{},
			"after rejected submissions"},
		{"one failure more than allowed, with both limits", bothAt(2, 3), counts{6, 2, 0}, lifecycle.Failed, counts{},
			"after failures"},

		{"the attempt lived for ResetAfter", reset(50), counts{3, 3, 3}, lifecycle.Failed, counts{1, 0, 0}, ""},
		{"the attempt lived longer than ResetAfter", reset(30), counts{3, 2, 1}, lifecycle.Refused,
			counts{1, 0, 0}, ""},
		{"a success after ResetAfter", reset(0), counts{3, 0, 0}, lifecycle.Succeeded, counts{1, 0, 0}, ""},
		{"the attempt did not live for ResetAfter", reset(51), counts{3, 3, 3}, lifecycle.Failed, counts{},
			"the limit is 3 restarts"},
		{"no restart is allowed, even after ResetAfter",
			limits(func(c *lifecycle.RestartLimits) { c.MaxRestarts, c.ResetAfter = 0, new(second) }), counts{},
			lifecycle.Failed, counts{}, "the limit is 0 restarts"},
		{"the counts cannot overflow", most(math.MaxInt64), counts{math.MaxInt64, math.MaxInt64, 0}, lifecycle.Failed,
			counts{math.MaxInt64, math.MaxInt64, 0}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := secondFamily(restarts(lifecycle.Always, math.MaxInt64))
			c.limits(app.Restart.Limits)
			mem := memoryIn(lifecycle.Ended, outcome(c.how, "r", 50),
				func(m *lifecycle.Memory) { m.Restarts, m.Submissions = restartsOf(c.before), 9 })
			plan := Step(app, mem, nothing, at(51))
			checkPlan(t, app, mem, nothing, at(51), plan)

			if c.limit == "" {
				if plan.Next.Phase != lifecycle.Waiting {
					t.Fatalf("%s: %+v", plan.Next.Phase, plan.Next.Cause)
				}

				if diff := cmp.Diff(restartsOf(c.want), plan.Next.Restarts); diff != "" {
					t.Errorf("counters of the next attempt (-want +got):\n%s", diff)
				}
				// The restarts count once, however many passes run, and do not exceed the limit.
				if again := Step(app, plan.Next, nothing, at(52)); again.Next.Phase != lifecycle.Waiting ||
					again.Next.Restarts != restartsOf(c.want) {
					t.Errorf("a second pass: %s %+v", again.Next.Phase, again.Next.Restarts)
				}
				return
			}

			if plan.Next.Phase != lifecycle.Done || plan.Next.Restarts != restartsOf(c.before) ||
				plan.Next.Outcome != c.how {
				t.Errorf("%s %s %+v, want Done with the counters of the last attempt", plan.Next.Phase,
					plan.Next.Outcome, plan.Next.Restarts)
			}

			if got := plan.Next.Cause; got.Reason != lifecycle.ReasonRestartsExhausted ||
				!strings.Contains(got.Message, c.limit) {
				t.Errorf("cause %+v, want %q", got, c.limit)
			}
		})
	}
}

// TestBackoffs checks, to the millisecond, the interval that follows each outcome of an attempt. The next attempt must
// not be launched earlier, and its launch must need only one pass.
func TestBackoffs(t *testing.T) {
	const base, failure, refusal = 30 * second, 7 * second, 90 * second
	for _, c := range []struct {
		name             string
		failure, refusal *time.Duration
		how              lifecycle.Outcome
		want             time.Duration
	}{
		{"one interval: success", nil, nil, lifecycle.Succeeded, base},
		{"one interval: failure", nil, nil, lifecycle.Failed, base},
		{"one interval: rejection", nil, nil, lifecycle.Refused, base},
		{"own interval for failures: success", new(failure), nil, lifecycle.Succeeded, base},
		{"own interval for failures: failure", new(failure), nil, lifecycle.Evicted, failure},
		{"own interval for failures: time-out", new(failure), nil, lifecycle.StartTimedOut, failure},
		{"own interval for failures: rejection", new(failure), nil, lifecycle.Refused, failure},
		{"own interval for rejections: failure", nil, new(refusal), lifecycle.Lost, base},
		{"own interval for rejections: rejection", nil, new(refusal), lifecycle.Refused, refusal},
		{"three intervals: failure", new(failure), new(refusal), lifecycle.Failed, failure},
		{"three intervals: rejection", new(failure), new(refusal), lifecycle.Refused, refusal},
		{"three intervals: success", new(failure), new(refusal), lifecycle.Succeeded, base},
		{"the interval is 0", new(time.Duration(0)), nil, lifecycle.Failed, minDelay},
		{"the interval is negative", new(-second), nil, lifecycle.Failed, minDelay},
		{"the interval is a millisecond", new(time.Millisecond), nil, lifecycle.Failed, minDelay},
		{"the interval is the longest possible", new(time.Duration(math.MaxInt64)), nil, lifecycle.Failed,
			time.Duration(math.MaxInt64 / 2).Truncate(time.Microsecond)},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := secondFamily(restarts(lifecycle.Always, 9))
			app.Restart.Limits.FailureBackoff, app.Restart.Limits.RejectionBackoff = c.failure, c.refusal
			mem := memoryIn(lifecycle.Ended, outcome(c.how, "r", 50))
			plan := Step(app, mem, nothing, at(50))
			checkPlan(t, app, mem, nothing, at(50), plan)

			if next := at(50).Add(c.want); !plan.Next.NextAttempt.Equal(next) || plan.RequeueAfter != c.want {
				t.Fatalf("next attempt at %s, requeue after %s; want %s", plan.Next.NextAttempt, plan.RequeueAfter,
					c.want)
			}

			early, due := plan.Next.NextAttempt.Add(-time.Millisecond), plan.Next.NextAttempt
			if plan := Step(app, plan.Next, confirmed, early); len(plan.Actions) > 0 ||
				plan.RequeueAfter != time.Millisecond {
				t.Errorf("a millisecond before: %v, requeue after %s", plan.Actions, plan.RequeueAfter)
			}

			if plan := Step(app, plan.Next, confirmed, due); plan.Next.Phase != lifecycle.Launched ||
				plan.Next.Attempt != 2 {
				t.Errorf("when it is due: %s of attempt %d", plan.Next.Phase, plan.Next.Attempt)
			}
		})
	}
}

// TestLimitsWhileWaiting checks edits of the restart limits or the restart policy while the application waits for its
// next attempt. If that attempt is no longer allowed, the application ends before the interval is over.
func TestLimitsWhileWaiting(t *testing.T) {
	waiting := memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "OOMKilled", 50), due(80),
		func(m *lifecycle.Memory) {
			m.Restarts = lifecycle.Restarts{Total: 2, Failures: 2}
		})
	remains := observedAttempt(1, lifecycle.DriverFailed)
	sure := func(o lifecycle.Observed) lifecycle.Observed { o.Confirmed = true; return o }
	run(t, []row{
		{"unchanged", secondFamily(restarts(lifecycle.OnFailure, 2)), waiting, remains, at(60),
			want{check: 20 * second, outcome: lifecycle.Failed, reason: "OOMKilled"}},
		{"lowered: a live read looks for the next attempt", secondFamily(restarts(lifecycle.OnFailure, 1)), waiting,
			remains, at(60),
			want{do: acts(confirm(1)), check: rereadDelay, outcome: lifecycle.Failed, reason: "OOMKilled"}},
		{"lowered: all objects are deleted first", secondFamily(restarts(lifecycle.OnFailure, 1)), waiting,
			sure(remains), at(60),
			want{do: acts(remove(1)), check: 2 * second, outcome: lifecycle.Failed, reason: "OOMKilled"}},
		{"lowered: no objects are left", secondFamily(restarts(lifecycle.OnFailure, 1)), waiting, confirmed, at(60),
			want{trail: phases(lifecycle.Done), outcome: lifecycle.Failed, reason: lifecycle.ReasonRestartsExhausted}},
		{"lowered, retained", secondFamily(restarts(lifecycle.OnFailure, 1), retain(lifecycle.RetainOnFailure)),
			waiting, sure(remains), at(60),
			want{trail: phases(lifecycle.Retained), outcome: lifecycle.Failed,
				reason: lifecycle.ReasonRestartsExhausted}},
		{"forbidden by the new policy", secondFamily(restarts(lifecycle.OnInfrastructureFailure, 2)), waiting,
			confirmed, at(60),
			want{trail: phases(lifecycle.Done), outcome: lifecycle.Failed, reason: "OOMKilled"}},
	})
}

// TestUnrememberedRestarts checks a restart that was not stored, because the operator died before the status write. It
// must be counted when the driver of the new attempt is found.
func TestUnrememberedRestarts(t *testing.T) {
	app := secondFamily(restarts(lifecycle.Always, 9))
	before := lifecycle.Restarts{Total: 3, Failures: 1, Rejections: 1}
	counted := func(m *lifecycle.Memory) { m.Restarts = before }

	newer := driver(lifecycle.DriverPending, attempt(2))
	for _, c := range []struct {
		name string
		mem  lifecycle.Memory
		want lifecycle.Restarts
	}{
		{"no attempt before", lifecycle.Memory{}, lifecycle.Restarts{}},
		{"the end of the attempt before was not stored", memoryIn(lifecycle.Running, counted),
			lifecycle.Restarts{Total: 4, Failures: 2}},
		{"the end of the attempt before was stored",
			memoryIn(lifecycle.Ended, counted, outcome(lifecycle.Succeeded, "", 50)), lifecycle.Restarts{Total: 4}},
		{"the restart was already counted",
			memoryIn(lifecycle.Waiting, counted, outcome(lifecycle.Failed, "Error", 50), due(80)), before},
	} {
		if plan := Step(app, c.mem, newer, at(60)); plan.Next.Phase != lifecycle.Launched ||
			plan.Next.Restarts != c.want {
			t.Errorf("%s: %s %+v, want %+v", c.name, plan.Next.Phase, plan.Next.Restarts, c.want)
		}
	}

	app.SpecHash = "1:b"

	mem := memoryIn(lifecycle.Running, counted)
	if plan := Step(app, mem, driver(lifecycle.DriverRunning), at(60)); plan.Next.Phase != lifecycle.Editing ||
		plan.Next.Restarts != (lifecycle.Restarts{}) {
		t.Errorf("after an edit: %s %+v", plan.Next.Phase, plan.Next.Restarts)
	}
}
