package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// noon is a tick of the schedules in these tests. The schedules were created at half past ten and have a tick each
// hour.
var noon = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

func hourly(t *testing.T, change ...func(*Schedule)) Schedule {
	s := Schedule{Name: "etl", UID: "u", Created: from, Generation: 1, Key: "0 * * * *",
		Times: parse(t, "0 * * * *", ""), Policy: Allow, Successful: 1, Failed: 1}
	for _, c := range change {
		c(&s)
	}
	return s
}

// memoryAtEleven returns the memory of a schedule that started its run of eleven o'clock.
func memoryAtEleven(want Schedule, change ...func(*Memory)) Memory {
	m := Memory{Key: want.Key, Since: from, Generation: want.Generation, Suspended: want.Suspend,
		LastTick: noon.Add(-time.Hour), LastRun: noon.Add(-time.Hour), LastRunName: "etl-1769943600"}
	for _, c := range change {
		c(&m)
	}
	return m
}

func going(name string) lifecycle.Run {
	return lifecycle.Run{Name: name, UID: name, CreatedAt: noon.Add(-time.Hour)}
}

// stoppingRun returns a deleted run whose driver is still stopping.
func stoppingRun(name string) lifecycle.Run {
	run := going(name)
	run.Deleting, run.Deleted = true, true
	return run
}

func ended(name string, outcome lifecycle.Outcome, minutesAgo int) lifecycle.Run {
	return lifecycle.Run{Name: name, UID: name, Outcome: outcome,
		CreatedAt: noon.Add(-time.Duration(minutesAgo) * time.Minute)}
}

// summary returns the actions and the reasons of the notices of a plan in a short form.
func summary(p Plan) string {
	var out []string
	for _, a := range p.Actions {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s", a.Verb, a.Name)))
	}

	for _, n := range p.Notices {
		out = append(out, n.Cause.Reason)
	}
	return strings.Join(out, ", ")
}

const (
	eleven, twelve = "etl-1769943600", "etl-1769947200"
)

// TestEditIsNotLostDuringTransientError checks an edit during transient errors, which prevent the live read that an
// edit requires. The edit must have no effect until the live read succeeds after the errors.
func TestEditIsNotLostDuringTransientError(t *testing.T) {
	want := hourly(t, func(s *Schedule) { s.Policy, s.Generation = Forbid, 3 })

	mem := memoryAtEleven(want, func(m *Memory) { m.Generation = 2 })
	for _, late := range []time.Duration{-time.Minute, time.Minute} {
		plan := Step(want, mem, lifecycle.Observed{TransientError: &lifecycle.TransientError{}}, noon.Add(late))
		if plan.Next.Generation != 2 || len(plan.Actions) > 0 {
			t.Errorf("%s after noon: generation %d is stored, actions %v", late, plan.Next.Generation, plan.Actions)
		}

		mem = plan.Next
	}

	if got := summary(Step(want, mem, lifecycle.Observed{}, noon.Add(2*time.Minute))); got != "Confirm" {
		t.Errorf("after the transient error: %s", got)
	}
}

