package schedule

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no database of the system's

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

var morning = time.Date(2026, 2, 1, 10, 30, 0, 0, time.UTC)

// nightly returns a valid schedule, to which it applies the given changes.
func nightly(change ...func(*v1beta2.ScheduledSparkApplication)) *v1beta2.ScheduledSparkApplication {
	s := &v1beta2.ScheduledSparkApplication{}
	s.Name, s.Namespace, s.UID, s.Generation = "nightly", "jobs", "aaaaaaaa-2222-4333-8444-555555555555", 1
	s.CreationTimestamp = metav1.NewTime(morning)

	s.Spec = v1beta2.ScheduledSparkApplicationSpec{Schedule: "0 * * * *", Template: piSpec()}
	for _, c := range change {
		c(s)
	}
	return s
}

// storedSchedule converts the status to JSON and back, as the API server does.
func storedSchedule(t testing.TB, s *v1beta2.ScheduledSparkApplication) {
	t.Helper()

	text, err := json.Marshal(&s.Status)
	if err != nil {
		t.Fatal(err)
	}

	s.Status = v1beta2.ScheduledSparkApplicationStatus{}
	if err := json.Unmarshal(text, &s.Status); err != nil {
		t.Fatal(err)
	}
}

// toldBy returns the events of a plan as text, one event in each line.
func toldBy(d Schedules, s *v1beta2.ScheduledSparkApplication, plan lifecycle.Plan) string {
	var out []string
	for _, e := range d.Events(s, plan) {
		out = append(out, e.Type+" "+e.Reason+": "+e.Message)
	}
	return strings.Join(out, "\n")
}

// conditionsOf returns the types, statuses and reasons of conditions as text.
func conditionsOf(conditions []metav1.Condition) string {
	var out []string
	for _, c := range conditions {
		out = append(out, fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason))
	}
	return strings.Join(out, " ")
}

// TestScheduleLife checks the status of an ordinary schedule during its life cycle. The status must have the fields and
// values that tools of this API expect.
func TestScheduleLife(t *testing.T) {
	d, s := usual, nightly()
	plan := d.Decide(s, lifecycle.Observed{}, morning)
	storedSchedule(t, s)

	next := time.Date(2026, 2, 1, 11, 0, 0, 0, time.UTC)
	if s.Status.ScheduleState != v1beta2.ScheduleStateScheduled || !s.Status.NextRun.Time.Equal(next) ||
		plan.Actions != nil || plan.RequeueAfter != 10*time.Minute {
		t.Errorf("a new schedule: %+v, %+v", s.Status, plan)
	}

	if got := conditionsOf(s.Status.Conditions); got != "Ready=True(Scheduled)" {
		t.Errorf("a new schedule has %s", got)
	}

	now := next.Add(20 * time.Millisecond)
	plan = d.Decide(s, lifecycle.Observed{}, now)
	storedSchedule(t, s)

	if diff := cmp.Diff([]lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun,
		Name: "nightly-1769943600"}}, plan.Actions); diff != "" {
		t.Fatal(diff)
	}

	if st := s.Status; !st.LastRun.Time.Equal(next) || st.LastRunName != "nightly-1769943600" ||
		!st.NextRun.Time.Equal(next.Add(time.Hour)) {
		t.Errorf("after the first run: %+v", st)
	}

	if got := toldBy(d, s, plan); got != "Normal RunStarted: run nightly-1769943600 is the run of 2026-02-01T11:00:00Z" {
		t.Errorf("reported: %s", got)
	}

	run, err := d.RenderRun(s, plan.Actions[0])
	if err != nil {
		t.Fatal(err)
	}

	run.UID, run.CreationTimestamp = "run-1", metav1.NewTime(now)
	run.Status.AppState.State = v1beta2.ApplicationStateFailed
	seen := lifecycle.Observed{Runs: []lifecycle.Run{d.RunFacts(run)}}
	plan = d.Decide(s, seen, now.Add(time.Minute))
	storedSchedule(t, s)

	if diff := cmp.Diff([]string{"nightly-1769943600"}, s.Status.PastFailedRunNames); diff != "" ||
		s.Status.PastSuccessfulRunNames != nil {
		t.Errorf("%s\n%v", diff, s.Status.PastSuccessfulRunNames)
	}

	if got := toldBy(d, s, plan); !strings.HasPrefix(got, "Warning RunFailed: run nightly-1769943600 failed") {
		t.Errorf("reported: %s", got)
	}

	if again := d.Decide(s, seen, now.Add(2*time.Minute)); toldBy(d, s, again) != "" {
		t.Errorf("reported again: %s", toldBy(d, s, again))
	}
}

