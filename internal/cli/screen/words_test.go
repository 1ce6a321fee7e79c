package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestShortIsKubectlsFormat checks the units and the precision of a duration, which are those of kubectl get.
func TestShortIsKubectlsFormat(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 1999 * time.Millisecond: "1s", 90 * time.Second: "90s", 2 * time.Minute: "2m",
		150 * time.Second:               "2m30s",
		10*time.Minute + 30*time.Second: "10m", 2 * time.Hour: "120m", 3*time.Hour + 20*time.Minute: "3h20m",
		9*time.Hour + 20*time.Minute: "9h",
		3*day + 4*time.Hour:          "3d4h", 30*day + time.Hour: "30d",
	} {
		if got := Short(d); got != want {
			t.Errorf("%s is shown as %s, want %s", d, got, want)
		}
	}
}

// TestWhatNextIsASentence checks the words for each action that a state machine may request.
func TestWhatNextIsASentence(t *testing.T) {
	for action, want := range map[lifecycle.Action]string{
		{Verb: lifecycle.Create, Part: lifecycle.Submission,
			Attempt: 2}: "the operator creates the driver pod and its objects for attempt 2",
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget}:            "the operator creates the driver's PodDisruptionBudget",
		{Verb: lifecycle.Create, Part: lifecycle.DriverObjects}:           "the operator creates the deleted objects of the driver",
		{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: "a"}: "the operator creates the run a",
		{Verb: lifecycle.Delete, Part: lifecycle.DriverBudget}:            "the operator deletes the driver's PodDisruptionBudget",
		{Verb: lifecycle.Delete, Part: lifecycle.Attempt}:                 "the operator deletes the objects of the attempt",
		{Verb: lifecycle.Delete, Part: lifecycle.Executors}:               "the operator deletes the executors",
		{Verb: lifecycle.Delete, Part: lifecycle.Application}:             "the operator deletes the custom resource",
		{Verb: lifecycle.Confirm, Part: lifecycle.Executors}:              "the operator checks why executors are missing",
		{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod}:              "the operator reads the driver pod from the API server",
		{Verb: lifecycle.Confirm, Part: lifecycle.Attempt}:                "the operator reads the objects of the attempt from the API server",
		{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun}:           "the operator reads the run from the API server",
	} {
		if got := whatNext(time.Now(), Zone{}, &kube.Summary{Kind: kinds.All[0]},
			lifecycle.Plan{Actions: []lifecycle.Action{action}}); got != want {
			t.Errorf("%v: %q, want %q", action, got, want)
		}
	}
}

// TestAge checks the age of an object, also of an object that has no time or whose time is in the future.
func TestAge(t *testing.T) {
	for at, want := range map[time.Time]string{{}: "-", time.Now().Add(time.Hour): "0s",
		time.Now().Add(-90*time.Minute - time.Second): "90m"} {
		if got := age(at); got != want {
			t.Errorf("the age since %s is %s, want %s", at, got, want)
		}
	}
}

// TestPodLines checks that explain has one line for each cause, whatever the number of pods that have it, and each
// advice once.
func TestPodLines(t *testing.T) {
	ended := func(name, reason string) corev1.Pod {
		state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: reason}}
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.PodStatus{Phase: corev1.PodFailed,
				ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: state}}},
		}
	}
	waiting := func(name string) corev1.Pod {
		state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
			Message: "no image"}}
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.PodStatus{Phase: corev1.PodPending,
				ContainerStatuses: []corev1.ContainerStatus{{State: state}}}}
	}

	pods := []corev1.Pod{waiting("driver"), ended("exec-1", "OOMKilled"), ended("exec-2", ""),
		{Status: corev1.PodStatus{Phase: corev1.PodFailed}}}
	for i := range 200 {
		pods = append(pods, ended(fmt.Sprintf("more-%d", i), "OOMKilled"), waiting(fmt.Sprintf("wait-%d", i)))
	}

	var got []string
	for _, line := range podLines(pods, nil, "") {
		if line.Label == "pod" {
			got = append(got, line.Text)
		}
	}

	want := []string{
		"driver and 200 others: ImagePullBackOff: no image",
		"exec-1 and 200 others: container c ended with exit code 137 (OOMKilled)",
		"exec-2: container c ended with exit code 137",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if lines := podLines(pods, nil, ""); len(lines) > 2*len(want) {
		t.Errorf("%d lines", len(lines))
	}
}

