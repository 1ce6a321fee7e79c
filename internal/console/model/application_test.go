package model_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/console/model"
)

var now = time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)

// executor returns the pod of an executor that started and ended some minutes ago; 0 means not yet.
func executor(id int, created, started, ended float64, exitCode int32) corev1.Pod {
	at := func(minutes float64) metav1.Time {
		return metav1.NewTime(now.Add(-time.Duration(minutes * float64(time.Minute))))
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("exec-%d", id), Labels: map[string]string{"spark-exec-id": fmt.Sprint(id), "spark-role": "executor"}, CreationTimestamp: at(created)}}
	pod.Status.Phase = corev1.PodPending

	switch {
	case ended > 0:
		pod.Status.Phase = corev1.PodSucceeded
		if exitCode != 0 {
			pod.Status.Phase = corev1.PodFailed
		}

		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(started), FinishedAt: at(ended), ExitCode: exitCode, Reason: "Error"}}}}
	case started > 0:
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(started)}}}}
	}
	return pod
}

// TestExecutorsOverTime checks the number of running executors at each change, and the failures.
func TestExecutorsOverTime(t *testing.T) {
	var pods []model.Pod
	for _, pod := range []corev1.Pod{executor(1, 10, 9, 0, 0), executor(2, 10, 9, 5, 137), executor(3, 8, 7, 6, 0), executor(4, 2, 0, 0, 0)} {
		pods = append(pods, model.PodOf(&pod))
	}

	e := model.ExecutorsOf(pods, nil, now)

	var counts []int
	for _, p := range e.Points {
		counts = append(counts, p.N)
	}

	if want := []int{2, 3, 2, 1}; !slices.Equal(counts, want) || e.Most != 3 {
		t.Errorf("counts %v, at most %d; want %v, 3", counts, e.Most, want)
	}

	if len(e.Failures) != 1 || e.Failures[0].Executor != "2" || e.Failures[0].Reason != "Error (exit code 137)" {
		t.Errorf("failures %+v", e.Failures)
	}

	if !e.From.Equal(now.Add(-10*time.Minute)) || !e.To.Equal(now) {
		t.Errorf("from %v to %v", e.From, e.To)
	}
}

// TestStoredExecutors checks that the points are those of the status until its time, and then those of the pods. The
// executors of the status ended 20 minutes ago, but for one.
func TestStoredExecutors(t *testing.T) {
	minutes := func(n float64) time.Time { return now.Add(-time.Duration(n * float64(time.Minute))) }
	usage := func(text string, at float64) *statusv1.OperatorUsage {
		return &statusv1.OperatorUsage{Time: new(metav1.NewTime(minutes(at))), ExecutorSteps: fmt.Sprintf(text, minutes(30).Unix())}
	}
	assigned := func(pod corev1.Pod, at float64) corev1.Pod {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(minutes(at))}}
		return pod
	}
	deleted := executor(1, 31, 30, 8, 0)
	deleted.Status.Phase, deleted.DeletionTimestamp = corev1.PodRunning, new(metav1.NewTime(now))

	const steps = "%d 0:1 300:4 600:1"

	for name, test := range map[string]struct {
		stored   *statusv1.OperatorUsage
		pods     []corev1.Pod
		want     []model.Point
		from, to time.Time
	}{
		"all pods are gone": {usage(steps+" 1200:0", 10), nil, []model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}, {minutes(10), 0}}, minutes(30), minutes(10)},
		"one still runs":    {usage(steps, 10), []corev1.Pod{assigned(executor(1, 31, 29, 0, 0), 30)}, []model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}}, minutes(30), now},
		"it ended later":    {usage(steps, 10), []corev1.Pod{assigned(deleted, 30)}, []model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}, {minutes(8), 0}}, minutes(30), now},
		"another one started": {
			usage(steps, 10), []corev1.Pod{executor(1, 31, 30, 0, 0), assigned(executor(9, 6, 0, 0, 0), 5)},
			[]model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}, {minutes(5), 2}}, minutes(30), now,
		},
		"only another one exists": {
			usage(steps, 10), []corev1.Pod{assigned(executor(9, 6, 0, 0, 0), 5)},
			[]model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}, {minutes(10), 0}, {minutes(5), 1}}, minutes(30), now,
		},
		"pods that ended before": {usage(steps+" 1200:0", 10), []corev1.Pod{executor(1, 70, 60, 50, 1), executor(2, 31, 30, 20, 0)}, []model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}, {minutes(10), 0}}, minutes(30), minutes(10)},
		"pods that are not read": {usage(steps, 10), nil, []model.Point{{minutes(30), 1}, {minutes(25), 4}, {minutes(20), 1}}, minutes(30), minutes(10)},
		"a time in the future":   {usage("%d 0:3 9999999:7", -1e6), []corev1.Pod{executor(1, 31, 30, 0, 0)}, []model.Point{{minutes(30), 3}, {now, 1}}, minutes(30), now},
		"no time":                {&statusv1.OperatorUsage{ExecutorSteps: "1 0:5"}, []corev1.Pod{executor(1, 31, 30, 0, 0)}, []model.Point{{minutes(30), 1}}, minutes(31), now},
		"no valid text":          {usage("%d 0:5 0:5", 10), []corev1.Pod{executor(1, 31, 30, 0, 0)}, []model.Point{{minutes(30), 1}}, minutes(31), now},
	} {
		var pods []model.Pod
		for _, pod := range test.pods {
			pods = append(pods, model.PodOf(&pod))
		}

		e := model.ExecutorsOf(pods, test.stored, now)
		if !slices.Equal(e.Points, test.want) {
			t.Errorf("%s: %v, want %v", name, e.Points, test.want)
		}

		if most := slices.MaxFunc(test.want, func(a, b model.Point) int { return a.N - b.N }).N; e.Most != most {
			t.Errorf("%s: at most %d, want %d", name, e.Most, most)
		}

		if !e.From.Equal(test.from) || !e.To.Equal(test.to) {
			t.Errorf("%s: from %v to %v, want %v to %v", name, e.From, e.To, test.from, test.to)
		}
	}
}