func TestRenderRun(t *testing.T) {
	d := usual
	s := nightly(func(s *v1beta2.ScheduledSparkApplication) {
		s.Labels = map[string]string{"team": "data", sparkoperator.LabelScheduledAppName: "another",
			sparkoperator.LabelAppUID: "stolen", sparkoperator.LabelManaged: "false"}
		s.Annotations = map[string]string{v1beta2.RunNowAnnotation: "monday",
			"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	})

	run, err := d.RenderRun(s, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun,
		Name: "nightly-1769943600"})
	if err != nil {
		t.Fatal(err)
	}

	want := &v1beta2.SparkApplication{
		TypeMeta: metav1.TypeMeta{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "nightly-1769943600", Namespace: "jobs",
			Labels:      map[string]string{"team": "data", sparkoperator.LabelScheduledAppName: "nightly"},
			Annotations: map[string]string{v1beta2.ScheduledAtAnnotation: "2026-02-01T11:00:00Z"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "sparkoperator.k8s.io/v1beta2",
				Kind: "ScheduledSparkApplication", Name: "nightly",
				UID: s.UID, BlockOwnerDeletion: new(true)}},
		},
		Spec: s.Spec.Template,
	}
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("the run of a tick (-want +got):\n%s", diff)
	}

	run.Spec.Executor.Instances = new(int32(99))
	if *s.Spec.Template.Executor.Instances == 99 {
		t.Error("a run's spec is the template itself")
	}

	asked, err := d.RenderRun(s,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun,
			Name: schedule.RequestName("nightly", string(s.UID), "monday")})
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(map[string]string{v1beta2.RunNowAnnotation: "monday"}, asked.Annotations); diff != "" {
		t.Errorf("the requested run (-want +got):\n%s", diff)
	}

	if problems := validate.Spec(run); len(problems) > 0 {
		t.Errorf("a run is refused: %v", problems[0])
	}
}

func TestRunFacts(t *testing.T) {
	ended := metav1.NewTime(morning)
	for state, want := range map[v1beta2.ApplicationStateType]lifecycle.Outcome{
		v1beta2.ApplicationStateNew: lifecycle.Undecided, v1beta2.ApplicationStateRunning: lifecycle.Undecided,
		v1beta2.ApplicationStateSucceeding: lifecycle.Undecided, v1beta2.ApplicationStateFailing: lifecycle.Undecided,
		v1beta2.ApplicationStateFailedSubmission: lifecycle.Undecided,
		v1beta2.ApplicationStateSuspended:        lifecycle.Undecided,
		v1beta2.ApplicationStateUnknown:          lifecycle.Undecided,
		v1beta2.ApplicationStateInvalidating:     lifecycle.Undecided,
		v1beta2.ApplicationStateCompleted:        lifecycle.Succeeded, v1beta2.ApplicationStateFailed: lifecycle.Failed,
	} {
		app := &v1beta2.SparkApplication{Spec: piSpec()}
		app.Name = "pi"
		app.CreationTimestamp, app.Status.AppState.State,
			app.Status.TerminationTime = metav1.NewTime(morning.Add(-time.Hour)), state, ended

		got := usual.RunFacts(app)
		if got.Outcome != want || got.EndedAt.IsZero() != (want == lifecycle.Undecided) || got.Name != "pi" ||
			got.Deleting {
			t.Errorf("%q: %+v, want %q", state, got, want)
		}
	}

	app := &v1beta2.SparkApplication{Spec: piSpec()}
	app.Name = "pi"

	app.DeletionTimestamp = &ended
	if !usual.RunFacts(app).Deleting {
		t.Error("a run that is being deleted is not reported")
	}
}