func TestStep(t *testing.T) {
	forbid := func(s *Schedule) { s.Policy = Forbid }
	replace := func(s *Schedule) { s.Policy = Replace }
	suspended := func(s *Schedule) { s.Suspend = true }
	edited := func(s *Schedule) { s.Generation = 2 }
	asks := func(s *Schedule) { s.Request = "1" }
	within := func(d time.Duration) func(*Schedule) { return func(s *Schedule) { s.Deadline = new(d) } }
	now := RequestName("etl", "u", "1")

	quota := &lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room"}
	for _, test := range []struct {
		about   string
		want    []func(*Schedule)
		mem     func(*Memory)
		seen    lifecycle.Observed
		late    time.Duration // time after noon
		summary string
		next    string // next run, in local time
		check   time.Duration
	}{
		{about: "not due", late: -time.Minute, next: "12:00:00", check: time.Minute},
		{about: "due", summary: "Create " + twelve + ", RunStarted", next: "13:00:00", check: maxRequeue},
		{about: "due, and its run exists", seen: lifecycle.Observed{Runs: []lifecycle.Run{going(twelve)}},
			summary: "RunStarted", next: "13:00:00"},
		{about: "due, and its run exists with a name in another precision",
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going("etl-1769947200000000000")}}, summary: "RunStarted",
			next: "13:00:00"},
		{about: "three ticks missed: a live read first", late: 3 * time.Hour, summary: "Confirm", next: "16:00:00"},
		{about: "three ticks missed, after the live read", late: 3 * time.Hour,
			seen: lifecycle.Observed{Confirmed: true}, summary: "Create etl-1769958000, RunsMissed, RunStarted",
			next: "16:00:00"},
		{about: "within its deadline", want: []func(*Schedule){within(10 * time.Second)},
			late: 10*time.Second + 999*time.Millisecond, summary: "Create " + twelve + ", RunStarted",
			next: "13:00:00"},
		{about: "past its deadline: a live read first", want: []func(*Schedule){within(10 * time.Second)},
			late: 11 * time.Second, summary: "Confirm", next: "13:00:00"},
		{about: "past its deadline, after the live read", want: []func(*Schedule){within(10 * time.Second)},
			late: 11 * time.Second, seen: lifecycle.Observed{Confirmed: true}, summary: "RunSkipped", next: "13:00:00"},
		{about: "zero deadline, within the first second", want: []func(*Schedule){within(0)},
			late: 900 * time.Millisecond, summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "suspended", want: []func(*Schedule){suspended}},
		{about: "suspended, and a run is active", want: []func(*Schedule){suspended},
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}}},
		{about: "resumed", mem: func(m *Memory) { m.Suspended = true }, late: time.Minute,
			summary: "Create " + twelve + ", ScheduleResumed, RunStarted", next: "13:00:00"},
		{about: "run requested while suspended", want: []func(*Schedule){suspended, asks},
			summary: "Create " + now + ", RunStarted"},
		{about: "run requested and a tick due: one creation in each pass", want: []func(*Schedule){asks},
			summary: "Create " + now + ", RunStarted", next: "12:00:00", check: time.Millisecond},
		{about: "run requested, and it exists", want: []func(*Schedule){asks}, late: -time.Minute,
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going(now)}}, summary: "RunStarted", next: "12:00:00"},
		{about: "run requested, and stored as started", want: []func(*Schedule){asks},
			mem: func(m *Memory) { m.LastRequest = "1" }, late: -time.Minute, next: "12:00:00"},
		{about: "run requested under Forbid while another is active", want: []func(*Schedule){asks, forbid},
			late: -time.Minute, seen: lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}}, summary: "RunWaiting",
			next: "12:00:00"},
		{about: "Allow, and a run is active", seen: lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}},
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "Allow, and one fewer than the maximum of active runs",
			seen: lifecycle.Observed{Runs: activeRuns(maxActive - 1)}, summary: "Create " + twelve + ", RunStarted",
			next: "13:00:00"},
		{about: "Allow, and the maximum of active runs", seen: lifecycle.Observed{Runs: activeRuns(maxActive)},
			summary: "RunWaiting", next: "12:00:00", check: maxRequeue},
		{about: "Forbid, and a run is active", want: []func(*Schedule){forbid},
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}}, summary: "RunWaiting", next: "12:00:00",
			check: maxRequeue},
		{about: "Forbid, and a run is still active: not reported again", want: []func(*Schedule){forbid},
			late: time.Minute, mem: func(m *Memory) { m.Cause.Reason = ReasonWaiting },
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}}, next: "12:00:00"},
		{about: "Forbid, and a run is active until the deadline",
			want:    []func(*Schedule){forbid, within(30 * time.Second)},
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{going(eleven)}},
			summary: "RunWaiting", next: "12:00:00", check: 31 * time.Second},
		{about: "Forbid, and the last run has ended", want: []func(*Schedule){forbid}, late: time.Minute,
			mem:     func(m *Memory) { m.Cause.Reason = ReasonWaiting },
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{ended(eleven, lifecycle.Succeeded, 60)}},
			summary: "Create " + twelve + ", RunStarted, RunCompleted", next: "13:00:00"},
		{about: "Forbid, and the last run is not in the cache: a live read first", want: []func(*Schedule){forbid},
			summary: "Confirm " + eleven, next: "13:00:00"},
		{about: "Forbid, and the last run is gone, after the live read", want: []func(*Schedule){forbid},
			seen: lifecycle.Observed{Confirmed: true}, summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "Forbid, and a run is being deleted", want: []func(*Schedule){forbid},
			seen: lifecycle.Observed{Runs: []lifecycle.Run{{Name: eleven, Deleting: true}}}, summary: "RunWaiting",
			next: "12:00:00"},
		{about: "Forbid, and the pods of a deleted run are still stopping", want: []func(*Schedule){forbid},
			seen: lifecycle.Observed{Runs: []lifecycle.Run{stoppingRun(eleven)}}, summary: "RunWaiting",
			next: "12:00:00", check: maxRequeue},
		{about: "Replace, and the pods of a deleted run are still stopping", want: []func(*Schedule){replace},
			seen: lifecycle.Observed{Runs: []lifecycle.Run{stoppingRun(eleven)}}, next: "12:00:00", check: repeatDelay},
		{about: "Allow, and the pods of a deleted run are still stopping",
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{stoppingRun(eleven)}},
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "pods with the name of a tick's run do not count as its start",
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{stoppingRun(twelve)}},
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "pods with the name of a requested run do not count as its start", want: []func(*Schedule){asks},
			late: -time.Minute, seen: lifecycle.Observed{Runs: []lifecycle.Run{stoppingRun(now)}},
			summary: "Create " + now + ", RunStarted", next: "12:00:00"},
		{about: "Replace", want: []func(*Schedule){replace},
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{going(eleven), going("by-hand")}},
			summary: "RunReplaced, RunReplaced", next: "12:00:00", check: time.Millisecond},
		{about: "Replace, and the reason is stored: the runs are deleted", want: []func(*Schedule){replace},
			mem:     func(m *Memory) { m.Cause.Reason = ReasonReplacing },
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{going(eleven), going("by-hand")}},
			summary: "Delete " + eleven + ", Delete by-hand", next: "12:00:00", check: repeatDelay},
		{about: "edited under Forbid: a live read first", want: []func(*Schedule){forbid, edited}, late: -time.Minute,
			mem:     func(m *Memory) { m.Generation = 1 },
			seen:    lifecycle.Observed{Runs: []lifecycle.Run{ended(eleven, lifecycle.Succeeded, 50)}},
			summary: "Confirm"},
		{about: "edited under Forbid, after a live read without a new run", want: []func(*Schedule){forbid, edited},
			mem:  func(m *Memory) { m.Generation = 1 },
			seen: lifecycle.Observed{Confirmed: true}, summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "edited under Allow", want: []func(*Schedule){edited}, mem: func(m *Memory) { m.Generation = 1 },
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "Replace, and the replaced run is being deleted", want: []func(*Schedule){replace},
			mem:  func(m *Memory) { m.Cause.Reason = ReasonReplacing },
			seen: lifecycle.Observed{Runs: []lifecycle.Run{{Name: eleven, Deleting: true}}}, next: "12:00:00",
			check: repeatDelay},
		{about: "Replace, and the replaced run is gone", want: []func(*Schedule){replace},
			mem: func(m *Memory) { m.Cause.Reason = ReasonReplacing }, seen: lifecycle.Observed{Confirmed: true},
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "rejected: a live read first", seen: lifecycle.Observed{Rejection: quota}, summary: "Confirm " + twelve,
			next: "12:00:00"},
		{about: "rejected, after the live read", seen: lifecycle.Observed{Rejection: quota, Confirmed: true},
			summary: "RunRefused", next: "12:00:00", check: 4 * time.Second},
		{about: "rejected, and too early for a retry", late: time.Second,
			mem:  func(m *Memory) { m.Rejected, m.RejectedSince, m.Retry = twelve, noon, noon.Add(4*time.Second) },
			next: "12:00:00", check: 3 * time.Second},
		{about: "rejected, and the clock went back",
			mem:     func(m *Memory) { m.Rejected, m.RejectedSince, m.Retry = twelve, noon, noon.Add(4*time.Hour) },
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "rejected, and retried", late: 4 * time.Second,
			mem:     func(m *Memory) { m.Rejected, m.RejectedSince, m.Retry = twelve, noon, noon.Add(4*time.Second) },
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "rejected, and edited", late: time.Second, mem: func(m *Memory) {
			m.Generation, m.Rejected, m.RejectedSince, m.Retry = 0, twelve, noon, noon.Add(4*time.Second)
		},
			summary: "Create " + twelve + ", RunStarted", next: "13:00:00"},
		{about: "transient error", seen: lifecycle.Observed{TransientError: &lifecycle.TransientError{}},
			next: "12:00:00", check: repeatDelay},
		{about: "another schedule: ticks before the edit start no run", mem: func(m *Memory) { m.Key = "30 * * * *" },
			late: time.Minute, summary: "ScheduleChanged", next: "13:00:00"},
		{about: "invalid", want: []func(*Schedule){func(s *Schedule) { s.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "no"} }}, summary: "InvalidSpec"},
		{about: "invalid, and already reported",
			want: []func(*Schedule){func(s *Schedule) {
				s.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid,
					Message: "no"}
			}},
			mem: func(m *Memory) { m.Cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "no"} }},
		{about: "valid again", mem: func(m *Memory) { m.Cause.Reason = lifecycle.ReasonInvalid },
			summary: "Create " + twelve + ", ScheduleValid, RunStarted", next: "13:00:00"},
		{about: "the clock went back a little", mem: func(m *Memory) { m.LastTick = noon }, late: -30 * time.Second,
			next: "13:00:00"},
		{about: "the clock was ahead at an edit", mem: func(m *Memory) { m.Since = noon.Add(time.Hour) }, late: time.Second,
			next: "13:00:00"},
		{about: "the clock went back", mem: func(m *Memory) { m.LastTick = noon }, late: -time.Hour,
			summary: "ClockWentBack", next: "13:00:00"},
		{about: "deleted", want: []func(*Schedule){func(s *Schedule) { s.Deleting = true }}},
	} {
		t.Run(test.about, func(t *testing.T) {
			want := hourly(t, test.want...)

			mem := memoryAtEleven(want)
			if test.mem != nil {
				test.mem(&mem)
			}

			plan := Step(want, mem, test.seen, noon.Add(test.late))
			if got := summary(plan); got != test.summary {
				t.Errorf("%s; want %s", got, test.summary)
			}

			next := ""
			if !plan.NextRun.IsZero() {
				next = plan.NextRun.Format("15:04:05")
			}

			if asksLive := strings.HasPrefix(test.summary, "Confirm"); next != test.next && !asksLive {
				t.Errorf("the next run is at %q, want %q", next, test.next)
			}

			if test.check != 0 && plan.RequeueAfter != test.check {
				t.Errorf("requeue after %s, want %s", plan.RequeueAfter, test.check)
			}
		})
	}
}