// TestFailuresOfDeletedExecutors checks that the Events show the failures of executors whose pods are gone.
func TestFailuresOfDeletedExecutors(t *testing.T) {
	event := func(pod string, minutes int) corev1.Event {
		return corev1.Event{
			Reason: "SparkExecutorFailed", Message: pod + ": OOMKilled: out of memory",
			LastTimestamp: metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)),
		}
	}
	exists := executor(2, 10, 9, 5, 137)

	a := model.ApplicationOf(&v1beta2.SparkApplication{}, []corev1.Pod{exists}, []corev1.Event{event(exists.Name, 5), event("pi-1-exec-7", 8)}, now)
	if f := a.Executors.Failures; len(f) != 2 || f[0].Executor != "7" || f[0].Reason != "OOMKilled: out of memory" || f[1].Executor != "2" {
		t.Errorf("the failures are %+v", f)
	}
}

// TestMissedRuns checks that a page shows what Events say about missed runs, and the times at which no run started.
func TestMissedRuns(t *testing.T) {
	s := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "hourly", CreationTimestamp: metav1.NewTime(now.AddDate(0, -1, 0))}}
	s.Spec.Schedule = "0 * * * *"
	s.Status.Operator = &v1beta2.ScheduleOperatorStatus{
		LastTick: &metav1.MicroTime{Time: now.Add(-150 * time.Minute)}, Cause: &statusv1.OperatorCause{Reason: "QuotaExceeded", Message: "no room"},
	}
	skipped := corev1.Event{Reason: "RunSkipped", Message: "the last run was active", LastTimestamp: metav1.NewTime(now.Add(-150 * time.Minute))}

	page := model.ScheduleOf(s, nil, []corev1.Event{skipped}, func(string) (*time.Location, error) { return time.UTC, nil }, now)

	want := []model.Missed{
		{At: now.Add(-30 * time.Minute), Reason: "QuotaExceeded", Why: "no room"}, {At: now.Add(-90 * time.Minute), Reason: "QuotaExceeded", Why: "no room"},
		{At: now.Add(-150 * time.Minute), Reason: "RunSkipped", Why: "the last run was active"},
	}
	if !slices.Equal(page.Missed, want) {
		t.Errorf("missed: %+v", page.Missed)
	}
}

// TestCalendar checks that runs and next times are on their days, and that today is in the fifth week.
func TestCalendar(t *testing.T) {
	s := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "nightly", CreationTimestamp: metav1.NewTime(now.AddDate(0, -1, 0))}}
	s.Spec.Schedule = "15 2 * * *"

	runs := []model.Run{{Name: "old", Due: now.AddDate(0, 0, -100)}, {Name: "first", Due: now.AddDate(0, 0, -3)}, {Name: "second", Due: now.AddDate(0, 0, -1)}}

	page := model.ScheduleOf(s, runs, nil, func(string) (*time.Location, error) { return time.UTC, nil }, now)
	if page.Runs[0].Name != "second" || len(page.Upcoming) != 15 || !page.Upcoming[0].Equal(time.Date(2026, 11, 30, 2, 15, 0, 0, time.UTC)) {
		t.Errorf("runs %v, %d next times from %v", page.Runs[0].Name, len(page.Upcoming), page.Upcoming)
	}

	var shown, planned, today int

	for week, days := range page.Calendar(now) {
		for _, day := range days {
			shown, planned = shown+len(day.Runs), planned+len(day.Upcoming)
			if day.Today {
				today++

				if week != 4 || day.Date.Day() != now.Day() {
					t.Errorf("today is %v in week %d", day.Date, week)
				}
			}
		}
	}

	if shown != 2 || planned != 7 || today != 1 {
		t.Errorf("%d runs, %d next times, %d days that are today; want 2, 7, 1", shown, planned, today)
	}

	s.Spec.Suspend = new(true)
	if page := model.ScheduleOf(s, nil, nil, func(string) (*time.Location, error) { return time.UTC, nil }, now); len(page.Upcoming) > 0 {
		t.Errorf("a suspended schedule has next times: %v", page.Upcoming)
	}
}
