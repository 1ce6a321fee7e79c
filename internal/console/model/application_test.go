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

	e := model.ExecutorsOf(pods, now)

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
