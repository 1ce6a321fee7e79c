package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// labelSchedule is the label on every run of a schedule.
const labelSchedule = "sparkoperator.k8s.io/scheduled-app-name"

// schedules tests ScheduledSparkApplications in real time. Their runs are real applications.
func (w *suite) schedules(t *testing.T) {
	w.parallel(t, "run on request, pruned, orphaned", w.scheduleRequested)
}

// schedulesLong runs the tests of schedules that wait for minutes.
func (w *suite) schedulesLong(t *testing.T) {
	w.lifeProgram(t)
	w.parallel(t, "every minute, one at a time", w.scheduleForbids)
	w.parallel(t, "every few seconds, the newest alone", w.scheduleReplaces)
	w.parallel(t, "a bad schedule that is mended", w.scheduleMended)
}

// schedule returns the example schedule with the given name and cron expression, after the given change.
func (w *suite) schedule(t *testing.T, name, times string,
	change func(*v1beta2.ScheduledSparkApplication)) *v1beta2.ScheduledSparkApplication {
	t.Helper()
	return exampleOf(t, "spark-pi-schedule.yaml", func(s *v1beta2.ScheduledSparkApplication) {
		s.Name, s.Spec.Schedule, s.Spec.StartingDeadlineSeconds = name, times, nil

		s.Spec.Template.Executor.Instances = new(int32(1))
		if change != nil {
			change(s)
		}
	})
}

// scheduleRequested checks runs that a user requests with an annotation. When the second run ends, it replaces the
// first run in the history. If the schedule is deleted with orphan propagation, the last run stays.
func (w *suite) scheduleRequested(t *testing.T) {
	s := w.schedule(t, "requested", "0 3 1 1 *",
		func(s *v1beta2.ScheduledSparkApplication) { s.Spec.SuccessfulRunHistoryLimit = new(int32(1)) })
	w.create(t, s)
	awaitObject(t, w, s, time.Minute, "its next time", func(s *v1beta2.ScheduledSparkApplication) bool {
		return s.Status.ScheduleState == v1beta2.ScheduleStateScheduled && s.Status.NextRun.After(time.Now())
	})
	first := w.request(t, s, "first")
	w.awaitEnd(t, first, patience, v1beta2.ApplicationStateCompleted)

	if log := w.driverLog(t, first); !piLine.MatchString(log) {
		t.Errorf("no result in the driver's log:\n%s", log)
	}

	w.awaitHistory(t, s, []string{first.Name}, nil)
	second := w.request(t, s, "second")
	w.awaitEnd(t, second, patience, v1beta2.ApplicationStateCompleted)
	w.awaitHistory(t, s, []string{second.Name}, nil)
	w.awaitGone(t, first)

	if err := w.Client.Delete(t.Context(), s, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}

	w.awaitGone(t, s)

	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil {
		t.Fatalf("the run is gone with its schedule: %v", err)
	}

	if len(second.OwnerReferences) > 0 || second.DeletionTimestamp != nil ||
		second.Status.AppState.State != v1beta2.ApplicationStateCompleted {
		t.Errorf("the run that is left has the owners %v, is deleted at %v and %s", second.OwnerReferences,
			second.DeletionTimestamp, second.Status.AppState.State)
	}

	w.remove(t, second)
}

// scheduleForbids checks that the policy Forbid delays the next run until the current run ends. Deleting the schedule
// deletes its runs.
func (w *suite) scheduleForbids(t *testing.T) {
	s := w.schedule(t, "one-at-a-time", "* * * * *", func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.ConcurrencyPolicy, s.Spec.FailedRunHistoryLimit = v1beta2.ConcurrencyForbid, new(int32(1))
		s.Spec.Template = w.scriptedApp(t, "", []string{"sleep"}, nil).Spec
	})
	w.create(t, s)
	first := w.nextRun(t, s, "")
	w.await(t, first, patience, "RUNNING",
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == running })
	awaitObject(t, w, s, 2*time.Minute, "a time that has come", func(s *v1beta2.ScheduledSparkApplication) bool {
		return s.Status.NextRun.After(s.Status.LastRun.Time) && time.Now().After(s.Status.NextRun.Add(5*time.Second))
	})

	if runs := w.runsOf(t, s); len(runs) != 1 {
		t.Errorf("there are %d runs at once", len(runs))
	}

	due := s.Status.NextRun

	if err := w.Client.Delete(t.Context(), w.podOf(t, first, "driver")); err != nil {
		t.Fatal(err)
	}

	second := w.nextRun(t, s, first.Name)
	if at := w.scheduledAt(t, second); at.Before(due.Time) || at.After(second.CreationTimestamp.Time) {
		t.Errorf("the run that was due at %s is for %s, and was started at %s", due, at, second.CreationTimestamp)
	}

	w.awaitHistory(t, s, nil, []string{first.Name})
	w.remove(t, s)
	w.awaitGone(t, first)
	w.awaitGone(t, second)
}

