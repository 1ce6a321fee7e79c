package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestRequestAsBefore checks a third request with the same value as the first, after a second request with another
// value. While the run of the first request exists, the third request starts no run, does not report RunStarted again,
// and does not change the time of the last run. If that run no longer exists, the third request starts it like a new
// request.
func TestRequestAsBefore(t *testing.T) {
	a, b := RequestName("etl", "u", "a"), RequestName("etl", "u", "b")

	at := noon.Add(-10 * time.Minute)
	for _, outcome := range []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Failed, lifecycle.Undecided} {
		want := hourly(t, func(s *Schedule) { s.Request = "a" })
		run := ended(a, outcome, 40)
		mem := memoryAtEleven(want, func(m *Memory) {
			m.LastRequest, m.LastRun, m.LastRunName = "b", noon.Add(-20*time.Minute), b
			switch outcome {
			case lifecycle.Succeeded:
				m.Succeeded = []string{a}
			case lifecycle.Failed:
				m.Failed = []string{a}
			}
		})

		plan := Step(want, mem, lifecycle.Observed{Runs: []lifecycle.Run{run}}, at)
		if summary(plan) != ReasonHonored || plan.Notices[0].Name != a || plan.Next.LastRequest != "a" ||
			!plan.Next.LastRun.Equal(mem.LastRun) {
			t.Errorf("%s: %s, %+v", outcome, summary(plan), plan.Next)
		}

		if again := Step(want, plan.Next, lifecycle.Observed{Runs: []lifecycle.Run{run}}, at); again.Notices != nil ||
			again.Actions != nil {
			t.Errorf("%s: again %s", outcome, summary(again))
		}
		// If the run no longer exists, the request starts it like a new request.
		if plan = Step(want, mem, lifecycle.Observed{}, at); summary(plan) != "Create "+a+", RunStarted" ||
			!plan.Next.LastRun.Equal(at) {
			t.Errorf("%s: %s, %+v", outcome, summary(plan), plan.Next)
		}
	}
}

// TestLastRunGoesForward checks that the time of the last run in the memory decreases only if it was in the future.
func TestLastRunGoesForward(t *testing.T) {
	want := hourly(t)
	// The creation time comes from another clock.
	seen := lifecycle.Observed{Runs: []lifecycle.Run{{Name: twelve, CreatedAt: noon.Add(-2 * time.Minute)}}}
	for _, test := range []struct{ last, want time.Time }{
		{noon.Add(-time.Minute), noon.Add(-time.Minute)},
		{noon.Add(-time.Hour), noon.Add(-2 * time.Minute)},
		{noon.Add(time.Hour), noon.Add(-2 * time.Minute)},
	} {
		plan := Step(want, memoryAtEleven(want, func(m *Memory) { m.LastRun = test.last }), seen, noon)
		if !plan.Next.LastRun.Equal(test.want) || plan.Next.LastRunName != twelve {
			t.Errorf("%s becomes %s of %s", test.last, plan.Next.LastRun, plan.Next.LastRunName)
		}
	}
}

// TestRequestOvertaken checks that a waiting request is reported if another request replaces it or if it is withdrawn.
// A request whose run was started must not be reported.
func TestRequestOvertaken(t *testing.T) {
	at := noon.Add(-10 * time.Minute)
	a := RequestName("etl", "u", "a")

	busy := lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}}
	for _, test := range []struct {
		about string
		seen  lifecycle.Observed // while it waits
	}{
		{"Forbid", busy},
		{"refused", lifecycle.Observed{Rejection: &lifecycle.Cause{Reason: "QuotaExceeded"}, Confirmed: true}},
		{"transient error", lifecycle.Observed{TransientError: &lifecycle.TransientError{}}},
	} {
		want := hourly(t, func(s *Schedule) { s.Policy, s.Request = Forbid, "a" })

		waits := Step(want, memoryAtEleven(want), test.seen, at)
		if waits.Actions != nil || waits.Next.Requested.Run != a {
			t.Fatalf("%s: %s, %+v", test.about, summary(waits), waits.Next)
		}

		for _, next := range []string{"b", ""} {
			want.Request = next

			plan := Step(want, waits.Next, busy, at)
			if i := slices.IndexFunc(plan.Notices,
				func(n lifecycle.Notice) bool { return n.Cause.Reason == ReasonDropped }); i < 0 ||
				plan.Notices[i].Name != a {
				t.Errorf("%s, then %q: %s", test.about, next, summary(plan))
			}

			if (plan.Next.Requested.Run == "") != (next == "") || !plan.Next.Requested.Since.IsZero() {
				t.Errorf("%s, then %q: %+v", test.about, next, plan.Next.Requested)
			}

			if again := Step(want, plan.Next, busy, at); again.Notices != nil {
				t.Errorf("%s, then %q, reported twice: %s", test.about, next, summary(again))
			}
		}
		// The operator died after it had started the run and before the status write.
		want.Request = "b"
		if plan := Step(want, waits.Next, lifecycle.Observed{Runs: []lifecycle.Run{going(a)}},
			at); summary(plan) != ReasonWaiting && summary(plan) != "" {
			t.Errorf("%s: %s", test.about, summary(plan))
		}
	}
}

// TestNextRunDuringTransientError checks NextRun while transient errors delay a run that is due. NextRun must be the
// time of the latest due tick, which is in the past. If the deadline of that tick has passed, NextRun must be the next
// tick.
func TestNextRunDuringTransientError(t *testing.T) {
	outage := lifecycle.Observed{TransientError: &lifecycle.TransientError{}}
	for _, test := range []struct {
		about    string
		late     time.Duration
		deadline time.Duration
		want     time.Time
	}{
		{"due", time.Minute, time.Hour, noon},
		{"the last of three due ticks", 2*time.Hour + time.Minute, 4 * time.Hour, noon.Add(2 * time.Hour)},
		{"due, but the deadline has passed", time.Minute, time.Second, noon.Add(time.Hour)},
	} {
		want := hourly(t, func(s *Schedule) { s.Deadline = new(test.deadline) })
		if plan := Step(want, memoryAtEleven(want), outage, noon.Add(test.late)); !plan.NextRun.Equal(test.want) ||
			plan.Actions != nil || plan.Next.LastTick != memoryAtEleven(want).LastTick {
			t.Errorf("%s: the next run is at %s, want %s; %+v", test.about, plan.NextRun, test.want, plan)
		}
	}
}

// TestSpellingIsNoEdit checks that another spelling of the same schedule is not an edit, even if the stored key has the
// old spelling.
func TestSpellingIsNoEdit(t *testing.T) {
	for _, test := range []struct {
		stored, request string
		edit            bool
	}{
		{"0  * * * *", Key(" 0 * * * *", "UTC"), false},
		{"CRON_TZ=UTC 0 * * * *", Key("0 * * * *", ""), false},
		{"TZ=Europe/Vienna 0 * * * *", Key("0 * * * *", "Europe/Vienna"), false},
		{"0 * * * *", Key("0 * * * *", "Europe/Vienna"), true},
		{"0 * * * *", Key("0 1 * * *", ""), true},
	} {
		want := hourly(t, func(s *Schedule) { s.Key = test.request })

		plan := Step(want, memoryAtEleven(want, func(m *Memory) { m.Key = test.stored }), lifecycle.Observed{},
			noon.Add(-time.Minute))
		if edit := summary(plan) == ReasonEdited; edit != test.edit || plan.Next.Since.Equal(from) == test.edit ||
			plan.Next.Key != test.request {
			t.Errorf("%q after %q: %s, %+v", test.request, test.stored, summary(plan), plan.Next)
		}
	}
}
