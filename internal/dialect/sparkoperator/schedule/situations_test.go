package schedule

import (
	"math"
	"strings"
	"testing"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestScheduleSituations checks the conditions, events, next run, actions and requeue in situations that users meet.
// The schedule is hourly. The first pass takes place when the schedule has just been created. Each row describes the
// next pass.
func TestScheduleSituations(t *testing.T) {
	const ready = "Ready=True(Scheduled)"
	type app = v1beta2.ScheduledSparkApplication
	going := lifecycle.Run{Name: "nightly-1", UID: "1", CreatedAt: morning}
	ended := func(outcome lifecycle.Outcome) lifecycle.Run {
		return lifecycle.Run{Name: "nightly-1769943600", UID: "2", CreatedAt: morning.Add(30 * time.Minute),
			Outcome: outcome, EndedAt: morning.Add(40 * time.Minute)}
	}

	policy := func(p v1beta2.ConcurrencyPolicy) func(*app) {
		return func(s *app) { s.Spec.ConcurrencyPolicy = p }
	}
	for _, test := range []struct {
		about      string
		change     func(*app) // made before the first pass
		edit       func(*app) // made before the second pass
		after      time.Duration
		seen       lifecycle.Observed
		do         string
		then       string // the actions of a pass right after the second one
		conditions string
		reported   []string      // the beginning of each event
		next       time.Duration // from the first pass to the next run; 0 if there is no next run
	}{
		{about: "nothing is due", after: 10 * time.Minute, conditions: ready, next: 30 * time.Minute},
		{about: "a run is due", after: 30 * time.Minute, do: "Create nightly-1769943600", conditions: ready,
			reported: []string{"Normal RunStarted: run nightly-1769943600 is the run of 2026-02-01T11:00:00Z"},
			next:     90 * time.Minute},
		{about: "another run is active under Allow", change: policy(v1beta2.ConcurrencyAllow), after: 30 * time.Minute,
			seen: lifecycle.Observed{Runs: []lifecycle.Run{going}},
			do:   "Create nightly-1769943600", conditions: ready, reported: []string{"Normal RunStarted: "},
			next: 90 * time.Minute},
		{about: "three times were missed", after: 3 * time.Hour, seen: lifecycle.Observed{Confirmed: true},
			do: "Create nightly-1769950800", conditions: ready,
			reported: []string{"Warning RunsMissed: ", "Normal RunStarted: run nightly-1769950800 "},
			next:     210 * time.Minute},
		{about: "the deadline has passed", change: func(s *app) { s.Spec.StartingDeadlineSeconds = new(int64(60)) },
			after: 45 * time.Minute,
			seen:  lifecycle.Observed{Confirmed: true}, conditions: ready, reported: []string{"Warning RunSkipped: "},
			next: 90 * time.Minute},
		{about: "no deadline, written as a number", change: func(s *app) {
			s.Spec.StartingDeadlineSeconds, s.Spec.ConcurrencyPolicy = new(int64(math.MaxInt64)),
				v1beta2.ConcurrencyForbid
		},
			after: 31 * time.Minute, seen: lifecycle.Observed{Runs: []lifecycle.Run{going}},
			conditions: "Ready=True(RunWaiting)",
			reported:   []string{"Normal RunWaiting: run nightly-1769943600 "}, next: 30 * time.Minute},
		{about: "another run is active under Forbid", change: policy(v1beta2.ConcurrencyForbid),
			after: 31 * time.Minute, seen: lifecycle.Observed{Runs: []lifecycle.Run{going}},
			conditions: "Ready=True(RunWaiting)",
			reported:   []string{"Normal RunWaiting: run nightly-1769943600 waits until no other run is active: nightly-1"}, next: 30 * time.Minute},
		{about: "another run is active under Replace", change: policy(v1beta2.ConcurrencyReplace),
			after: 31 * time.Minute, seen: lifecycle.Observed{Runs: []lifecycle.Run{going}},
			then: "Delete nightly-1", conditions: "Ready=True(Replacing) Reconciling=True(Replacing)",
			reported: []string{"Normal RunReplaced: run nightly-1 "}, next: 30 * time.Minute},
		{about: "the replaced run is being deleted", change: policy(v1beta2.ConcurrencyReplace),
			after: 31 * time.Minute,
			seen: lifecycle.Observed{Runs: []lifecycle.Run{{Name: "nightly-1", UID: "1", CreatedAt: morning,
				Deleting: true}}},
			conditions: "Ready=True(Replacing) Reconciling=True(Replacing)", next: 30 * time.Minute},
		{about: "the run is rejected", after: 30 * time.Minute,
			seen: lifecycle.Observed{Confirmed: true,
				Rejection: &lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room"}},
			conditions: "Ready=False(QuotaExceeded) Reconciling=True(QuotaExceeded)",
			reported:   []string{"Warning RunRefused: run nightly-1769943600 "}, next: 30 * time.Minute},
		{about: "it is suspended", edit: func(s *app) { s.Spec.Suspend = new(true) }, after: 31 * time.Minute,
			conditions: "Ready=False(Suspended) Suspended=True(Suspended)",
			reported:   []string{"Normal ScheduleSuspended: "}},
		{about: "a run is requested while suspended", change: func(s *app) { s.Spec.Suspend = new(true) },
			after: time.Minute,
			edit:  func(s *app) { s.Annotations = map[string]string{v1beta2.RunNowAnnotation: "1"} },
			seen:  lifecycle.Observed{Confirmed: true},
			do:    "Create nightly-now-", conditions: "Ready=False(Suspended) Suspended=True(Suspended)",
			reported: []string{"Normal RunStarted: run nightly-now-"}},
		{about: "it is resumed", change: func(s *app) { s.Spec.Suspend = new(true) },
			edit: func(s *app) { s.Spec.Suspend = nil }, after: 10 * time.Minute,
			conditions: ready, reported: []string{"Normal ScheduleResumed: "}, next: 30 * time.Minute},
		{about: "its schedule is edited", edit: func(s *app) { s.Spec.Schedule = "15 * * * *" },
			after: 31 * time.Minute, conditions: ready,
			reported: []string{"Normal ScheduleChanged: "}, next: 45 * time.Minute},
		{about: "its zone is edited", edit: func(s *app) { s.Spec.TimeZone = "Asia/Kolkata" }, after: 10 * time.Minute,
			conditions: ready,
			reported:   []string{"Normal ScheduleChanged: "}, next: time.Hour},
		{about: "an edit makes its schedule invalid", edit: func(s *app) { s.Spec.Schedule = "61 * * * *" },
			after:      10 * time.Minute,
			conditions: "Ready=False(InvalidSpec) Stalled=True(InvalidSpec)",
			reported:   []string{"Normal ScheduleChanged: ", `Warning InvalidSpec: spec.schedule: minute "61" `}},
		{about: "an edit makes several fields invalid", edit: func(s *app) {
			s.Spec.Schedule, s.Spec.TimeZone, s.Spec.JitterSeconds, s.Spec.Template.Image = "61 * * * *", "",
				new(int64(-1)), nil
		}, after: 10 * time.Minute, conditions: "Ready=False(InvalidSpec) Stalled=True(InvalidSpec)",
			reported: []string{"Normal ScheduleChanged: ",
				`Warning InvalidSpec: spec.schedule: minute "61" is not from 0 to 59; spec.jitterSeconds: -1 is below zero; 0 starts runs on time; spec.template.`}},
		{about: "it is invalid and its policy unknown", change: policy("Maybe"),
			edit: func(s *app) { s.Spec.Schedule = "" }, after: 10 * time.Minute,
			conditions: "Ready=False(InvalidSpec) Degraded=True(UnknownConcurrencyPolicy) Stalled=True(InvalidSpec)",
			reported:   []string{"Normal ScheduleChanged: ", "Warning InvalidSpec: spec.schedule: is empty"}},
		{about: "the API server fails", after: 31 * time.Minute,
			seen:       lifecycle.Observed{TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "slow"}, Since: morning}},
			conditions: "Ready=False(Timeout) Reconciling=True(Timeout)", next: 30 * time.Minute},
		{about: "the clock went back", after: -2 * time.Hour, edit: func(s *app) {
			s.Status.Operator.LastTick = dialect.EncodeTime(morning.Add(-30 * time.Minute))
		}, conditions: "Ready=False(ClockWentBack) Reconciling=True(ClockWentBack)",
			reported: []string{"Warning ClockWentBack: "}, next: 30 * time.Minute},
		{about: "its run ended well", after: 45 * time.Minute, edit: func(s *app) { startedBefore(s) },
			seen:       lifecycle.Observed{Runs: []lifecycle.Run{ended(lifecycle.Succeeded)}},
			conditions: ready, reported: []string{"Normal RunCompleted: run nightly-1769943600 "},
			next: 90 * time.Minute},
		{about: "its run failed", after: 45 * time.Minute, edit: func(s *app) { startedBefore(s) },
			seen:       lifecycle.Observed{Runs: []lifecycle.Run{ended(lifecycle.Failed)}},
			conditions: ready, reported: []string{"Warning RunFailed: run nightly-1769943600 "},
			next: 90 * time.Minute},
		{about: "its run ended, and no run is kept",
			change: func(s *app) { s.Spec.FailedRunHistoryLimit = new(int32(0)) }, after: 45 * time.Minute,
			edit: func(s *app) { startedBefore(s) },
			seen: lifecycle.Observed{Runs: []lifecycle.Run{ended(lifecycle.Failed)}}, then: "Delete nightly-1769943600",
			conditions: ready,
			// The run is deleted only after its end was stored, so that the event about its end is not lost.
			reported: []string{"Warning RunFailed: run nightly-1769943600 "}, next: 90 * time.Minute},
	} {
		t.Run(test.about, func(t *testing.T) {
			var change []func(*app)
			if test.change != nil {
				change = append(change, test.change)
			}

			d, s := Schedules{Options{Runs: usual.Runs, Zones: time.LoadLocation}}, nightly(change...)
			d.Decide(s, lifecycle.Observed{}, morning)
			storedSchedule(t, s)

			if test.edit != nil {
				test.edit(s)
				s.Generation++
			}

			plan := d.Decide(s, test.seen, morning.Add(test.after))
			storedSchedule(t, s)

			if got := doneBy(plan); got != test.do &&
				(!strings.HasSuffix(test.do, "-") || !strings.HasPrefix(got, test.do)) {
				t.Errorf("actions %q, want %q", got, test.do)
			}

			if got := conditionsOf(s.Status.Conditions); got != test.conditions {
				t.Errorf("conditions %s, want %s", got, test.conditions)
			}

			checkTold(t, toldBy(d, s, plan), test.reported)

			next := time.Time{}
			if test.next != 0 {
				next = morning.Add(test.next)
			}

			if got := utc(s.Status.NextRun); !got.Equal(next) {
				t.Errorf("the next run is %s, want %s", got, next)
			}

			if plan.RequeueAfter != 0 && plan.RequeueAfter < time.Second && len(plan.Actions) == 0 && test.then == "" {
				t.Errorf("requeue after only %s", plan.RequeueAfter)
			}

			if test.then != "" {
				if again := d.Decide(s.DeepCopy(), test.seen,
					morning.Add(test.after+plan.RequeueAfter)); doneBy(again) != test.then {
					t.Errorf("actions of the pass after that %q, want %q", doneBy(again), test.then)
				}
			}

			for _, c := range s.Status.Conditions {
				if c.Message == "" || c.ObservedGeneration != s.Generation {
					t.Errorf("%+v has no message or another generation", c)
				}
			}
		})
	}
}

func doneBy(plan lifecycle.Plan) string {
	var do []string
	for _, a := range plan.Actions {
		do = append(do, string(a.Verb)+" "+a.Name)
	}
	return strings.Join(do, " ")
}

// startedBefore changes the status as an earlier pass does when it starts the run of 11:00.
func startedBefore(s *v1beta2.ScheduledSparkApplication) {
	usual.Decide(s, lifecycle.Observed{Confirmed: true}, morning.Add(30*time.Minute))
}

// checkTold checks that there is one event for each wanted text, and that each event begins with its text.
func checkTold(t *testing.T, reported string, want []string) {
	t.Helper()

	var got []string
	if reported != "" {
		got = strings.Split(reported, "\n")
	}

	if len(got) != len(want) {
		t.Fatalf("events:\n%s\nwant %d: %q", reported, len(want), want)
	}

	for i, line := range got {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("reported: %s\nwant: %s", line, want[i])
		}
	}
}