// TestScheduleRefusals checks that every invalid field is reported by name in the schedule's state, in its conditions
// and in an event. If the field is corrected, the schedule recovers.
func TestScheduleRefusals(t *testing.T) {
	for _, test := range []struct {
		about  string
		change func(*v1beta2.ScheduledSparkApplication)
		says   string
	}{
		{"schedule", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "whenever" }, "spec.schedule: "},
		{"seconds", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "0 0 * * * *" },
			"spec.schedule: has 6 fields"},
		{"never", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "0 0 30 2 *" },
			"spec.schedule: is never due"},
		{"zone", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.TimeZone = "Mars/Olympus" }, "spec.timeZone: "},
		{"zone of the schedule", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "TZ=../../etc/passwd @daily" }, "spec.schedule: its time zone"},
		{"kept", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.SuccessfulRunHistoryLimit = new(int32(-1)) },
			"spec.successfulRunHistoryLimit: -1"},
		{"too many kept", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.SuccessfulRunHistoryLimit = new(int32(1001)) }, "spec.successfulRunHistoryLimit: 1001"},
		{"too many failures kept", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.FailedRunHistoryLimit = new(int32(math.MaxInt32)) }, "spec.failedRunHistoryLimit: "},
		{"kept failures", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.FailedRunHistoryLimit = new(int32(math.MinInt32)) }, "spec.failedRunHistoryLimit: "},
		{"deadline", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.StartingDeadlineSeconds = new(int64(-5)) },
			"spec.startingDeadlineSeconds: -5"},
		{"jitter", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.JitterSeconds = new(int64(-5)) },
			"spec.jitterSeconds: -5"},
		{"template's conf", func(s *v1beta2.ScheduledSparkApplication) {
			s.Spec.Template.SparkConf = map[string]string{"spark.master": "local"}
		}, "spec.template.sparkConf[spark.master]: is not allowed"},
		{"template's memory", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Template.Driver.Memory = new("lots") }, "spec.template.driver.memory: "},
		{"template's image", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Template.Image = nil },
			"spec.template."},
		{"name", func(s *v1beta2.ScheduledSparkApplication) { s.Name = strings.Repeat("n", schedule.MaxName+1) },
			"metadata.name: "},
		{"name with a dot", func(s *v1beta2.ScheduledSparkApplication) { s.Name = "a.b" }, "metadata.name: "},
	} {
		t.Run(test.about, func(t *testing.T) {
			d, s := usual, nightly(test.change)
			s.Annotations = map[string]string{v1beta2.RunNowAnnotation: "1"}
			plan := d.Decide(s, lifecycle.Observed{}, morning.Add(2*time.Hour))
			storedSchedule(t, s)

			if s.Status.ScheduleState != v1beta2.ScheduleStateFailedValidation ||
				!strings.Contains(s.Status.Reason, test.says) || !s.Status.NextRun.IsZero() {
				t.Errorf("state %q, reason %q, next run %s; want one with %q", s.Status.ScheduleState, s.Status.Reason,
					s.Status.NextRun, test.says)
			}

			if got := conditionsOf(s.Status.Conditions); got != "Ready=False(InvalidSpec) Stalled=True(InvalidSpec)" {
				t.Errorf("conditions %s", got)
			}

			if ready := meta.FindStatusCondition(s.Status.Conditions,
				dialect.ConditionReady); !strings.Contains(ready.Message, test.says) {
				t.Errorf("Ready says %q", ready.Message)
			}

			if got := toldBy(d, s, plan); !strings.HasPrefix(got, "Warning InvalidSpec: ") ||
				!strings.Contains(got, test.says) {
				t.Errorf("reported: %s", got)
			}

			if plan.Actions != nil || plan.RequeueAfter != 0 {
				t.Errorf("something is done: %+v", plan)
			}

			mended := nightly()
			mended.Status, mended.Generation = s.Status, 2

			plan = d.Decide(mended, lifecycle.Observed{}, morning.Add(150*time.Minute))
			if mended.Status.ScheduleState != v1beta2.ScheduleStateScheduled || mended.Status.Reason != "" ||
				mended.Status.NextRun.IsZero() ||
				conditionsOf(mended.Status.Conditions) != "Ready=True(Scheduled)" ||
				!strings.Contains(toldBy(d, mended, plan), "Normal ScheduleValid: ") {
				t.Errorf("mended: %+v\n%s", mended.Status, toldBy(d, mended, plan))
			}
		})
	}
}