// scheduleReplaces checks that each new run replaces the current run. After the schedule is suspended, the last run
// continues.
func (w *suite) scheduleReplaces(t *testing.T) {
	s := w.schedule(t, "newest", "@every 20s", func(s *v1beta2.ScheduledSparkApplication) {
		s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyReplace
		s.Spec.Template = w.scriptedApp(t, "", []string{"sleep"}, nil).Spec
	})
	w.create(t, s)
	first := w.nextRun(t, s, "")
	second := w.nextRun(t, s, first.Name)
	w.awaitGone(t, first)

	before := s.DeepCopy()

	s.Spec.Suspend = new(true)
	if err := w.Client.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	awaitObject(t, w, s, time.Minute, "to be suspended", func(s *v1beta2.ScheduledSparkApplication) bool {
		return s.Status.ObservedGeneration == s.Generation
	})

	last := s.Status.LastRunName
	if runs := w.runsOf(t, s); len(runs) != 1 || runs[0].Name != last {
		t.Errorf("%d runs, want %s alone (the one before was %s)", len(runs), last, second.Name)
	}

	w.remove(t, s)
}

// scheduleMended checks that the status of an invalid schedule names the invalid field. After the test corrects both
// fields, the operator must accept the schedule and set the time of its next run.
func (w *suite) scheduleMended(t *testing.T) {
	s, unreviewed := w.schedule(t, "mended", "every now and then", nil), w.unreviewedClient(t)
	if err := unreviewed.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}

	for _, step := range []struct {
		field, times, zone string
	}{
		{"spec.schedule", "every now and then", ""},
		{"spec.timeZone", "@daily", "Middle-earth/Bree"},
	} {
		before := s.DeepCopy()

		s.Spec.Schedule, s.Spec.TimeZone = step.times, step.zone
		if err := unreviewed.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}

		awaitObject(t, w, s, time.Minute, "a word on "+step.field, func(s *v1beta2.ScheduledSparkApplication) bool {
			return s.Status.ObservedGeneration == s.Generation &&
				s.Status.ScheduleState == v1beta2.ScheduleStateFailedValidation &&
				strings.Contains(s.Status.Reason, step.field)
		})
	}

	before := s.DeepCopy()

	s.Spec.TimeZone = "Europe/Vienna"
	if err := w.Client.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	awaitObject(t, w, s, time.Minute, "its next time", func(s *v1beta2.ScheduledSparkApplication) bool {
		return s.Status.ScheduleState == v1beta2.ScheduleStateScheduled && s.Status.NextRun.After(time.Now())
	})

	if len(w.runsOf(t, s)) > 0 {
		t.Error("it was run without being due")
	}

	w.remove(t, s)
}

// request sets the annotation that requests a run to the given value, and returns the new run.
func (w *suite) request(t *testing.T, s *v1beta2.ScheduledSparkApplication, value string) *v1beta2.SparkApplication {
	t.Helper()

	before, last := s.DeepCopy(), s.Status.LastRunName
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1beta2.RunNowAnnotation, value)

	if err := w.Client.Patch(t.Context(), s, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	run := w.nextRun(t, s, last)
	if got := run.Annotations[v1beta2.RunNowAnnotation]; got != value {
		t.Errorf("run %s is for the request %q, want %q", run.Name, got, value)
	}
	return run
}

// nextRun waits for a run whose name is not last, and returns it.
func (w *suite) nextRun(t *testing.T, s *v1beta2.ScheduledSparkApplication, last string) *v1beta2.SparkApplication {
	t.Helper()
	awaitObject(t, w, s, 3*time.Minute, "a run after "+last, func(s *v1beta2.ScheduledSparkApplication) bool {
		return s.Status.LastRunName != last && s.Status.LastRunName != ""
	})

	run := &v1beta2.SparkApplication{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Status.LastRunName},
		run); err != nil {
		t.Fatal(err)
	}

	if run.Labels[labelSchedule] != s.Name ||
		!slices.ContainsFunc(run.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return ref.UID == s.UID && ref.Kind == "ScheduledSparkApplication"
		}) {
		t.Errorf("run %s has labels %v and owners %v", run.Name, run.Labels, run.OwnerReferences)
	}
	return run
}

// scheduledAt returns the scheduled time of a run.
func (w *suite) scheduledAt(t *testing.T, run *v1beta2.SparkApplication) time.Time {
	t.Helper()

	at, err := time.Parse(time.RFC3339, run.Annotations[v1beta2.ScheduledAtAnnotation])
	if err != nil {
		t.Errorf("run %s: %v", run.Name, err)
	}
	return at
}

// runsOf returns the existing runs of a schedule.
func (w *suite) runsOf(t *testing.T, s *v1beta2.ScheduledSparkApplication) []v1beta2.SparkApplication {
	t.Helper()

	var runs v1beta2.SparkApplicationList
	if err := w.Client.List(t.Context(), &runs, client.InNamespace(s.Namespace),
		client.MatchingLabels{labelSchedule: s.Name}); err != nil {
		t.Fatal(err)
	}
	return runs.Items
}

// awaitHistory waits until the history in the status lists exactly the given successful and failed runs.
func (w *suite) awaitHistory(t *testing.T, s *v1beta2.ScheduledSparkApplication, successful, failed []string) {
	t.Helper()
	awaitObject(t, w, s, time.Minute, "the history "+strings.Join(append(successful, failed...), ", "),
		func(s *v1beta2.ScheduledSparkApplication) bool {
			return slices.Equal(s.Status.PastSuccessfulRunNames, successful) &&
				slices.Equal(s.Status.PastFailedRunNames, failed)
		})
}

// awaitGone waits until an object no longer exists.
func (w *suite) awaitGone(t *testing.T, o client.Object) {
	t.Helper()
	eventually(t, 90*time.Second, o.GetName()+" to be gone", func() (string, bool) {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return w.describe(t, o), apierrors.IsNotFound(err)
	})
}