// TestHeldIsHandled checks that status does not claim that the operator has not handled an object which it holds, and
// that it counts executors on lost nodes.
func TestHeldIsHandled(t *testing.T) {
	app := &v1beta2.SparkApplication{}
	app.Status.Conditions = []metav1.Condition{{Type: dialect.ConditionReady, Status: metav1.ConditionFalse,
		Reason: dialect.ReasonOtherOperator, Message: "m"}}
	app.Status.Executors = &statusv1.ExecutorCounts{Running: 1, Unknown: 2}
	app.Generation, app.Status.Conditions[0].ObservedGeneration = 2, 2
	report := NewReport(now, app, []corev1.Pod{{}}, nil)

	text := Status(&report, View{Now: now})
	if strings.Contains(text, "has not handled") ||
		!strings.Contains(text, "1 running, 0 pending, 0 completed, 0 failed, 2 unknown") ||
		!strings.Contains(text, "by 1 pod\n") {
		t.Error(text)
	}
}

// TestNextAttempt checks that explain announces the next attempt of an application that waits for it, and none of one
// that is suspended, or whose wait is over.
func TestNextAttempt(t *testing.T) {
	app := kube.Summarize(&v1beta2.SparkApplication{})
	app.Attempt = 2

	for name, test := range map[string]struct {
		result kube.Result
		next   time.Time
		want   string
	}{
		"waits":     {kube.Pending, now.Add(40 * time.Second), "the operator starts attempt 3 at "},
		"is due":    {kube.Pending, now.Add(-time.Second), "the operator waits"},
		"suspended": {kube.Suspended, now.Add(40 * time.Second), "nothing until it is resumed"},
	} {
		s := app

		s.Result, s.Next = test.result, test.next
		if got := whatNext(now, Zone{}, &s, lifecycle.Plan{RequeueAfter: 40 * time.Second}); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNextLimit checks that explain announces the limit at which an attempt ends, or at which something is deleted.
func TestNextLimit(t *testing.T) {
	at := now.Add(5 * time.Hour)

	for name, test := range map[string]struct {
		result kube.Result
		limit  lifecycle.Limit
		want   string
	}{
		"a deadline":                   {kube.Running, lifecycle.Limit{At: at, Part: lifecycle.Attempt, Reason: lifecycle.ReasonRunTimedOut}, "the operator waits for a change of the pods; at "},
		"the deadline of an ended run": {kube.Succeeded, lifecycle.Limit{At: at, Part: lifecycle.Attempt, Reason: lifecycle.ReasonRunTimedOut}, "it has ended; the operator handles it again in 40s"},
		"the end of the time to live":  {kube.Succeeded, lifecycle.Limit{At: at, Part: lifecycle.Application}, "it has ended; the operator deletes the custom resource at "},
		"the end of the retained pods": {kube.Failed, lifecycle.Limit{At: at, Part: lifecycle.Attempt}, "it has ended; the operator deletes the objects of the attempt at "},
	} {
		s := kube.Summarize(&v1beta2.SparkApplication{})

		s.Result = test.result

		got := whatNext(now, Zone{}, &s, lifecycle.Plan{RequeueAfter: 40 * time.Second, Limit: test.limit})
		if !strings.HasPrefix(got, test.want) || test.limit.Reason != "" && test.result == kube.Running && !strings.HasSuffix(got, ", in 5h, it ends the attempt with "+test.limit.Reason) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNextOfASuspendedSchedule checks that explain announces no run of a suspended schedule, and none in the past.
func TestNextOfASuspendedSchedule(t *testing.T) {
	schedule := kube.Summarize(&v1beta2.ScheduledSparkApplication{})
	for name, test := range map[string]struct {
		result kube.Result
		next   time.Time
		want   string
	}{
		"due":       {kube.Running, now.Add(time.Hour), "the next run starts at"},
		"past":      {kube.Running, now.Add(-time.Hour), "the operator waits"},
		"suspended": {kube.Suspended, now.Add(time.Hour), "nothing until it is resumed"},
	} {
		s := schedule

		s.Result, s.Next = test.result, test.next
		if got := whatNext(now, Zone{}, &s, lifecycle.Plan{}); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestSpan parses durations with and without days, and refuses other texts.
func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "0s": 0, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "0d5m": 5 * time.Minute,
		"99999d": 99_999 * 24 * time.Hour,
	} {
		if got, valid := Span(text); got != want || !valid {
			t.Errorf("%s is %s, %v, want %s", text, got, valid, want)
		}
	}

	for _, text := range []string{"", "d", "7", "week", "-1d", "1d-5h", "-5h", "1d1d", "NaNd", "Infd", "100000d", "99999d2562047h"} {
		if got, valid := Span(text); valid {
			t.Errorf("%q is %s", text, got)
		}
	}
}