// TestScheduleIsNotRefusedForTheLongestName checks a schedule with the longest allowed name. Its runs, and the objects
// of these runs, must have valid names. A name that is one character longer is rejected.
func TestScheduleIsNotRefusedForTheLongestName(t *testing.T) {
	if schedule.MaxName != 52 {
		t.Errorf("docs/schedules.md says 52, and it is %d", schedule.MaxName)
	}

	for _, precision := range []string{"", "nanos", "micros", "millis", "seconds", "minutes"} {
		d, s := Schedules{Options{Runs: usual.Runs, TimestampPrecision: precision}},
			nightly(func(s *v1beta2.ScheduledSparkApplication) { s.Name = strings.Repeat("n", schedule.MaxName) })
		d.Decide(s, lifecycle.Observed{}, morning)

		s.Annotations = map[string]string{v1beta2.RunNowAnnotation: "1"}
		for i, name := range []string{schedule.RequestName(s.Name, string(s.UID), "1"), s.Name + "-1769943600"} {
			if precision == "minutes" && i == 1 {
				name = s.Name + "-29499060"
			}

			run, err := d.RenderRun(s, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun,
				Name: name})
			if err != nil {
				t.Fatal(err)
			}

			if wrong := validate.Spec(run); len(wrong) > 0 || len(name) > 63 {
				t.Errorf("%s: %v", name, wrong)
			}

			run.UID = "11111111-2222-4333-8444-666666666666"
			for _, object := range runObjects(t, run) {
				problems := validation.IsDNS1123Subdomain(object.GetName())
				if _, isService := object.(*corev1.Service); isService {
					problems = validation.IsDNS1035Label(object.GetName())
				}

				for key, value := range object.GetLabels() {
					for _, problem := range validation.IsValidLabelValue(value) {
						problems = append(problems, key+": "+problem)
					}
				}

				if len(problems) > 0 {
					t.Errorf("%T %s: %v", object, object.GetName(), problems)
				}
			}
		}

		started := ""
		for i := range 2 {
			for _, action := range d.Decide(s, lifecycle.Observed{Confirmed: true},
				morning.Add(time.Duration(30+i)*time.Minute)).Actions {
				started += " " + action.Name
			}
		}

		if !strings.Contains(started, s.Name+"-now-") || !strings.Contains(started, s.Name+"-176994") &&
			!strings.Contains(started, s.Name+"-29499060") {
			t.Errorf("%s: started%s", precision, started)
		}

		s.Name += "n"
		if wrong := d.Validate(s, morning); len(wrong) == 0 || wrong[0].Field != "metadata.name" ||
			!strings.Contains(wrong[0].Message, "use at most 52 lower case letters") {
			t.Errorf("a name that is too long: %v", wrong)
		}
	}
}

// TestUnknownPolicy checks that an unknown concurrency policy is reported, and that no second run starts while a run is
// active.
func TestUnknownPolicy(t *testing.T) {
	d, s := usual, nightly(func(s *v1beta2.ScheduledSparkApplication) { s.Spec.ConcurrencyPolicy = "Maybe" })
	plan := d.Decide(s, lifecycle.Observed{}, morning)
	storedSchedule(t, s)

	if got := conditionsOf(s.Status.Conditions); got != "Ready=True(Scheduled) Degraded=True(UnknownConcurrencyPolicy)" {
		t.Error(got)
	}

	if got := toldBy(d, s, plan); !strings.HasPrefix(got,
		"Warning UnknownConcurrencyPolicy: spec.concurrencyPolicy: \"Maybe\"") {
		t.Error(got)
	}

	going := lifecycle.Observed{Runs: []lifecycle.Run{{Name: "other", CreatedAt: morning}}}
	if plan = d.Decide(s, going, morning.Add(time.Hour)); plan.Actions != nil ||
		toldBy(d, s, plan) != "Normal RunWaiting: run nightly-1769943600 waits until no other run is active: other" {
		t.Errorf("%v %s", plan.Actions, toldBy(d, s, plan))
	}
}

