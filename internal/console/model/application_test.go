package model_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var phases = []lifecycle.Phase{
	lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below,
	lifecycle.Unknown, lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing,
}

// TestTimelineHasNoGaps checks with random histories that the segments of a timeline follow each other from its start
// to its end, whatever a status contains.
func TestTimelineHasNoGaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))

	for i := range 2000 {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		o := &statusv1.OperatorStatus{Attempt: 1}
		app.Status.Operator = o

		for range random.IntN(statusv1.MaxHistory + 1) {
			h := statusv1.OperatorTransition{Phase: string(phases[random.IntN(len(phases))]), Attempt: int32(random.IntN(3))}
			if random.IntN(10) > 0 {
				h.At = &metav1.MicroTime{Time: now.Add(-time.Duration(random.IntN(3700)) * time.Second)}
			}

			o.History = append(o.History, h)
		}

		if random.IntN(3) == 0 {
			o.EndedAt = &metav1.MicroTime{Time: now.Add(-time.Duration(random.IntN(600)) * time.Second)}
			app.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: metav1.ConditionTrue}}
		}

		line := model.TimelineOf(app, now)
		if len(line.Segments) == 0 {
			t.Fatalf("life %d: no segment of %+v", i, o.History)
		}

		at := line.From
		for _, s := range line.Segments {
			if !s.From.Equal(at) || !s.To.After(s.From) || s.Attempt < 1 {
				t.Fatalf("life %d: a segment from %v to %v after %v", i, s.From, s.To, at)
			}

			at = s.To
		}

		if !at.Equal(line.To) {
			t.Fatalf("life %d: the last segment ends at %v, the timeline at %v", i, at, line.To)
		}
	}
}

// TestActivities checks what an application does in the phases that mean different things.
func TestActivities(t *testing.T) {
	for phase, want := range map[statusv1.OperatorTransition]model.Activity{
		{Phase: ""}: model.Pending, {Phase: "Launched"}: model.Pending, {Phase: "Waiting", Reason: "OOMKilled"}: model.Retrying, {Phase: "Waiting", Reason: lifecycle.ReasonQuotaPending}: model.Queued,
		{Phase: "Scaling"}: model.Starting, {Phase: "Running"}: model.Running, {Phase: "Below"}: model.Degraded, {Phase: "Unknown"}: model.Degraded, {Phase: "Suspended"}: model.Paused,
		{Phase: "Ended"}: model.Stopping, {Phase: "Done"}: model.Failed,
	} {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		phase.At, phase.Attempt = &metav1.MicroTime{Time: now.Add(-time.Minute)}, 1
		app.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, History: []statusv1.OperatorTransition{phase}}

		segments := model.TimelineOf(app, now).Segments
		if got := segments[len(segments)-1].Activity; got != want {
			t.Errorf("%s %s: %s, want %s", phase.Phase, phase.Reason, got, want)
		}
	}
}

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