// TestNewSchedule checks that a schedule takes effect at its creation. If several ticks were due before the first pass,
// one run is started for them.
func TestNewSchedule(t *testing.T) {
	plan := Step(hourly(t), Memory{}, lifecycle.Observed{Confirmed: true}, noon.Add(time.Minute))
	if got := summary(plan); got != "Create "+twelve+", RunsMissed, RunStarted" || !plan.Next.Since.Equal(from) {
		t.Errorf("%s, since %s", got, plan.Next.Since)
	}

	ahead := hourly(t, func(s *Schedule) { s.Created = noon.Add(time.Minute) }) // the API server's clock may differ
	if plan = Step(ahead, Memory{}, lifecycle.Observed{}, noon); !plan.Next.Since.Equal(noon) || plan.Actions != nil {
		t.Errorf("%+v", plan)
	}
}

func TestHistory(t *testing.T) {
	want := hourly(t, func(s *Schedule) { s.Successful, s.Failed = 1, 0 })
	now := noon.Add(-30 * time.Minute)
	seen := lifecycle.Observed{Runs: []lifecycle.Run{
		ended("etl-1769940000", lifecycle.Succeeded, 120), ended(eleven, lifecycle.Succeeded, 60),
		ended("by-hand", lifecycle.Failed, 90), going("etl-1769936400"),
		{Name: "etl-1769932800", Outcome: lifecycle.Failed, Deleting: true},
	}}

	first := Step(want, memoryAtEleven(want), seen, now)
	if got := summary(first); got != "RunCompleted, RunCompleted, RunFailed" || first.RequeueAfter != time.Millisecond {
		t.Errorf("the first pass must only report the ends: %s, requeue after %s", got, first.RequeueAfter)
	}

	second := Step(want, first.Next, seen, now)
	if got := summary(second); got != "Delete etl-1769940000, Delete by-hand" {
		t.Errorf("the second pass must delete the runs beyond the limits: %s", got)
	}

	seen.Runs = []lifecycle.Run{seen.Runs[1], seen.Runs[3]}

	third := Step(want, second.Next, seen, now)
	if diff := cmp.Diff([]string{eleven}, third.Next.Succeeded); diff != "" || third.Next.Failed != nil ||
		third.Actions != nil || third.Notices != nil {
		t.Errorf("%s%+v", diff, third)
	}
	// If a run is deleted although its tick is not stored in the memory, the tick starts it again.
	unknown := lifecycle.Observed{Runs: []lifecycle.Run{ended("etl-1769961600", lifecycle.Failed, 0)}}

	plan := Step(want, memoryAtEleven(want, func(m *Memory) { m.Failed = []string{"etl-1769961600"} }), unknown, now)
	if plan.Actions != nil || plan.RequeueAfter != maxRequeue {
		t.Errorf("%+v", plan)
	}
}