func TestScheduleConditions(t *testing.T) {
	late := morning.Add(time.Hour)
	for _, test := range []struct {
		about  string
		change func(*v1beta2.ScheduledSparkApplication)
		seen   lifecycle.Observed
		want   string
	}{
		{"suspended", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Suspend = new(true) }, lifecycle.Observed{},
			"Ready=False(Suspended) Suspended=True(Suspended)"},
		{"suspended and wrong", func(s *v1beta2.ScheduledSparkApplication) {
			s.Spec.Suspend,
				s.Spec.Schedule = new(true), "x"
		}, lifecycle.Observed{},
			"Ready=False(InvalidSpec) Stalled=True(InvalidSpec) Suspended=True(Suspended)"},
		{"refused", nil, lifecycle.Observed{Confirmed: true,
			Rejection: &lifecycle.Cause{Reason: "QuotaExceeded", Message: "q"}},
			"Ready=False(QuotaExceeded) Reconciling=True(QuotaExceeded)"},
		{"transient error", nil, lifecycle.Observed{TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "w"}}}, "Ready=False(Timeout) Reconciling=True(Timeout)"},
		{"replacing", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyReplace },
			lifecycle.Observed{Runs: []lifecycle.Run{{Name: "other"}}},
			"Ready=True(Replacing) Reconciling=True(Replacing)"},
		{"forbidden", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid },
			lifecycle.Observed{Runs: []lifecycle.Run{{Name: "other"}}}, "Ready=True(RunWaiting)"},
	} {
		s := nightly()
		if test.change != nil {
			test.change(s)
		}

		usual.Decide(s, lifecycle.Observed{}, morning)
		usual.Decide(s, test.seen, late)

		if got := conditionsOf(s.Status.Conditions); got != test.want {
			t.Errorf("%s: %s, want %s", test.about, got, test.want)
		}
	}
}

// TestScheduleIsTakenOver checks the take-over of a schedule from another operator. No run may start twice. If several
// runs were missed, only one run starts, as in the other operator.
func TestScheduleIsTakenOver(t *testing.T) {
	last, next := metav1.NewTime(morning.Add(-30*time.Minute)), metav1.NewTime(morning.Add(30*time.Minute))

	left := v1beta2.ScheduledSparkApplicationStatus{LastRun: last, NextRun: next,
		LastRunName: "nightly-1769940000123456789", ScheduleState: v1beta2.ScheduleStateScheduled,
		PastSuccessfulRunNames: []string{"nightly-1769940000123456789"}}
	for _, test := range []struct {
		about  string
		change func(*v1beta2.ScheduledSparkApplication)
		runs   []lifecycle.Run
		at     time.Duration // after the last run was due to be the next
		start  string
		next   time.Time
	}{
		{"before the next run", nil, nil, -10 * time.Minute, "", next.Time},
		{"5 minutes after the next run", nil, nil, 5 * time.Minute, "nightly-1769943600", next.Add(time.Hour)},
		{"after five missed runs", nil, nil, 5 * time.Hour, "nightly-1769961600", next.Add(6 * time.Hour)},
		{"the other operator created the run but did not store it", nil,
			[]lifecycle.Run{{Name: "nightly-1769943600234567890", CreatedAt: next.Time}}, 5 * time.Minute, "",
			next.Add(time.Hour)},
		{"an edit that the other operator did not process",
			func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "*/10 * * * *" }, nil, -15 * time.Minute, "",
			next.Add(-10 * time.Minute)},
		{"an interval", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Schedule = "@every 1h" }, nil, time.Second,
			"nightly-1769943600", next.Add(time.Hour)},
		{"the other operator rejected the spec", func(s *v1beta2.ScheduledSparkApplication) {
			s.Status = v1beta2.ScheduledSparkApplicationStatus{ScheduleState: v1beta2.ScheduleStateFailedValidation,
				Reason: "x"}
		}, nil, 5 * time.Hour, "", next.Add(6 * time.Hour)},
		{"suspended", func(s *v1beta2.ScheduledSparkApplication) { s.Spec.Suspend = new(true) }, nil, 5 * time.Hour, "",
			time.Time{}},
	} {
		t.Run(test.about, func(t *testing.T) {
			s := nightly()

			s.Status = left
			if test.change != nil {
				test.change(s)
			}

			now := next.Add(test.at)
			var start []string

			reported := ""
			for range 3 { // further passes, because a pass may request a live read first
				seen := lifecycle.Observed{Runs: test.runs, Confirmed: true}
				plan := usual.Decide(s, seen, now)
				storedSchedule(t, s)

				for _, a := range plan.Actions {
					start = append(start, a.Name)
				}

				reported += toldBy(usual, s, plan)
			}

			if got := strings.Join(start, " "); got != test.start {
				t.Errorf("started %q, want %q", got, test.start)
			}

			if !s.Status.NextRun.Time.Equal(test.next) {
				t.Errorf("the next run is %s, want %s", s.Status.NextRun, test.next)
			}

			if strings.Count(reported, "ScheduleTakenOver") != 1 {
				t.Errorf("reported: %s", reported)
			}
		})
	}
}

