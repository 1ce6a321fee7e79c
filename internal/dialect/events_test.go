package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func TestNoticeEvent(t *testing.T) {
	cause := lifecycle.Cause{Reason: "ImagePullBackOff", Message: "image x cannot be pulled"}
	for name, c := range map[string]struct {
		notice lifecycle.Notice
		want   Event
	}{
		"a take-over": {
			lifecycle.Notice{Part: lifecycle.Application,
				Cause: lifecycle.Cause{Reason: "SparkApplicationTakenOver", Message: "attempt 3 continues"}},
			Event{Type: "Normal", Reason: "SparkApplicationTakenOver", Message: "attempt 3 continues"},
		},
		"a requested restart has an event reason of its own": {
			lifecycle.Notice{Part: lifecycle.Application,
				Cause: lifecycle.Cause{Reason: "RestartRequested", Message: "as requested"}},
			Event{Type: "Normal", Reason: "SparkApplicationRestartRequested", Message: "as requested"},
		},
		"anything else about the custom resource": {
			lifecycle.Notice{Part: lifecycle.Application, Name: "ignored",
				Cause: lifecycle.Cause{Reason: "PreviousPods", Message: "m"}},
			Event{Type: "Warning", Reason: "PreviousPods", Message: "m"},
		},
		"a submitter that waits": {
			lifecycle.Notice{Part: lifecycle.SubmitterPod, Name: "app-submit", Waits: true, Cause: cause},
			Event{Type: "Warning", Reason: "SparkSubmitterPending", Message: "ImagePullBackOff: image x cannot be pulled"},
		},
		"an executor that waits": {
			lifecycle.Notice{Part: lifecycle.Executors, Name: "app-exec-1", Waits: true, Cause: cause},
			Event{Type: "Warning", Reason: "SparkExecutorPending", Message: "ImagePullBackOff: image x cannot be pulled"},
		},
		"an executor that failed": {
			lifecycle.Notice{Part: lifecycle.Executors, Name: "app-exec-1",
				Cause: lifecycle.Cause{Reason: "OOMKilled", Message: "killed"}},
			Event{Type: "Warning", Reason: "SparkExecutorFailed", Message: "app-exec-1: OOMKilled: killed"},
		},
		"a driver that waits": {
			lifecycle.Notice{Part: lifecycle.DriverPod, Name: "app-driver", Waits: true, Cause: cause},
			Event{Type: "Warning", Reason: "SparkDriverPending", Message: "app-driver: ImagePullBackOff: image x cannot be pulled"},
		},
		"a driver that is disrupted": {
			lifecycle.Notice{Part: lifecycle.DriverPod, Cause: lifecycle.Cause{Reason: "Evicted"}},
			Event{Type: "Warning", Reason: "SparkDriverDisrupted", Message: "Evicted"},
		},
	} {
		if diff := cmp.Diff(c.want, NoticeEvent(c.notice)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEndEvent(t *testing.T) {
	for outcome, reason := range map[lifecycle.Outcome]string{
		lifecycle.Failed: "SparkDriverFailed", lifecycle.Evicted: "SparkDriverFailed",
		lifecycle.StartTimedOut: "SparkDriverFailed",
		lifecycle.ReadyTimedOut: "SparkDriverFailed", lifecycle.ExecutorsTimedOut: "SparkDriverFailed",
		lifecycle.RunTimedOut: "SparkDriverFailed",
		lifecycle.Lost:        "SparkDriverNotFound", lifecycle.Refused: "SparkApplicationSubmissionFailed",
		"AnOutcomeOfLater": "SparkDriverFailed",
	} {
		want := Event{Type: "Warning", Reason: reason, Message: "attempt 7: R: 100% of %s"}
		if outcome == lifecycle.Refused {
			want.Message = "attempt 7 was not submitted: R: 100% of %s"
		}

		got, reported := endEvent(lifecycle.Transition{Attempt: 7, Outcome: outcome,
			Cause: lifecycle.Cause{Reason: "R", Message: "100% of %s"}})
		if diff := cmp.Diff(want, got); diff != "" || !reported {
			t.Errorf("%s: %v (-want +got):\n%s", outcome, reported, diff)
		}
	}

	if got, reported := endEvent(lifecycle.Transition{Outcome: lifecycle.Succeeded}); reported {
		t.Errorf("a success has the event %v", got)
	}
}

func TestCauseText(t *testing.T) {
	for want, cause := range map[string]lifecycle.Cause{"": {}, "R": {Reason: "R"}, "m": {Message: "m"},
		"R: m": {Reason: "R", Message: "m"}} {
		if got := CauseText(cause); got != want {
			t.Errorf("%v: %q, want %q", cause, got, want)
		}
	}
}

func TestNormalAndWarning(t *testing.T) {
	normal, ok1 := Normal("R", "attempt %d", 3)

	warning, ok2 := Warning("R", "attempt %d", 3)
	if diff := cmp.Diff([]Event{{Type: "Normal", Reason: "R", Message: "attempt 3"}, {Type: "Warning", Reason: "R", Message: "attempt 3"}},
		[]Event{normal, warning}); diff != "" || !ok1 || !ok2 {
		t.Errorf("%v, %v (-want +got):\n%s", ok1, ok2, diff)
	}
}

// TestLaunchEvent checks that only a launch is reported as one. A driver whose node answers again enters the same
// phase.
func TestLaunchEvent(t *testing.T) {
	created := lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}}}
	for name, c := range map[string]struct {
		plan lifecycle.Plan
		t    lifecycle.Transition
		want string
	}{
		"created by the operator": {created, lifecycle.Transition{From: lifecycle.Waiting, Attempt: 2},
			"attempt 2 was submitted as driver pod d by the operator itself"},
		"found later": {lifecycle.Plan{}, lifecycle.Transition{From: lifecycle.New, Attempt: 2},
			"attempt 2 was submitted as driver pod d"},
		"by spark-submit": {created,
			lifecycle.Transition{From: lifecycle.New, Attempt: 2, Cause: lifecycle.Cause{Reason: reasonSparkSubmit, Message: "why"}},
			"attempt 2 is being submitted as driver pod d by pod r; why"},
		"the node answers again": {lifecycle.Plan{}, lifecycle.Transition{From: lifecycle.Unknown, Attempt: 2}, ""},
	} {
		if got, reported := LaunchEvent(c.plan, c.t, "d", " by pod r"); got.Message != c.want || reported != (c.want != "") {
			t.Errorf("%s: %+v, %t", name, got, reported)
		}
	}
}