// TestHistoryOfOneSecond checks which of several runs that were created in the same second counts as the newest. It
// must be the last started run or, if that run is not among them, the run that ended last. The names must not matter.
func TestHistoryOfOneSecond(t *testing.T) {
	want := hourly(t, func(s *Schedule) { s.Successful = 1 })

	now := noon.Add(-30 * time.Minute)
	for _, test := range []struct {
		name        string
		last        string
		known, runs []string
		want        []string
	}{
		{"the last started run is the newest", "etl-now-3", []string{"etl-now-i"}, []string{"etl-now-3", "etl-now-i"},
			[]string{"etl-now-3", "etl-now-i"}},
		{"the last started run is the newest, with both runs stored", "etl-now-3", []string{"etl-now-i", "etl-now-3"},
			[]string{"etl-now-3", "etl-now-i"}, []string{"etl-now-3", "etl-now-i"}},
		{"the last ended run is the newest", "etl-now-x", []string{"etl-now-i"}, []string{"etl-now-3", "etl-now-i"},
			[]string{"etl-now-3", "etl-now-i"}},
		{"stored order", "etl-now-x", []string{"etl-now-3", "etl-now-i"}, []string{"etl-now-3", "etl-now-i"},
			[]string{"etl-now-3", "etl-now-i"}},
		{"by name, if nothing else decides", "etl-now-x", nil, []string{"etl-now-3", "etl-now-i"},
			[]string{"etl-now-i", "etl-now-3"}},
	} {
		var seen lifecycle.Observed
		for _, run := range test.runs {
			seen.Runs = append(seen.Runs, ended(run, lifecycle.Succeeded, 60))
		}

		plan := Step(want, memoryAtEleven(want, func(m *Memory) { m.LastRunName, m.Succeeded = test.last, test.known }),
			seen, now)
		if diff := cmp.Diff(test.want, plan.Next.Succeeded); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestJitter checks that the jitter is the same for every run of a schedule, differs between schedules, and never
// extends to the next tick.
func TestJitter(t *testing.T) {
	offsets := map[time.Duration]int{}
	for n := range 300 {
		want := hourly(t, func(s *Schedule) { s.UID, s.Jitter = fmt.Sprint("u", n), 5*time.Minute })
		early := Step(want, memoryAtEleven(want), lifecycle.Observed{}, noon)

		offset := early.NextRun.Sub(noon)
		if offset > 0 && (early.Actions != nil || early.RequeueAfter > offset) || offset < 0 || offset > 5*time.Minute {
			t.Fatalf("%s: %+v", offset, early)
		}

		plan := Step(want, memoryAtEleven(want), lifecycle.Observed{}, noon.Add(offset))
		if summary(plan) != "Create "+twelve+", RunStarted" || !offsetIs(plan, offset) {
			t.Fatalf("after %s: %s, next %s", offset, summary(plan), plan.NextRun)
		}
		offsets[offset]++

		dense := hourly(t, func(s *Schedule) {
			s.UID, s.Jitter, s.Times = want.UID, time.Hour,
				parse(t, "* * * * *", "")
		})
		if next := Step(dense, memoryAtEleven(dense, func(m *Memory) { m.LastTick = noon }), lifecycle.Observed{},
			noon).NextRun; next.Sub(noon) >= 2*time.Minute || next.Sub(noon) < time.Minute {
			t.Fatalf("the run of 12:01 is due at %s", next)
		}
	}

	if len(offsets) < 100 {
		t.Errorf("300 schedules start at %d times", len(offsets))
	}
}

func offsetIs(p Plan, offset time.Duration) bool {
	return p.NextRun.Equal(noon.Add(time.Hour + offset))
}

// activeRuns returns n active runs that were created by hand.
func activeRuns(n int) (runs []lifecycle.Run) {
	for i := range n {
		runs = append(runs, going("by-hand-"+strconv.Itoa(i)))
	}
	return runs
}