// TestScheduleLawOverLives simulates random life cycles of schedules. The memory that a decision stores in the status
// must be the memory that the next decision reads. A decision that does nothing must leave the status unchanged.
func TestScheduleLawOverLives(t *testing.T) {
	reasons := map[string]int{}
	for seed := range uint64(effort.Count(t, 12)) {
		r := rand.New(rand.NewPCG(seed, 4))
		d := Schedules{Options{Runs: usual.Runs, TimestampPrecision: []string{"", "nanos", "minutes"}[r.IntN(3)]}}
		s := nightly(func(s *v1beta2.ScheduledSparkApplication) { s.UID = types.UID(fmt.Sprint("u", seed)) })

		now := morning
		for range 60 {
			now = now.Add(time.Duration(1+r.IntN(900_000_000)) * time.Microsecond)
			changeSchedule(r, s)
			seen := runsAt(r, s, now)
			want, _ := d.schedule(s, now)
			plan := schedule.Step(want, decodeSchedule(s, want, now), seen, now)
			reported := d.Decide(s, seen, now)

			if slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm }) {
				continue // never stored
			}

			storedSchedule(t, s)

			if diff := cmp.Diff(plan.Next, decodeSchedule(s, want, now), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("life %d: memory (-decided +read):\n%s", seed, diff)
			}

			for _, n := range reported.Notices {
				reasons[n.Cause.Reason]++
			}

			checkSchedule(t, d, s, seen, now)
		}
	}

	for _, reason := range []string{schedule.ReasonStarted, schedule.ReasonFailed, schedule.ReasonRefused,
		schedule.ReasonMissed, schedule.ReasonEdited,
		schedule.ReasonSuspended, lifecycle.ReasonInvalid} {
		if reasons[reason] == 0 {
			t.Errorf("no life came to %s: %v", reason, reasons)
		}
	}
}

func changeSchedule(r *rand.Rand, s *v1beta2.ScheduledSparkApplication) {
	switch r.IntN(12) {
	case 0:
		s.Spec.Suspend = new(r.IntN(2) == 0)
	case 1:
		s.Spec.Schedule = []string{"0 * * * *", "*/5 * * * *", "nonsense", "@every 7m"}[r.IntN(4)]
	case 2:
		s.Spec.ConcurrencyPolicy = []v1beta2.ConcurrencyPolicy{"", "Forbid", "Replace", "Maybe"}[r.IntN(4)]
	case 3:
		s.Annotations = map[string]string{v1beta2.RunNowAnnotation: strings.Repeat("x", r.IntN(400))}
	case 4:
		s.Spec.FailedRunHistoryLimit = new(int32(r.IntN(3)))
	default:
		return
	}
	s.Generation++
}

