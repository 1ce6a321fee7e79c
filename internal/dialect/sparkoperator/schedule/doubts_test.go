package schedule

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestScheduleDoubts checks doubtful settings: valid settings that the user may have meant differently. They do not
// prevent runs. Each doubtful setting causes one event that names its field. A condition reports all of them until the
// schedule is edited.
func TestScheduleDoubts(t *testing.T) {
	unknown := func(s *v1beta2.ScheduledSparkApplication) { s.Spec.ConcurrencyPolicy = "Maybe" }

	local := func(s *v1beta2.ScheduledSparkApplication) { s.Spec.TimeZone = "Local" }
	for _, test := range []struct {
		about  string
		change []func(*v1beta2.ScheduledSparkApplication)
		reason string
		says   []string // the beginnings of the events' messages, which the condition contains too
	}{
		{"no doubtful setting", nil, "", nil},
		{"a policy", []func(*v1beta2.ScheduledSparkApplication){unknown}, "UnknownConcurrencyPolicy",
			[]string{`UnknownConcurrencyPolicy: spec.concurrencyPolicy: "Maybe" is not Allow, Forbid or Replace`}},
		{"a zone", []func(*v1beta2.ScheduledSparkApplication){local}, "LocalTimeZone",
			[]string{"LocalTimeZone: spec.timeZone: Local names no particular time zone"}},
		{"a zone in spec.schedule", []func(*v1beta2.ScheduledSparkApplication){func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "TZ=Local 0 * * * *" }},
			"LocalTimeZone", []string{"LocalTimeZone: spec.schedule: Local names no particular time zone"}},
		{"Local in spec.schedule and in spec.timeZone",
			[]func(*v1beta2.ScheduledSparkApplication){local,
				func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "CRON_TZ=Local 0 * * * *" }},
			"LocalTimeZone", []string{"LocalTimeZone: spec.schedule: Local names no particular time zone"}},
		{"Local in spec.timeZone, which spec.schedule overrides",
			[]func(*v1beta2.ScheduledSparkApplication){local,
				func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "TZ=UTC 0 * * * *" }}, "", nil},
		{"both", []func(*v1beta2.ScheduledSparkApplication){unknown, local}, "UnknownConcurrencyPolicy",
			[]string{"UnknownConcurrencyPolicy: spec.concurrencyPolicy", "LocalTimeZone: spec.timeZone"}},
	} {
		t.Run(test.about, func(t *testing.T) {
			d, s := usual, nightly(test.change...)
			reported := toldBy(d, s, d.Decide(s, lifecycle.Observed{}, morning))
			storedSchedule(t, s)

			if got := strings.Count(reported, "\n") + 1; test.says != nil && got != len(test.says) ||
				test.says == nil && reported != "" {
				t.Errorf("reported: %s", reported)
			}

			degraded := meta.FindStatusCondition(s.Status.Conditions, dialect.ConditionDegraded)
			if (degraded == nil) != (test.reason == "") || degraded != nil && degraded.Reason != test.reason {
				t.Errorf("the condition is %+v, want the reason %q", degraded, test.reason)
			}

			for _, says := range test.says {
				_, message, _ := strings.Cut(says, ": ")
				if !strings.Contains(reported, "Warning "+says) || !strings.Contains(degraded.Message, message) {
					t.Errorf("reported %s, in the condition %q, want %s", reported, degraded.Message, says)
				}
			}

			if s.Status.ScheduleState != v1beta2.ScheduleStateScheduled ||
				!s.Status.NextRun.Time.Equal(morning.Add(30*time.Minute)) {
				t.Errorf("state %s, next run %s", s.Status.ScheduleState, s.Status.NextRun)
			}

			plan := d.Decide(s, lifecycle.Observed{}, morning.Add(30*time.Minute))
			storedSchedule(t, s)

			if again := toldBy(d, s, plan); len(plan.Actions) != 1 ||
				!strings.HasPrefix(again, "Normal RunStarted: ") || strings.Contains(again, "\n") {
				t.Errorf("when a run is due: %v, reported %s", plan.Actions, again)
			}

			mended := nightly()
			mended.Status, mended.Generation = s.Status, 2
			d.Decide(mended, lifecycle.Observed{}, morning.Add(31*time.Minute))

			if got := conditionsOf(mended.Status.Conditions); got != "Ready=True(Scheduled)" {
				t.Errorf("conditions of the corrected schedule: %s", got)
			}
		})
	}
}

// TestDoubtComesLater checks an edit that adds a second doubtful setting. The second one is reported, and the first one
// is not reported again.
func TestDoubtComesLater(t *testing.T) {
	d, s := usual, nightly(func(s *v1beta2.ScheduledSparkApplication) { s.Spec.TimeZone = "Local" })
	d.Decide(s, lifecycle.Observed{}, morning)

	s.Spec.ConcurrencyPolicy, s.Generation = "Maybe", 2
	if reported := toldBy(d, s, d.Decide(s, lifecycle.Observed{}, morning)); !strings.HasPrefix(reported,
		"Warning UnknownConcurrencyPolicy: ") || strings.Contains(reported, "LocalTimeZone") {
		t.Errorf("reported: %s", reported)
	}

	s.Spec.ConcurrencyPolicy, s.Generation = "Perhaps", 3
	if reported := toldBy(d, s, d.Decide(s, lifecycle.Observed{}, morning)); !strings.Contains(reported, `"Perhaps"`) {
		t.Errorf("an edit to another unknown policy is not reported: %q", reported)
	}
}

// TestLocalIsNoEdit checks that the time zones UTC and Local have the same meaning as no time zone. If one of them
// replaces another, this is not an edit of the schedule, so no due run is dropped.
func TestLocalIsNoEdit(t *testing.T) {
	d, s := usual, nightly(func(s *v1beta2.ScheduledSparkApplication) { s.Spec.TimeZone = "Local" })
	d.Decide(s, lifecycle.Observed{}, morning)
	s.Spec.TimeZone, s.Spec.Schedule, s.Generation = "UTC", "0  *   * * *", 2

	plan := d.Decide(s, lifecycle.Observed{}, morning.Add(40*time.Minute))
	if len(plan.Actions) != 1 || strings.Contains(toldBy(d, s, plan), "ScheduleChanged") {
		t.Errorf("%v, reported %s", plan.Actions, toldBy(d, s, plan))
	}
}