func runsAt(r *rand.Rand, s *v1beta2.ScheduledSparkApplication, now time.Time) lifecycle.Observed {
	seen := lifecycle.Observed{Confirmed: r.IntN(2) == 0}
	if name := s.Status.LastRunName; name != "" && r.IntN(4) > 0 {
		outcomes := []lifecycle.Outcome{lifecycle.Undecided, lifecycle.Succeeded, lifecycle.Failed}
		seen.Runs = append(seen.Runs,
			lifecycle.Run{Name: name, CreatedAt: now.Add(-time.Minute).Truncate(time.Second),
				Outcome: outcomes[r.IntN(3)], Deleting: r.IntN(5) == 0})
	}

	if r.IntN(6) == 0 {
		seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	}

	if r.IntN(9) == 0 {
		seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout",
			Message: fmt.Sprint(r.Int())}, Since: now}
	}
	return seen
}

// checkSchedule checks that the API server would accept the conditions, and that the state and the reason of the status
// are consistent. It then decides a second time. If this decision contains no actions and no notices, it must leave the
// status unchanged.
func checkSchedule(t *testing.T, d Schedules, s *v1beta2.ScheduledSparkApplication, seen lifecycle.Observed,
	now time.Time) {
	t.Helper()

	for _, c := range s.Status.Conditions {
		if dialect.UsableReason(c.Reason) != c.Reason || c.LastTransitionTime.IsZero() || len(c.Message) > 32768 {
			t.Fatalf("an API server would reject %+v", c)
		}
	}

	if meta.FindStatusCondition(s.Status.Conditions, dialect.ConditionReady) == nil ||
		(s.Status.ScheduleState == v1beta2.ScheduleStateFailedValidation) != (s.Status.Reason != "") {
		t.Fatalf("%+v", s.Status)
	}

	seen.Rejection, seen.Confirmed = nil, false
	again := s.DeepCopy()

	plan := d.Decide(again, seen, now)
	if len(plan.Actions) > 0 || len(plan.Notices) > 0 {
		return
	}

	storedSchedule(t, again)

	if diff := cmp.Diff(s.Status, again.Status, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("a second pass changes the status:\n%s", diff)
	}
}

// TestScheduleIsBeingDeleted checks that a schedule that is being deleted keeps its status and that its plan has no
// actions.
func TestScheduleIsBeingDeleted(t *testing.T) {
	gone := metav1.NewTime(morning)
	s := nightly(func(s *v1beta2.ScheduledSparkApplication) { s.DeletionTimestamp = &gone })

	plan := usual.Decide(s, lifecycle.Observed{Runs: []lifecycle.Run{{Name: "x", Outcome: lifecycle.Failed}}},
		morning.Add(5*time.Hour))
	if diff := cmp.Diff(lifecycle.Plan{}, plan); diff != "" || s.Status.ScheduleState != "" {
		t.Errorf("%s %+v", diff, s.Status)
	}
}

// usual has the usual options.
var usual = Schedules{Options{Runs: application.Dialect{}}}

// piSpec returns the spec of a small application.
func piSpec() v1beta2.SparkApplicationSpec {
	spec := v1beta2.SparkApplicationSpec{
		Type: v1beta2.SparkApplicationTypeJava, Mode: v1beta2.DeployModeCluster, SparkVersion: "4.1.4",
		Image:               new("spark:4.1.4"),
		MainClass:           new("org.apache.spark.examples.SparkPi"),
		MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
	}
	spec.Executor.Instances = new(int32(2))
	return spec
}

// runObjects returns the objects that are created for a run's first attempt.
func runObjects(t *testing.T, run *v1beta2.SparkApplication) []submit.Object {
	t.Helper()

	launch := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

	objects, err := (application.Dialect{}).Render(run, launch, morning)
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(objects.Before), objects.Driver)
}
