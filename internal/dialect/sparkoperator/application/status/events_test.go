package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

func TestEvents(t *testing.T) {
	cause := lifecycle.Cause{Reason: "R", Message: "why"}
	to := func(from, to lifecycle.Phase, o lifecycle.Outcome) lifecycle.Plan {
		return lifecycle.Plan{Transitions: []lifecycle.Transition{{From: from, To: to, Attempt: 2, Outcome: o,
			Cause: cause}}, Next: sparkapp.In(to)}
	}

	tell := func(phase lifecycle.Phase, part lifecycle.Part, name string) lifecycle.Plan {
		notice := lifecycle.Notice{Part: part, Name: name, Waits: phase == lifecycle.Launched ||
			phase == lifecycle.Scaling, Attempt: 2, Cause: cause}
		return lifecycle.Plan{Notices: []lifecycle.Notice{notice}, Next: sparkapp.In(phase)}
	}
	for _, c := range []struct {
		name string
		plan lifecycle.Plan
		want []dialect.Event
	}{
		{"nothing", lifecycle.Plan{}, nil},
		{"launched", to(lifecycle.New, lifecycle.Launched, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationSubmitted",
				Message: "attempt 2 was submitted as driver pod pi-driver"}}},
		{"launched by the operator", func() lifecycle.Plan {
			p := to(lifecycle.New, lifecycle.Launched, "")
			p.Actions = []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}}
			return p
		}(), []dialect.Event{{Type: "Normal", Reason: "SparkApplicationSubmitted",
			Message: "attempt 2 was submitted as driver pod pi-driver by the operator itself"}}},
		{"launched by spark-submit", func() lifecycle.Plan {
			p := to(lifecycle.New, lifecycle.Launched, "")
			p.Transitions[0].Cause = *dialect.SparkSubmitCause("somebody wants it")
			p.Next.AttemptID = "an id"
			return p
		}(), []dialect.Event{{Type: "Normal", Reason: "SparkApplicationSubmitted",
			Message: "attempt 2 is being submitted as driver pod pi-driver by pod pi-5e92a53c-submit; spark-submit creates the driver pod: somebody wants it"}}},
		{"the pod that submits waits", tell(lifecycle.Launched, lifecycle.SubmitterPod, "s"),
			[]dialect.Event{{Type: "Warning", Reason: "SparkSubmitterPending", Message: "R: why"}}},
		{"started", to(lifecycle.Launched, lifecycle.Started, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkDriverRunning", Message: "driver pod pi-driver runs"}}},
		{"ready, without an event", to(lifecycle.Started, lifecycle.Ready, ""), nil},
		{"running, without an event", to(lifecycle.Ready, lifecycle.Running, ""), nil},
		{"lost node", to(lifecycle.Running, lifecycle.Unknown, ""),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverUnknown", Message: "driver pod pi-driver: R: why"}}},
		{"succeeded, without an event", to(lifecycle.Running, lifecycle.Ended, lifecycle.Succeeded), nil},
		{"completed", to(lifecycle.Ended, lifecycle.Retained, lifecycle.Succeeded),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationCompleted",
				Message: "the application completed in attempt 2"}}},
		{"driver failed", to(lifecycle.Running, lifecycle.Ended, lifecycle.Failed),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverFailed", Message: "attempt 2: R: why"}}},
		{"driver evicted", to(lifecycle.Running, lifecycle.Ended, lifecycle.Evicted),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverFailed", Message: "attempt 2: R: why"}}},
		{"driver lost", to(lifecycle.Running, lifecycle.Ended, lifecycle.Lost),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverNotFound", Message: "attempt 2: R: why"}}},
		{"refused", to(lifecycle.New, lifecycle.Ended, lifecycle.Refused),
			[]dialect.Event{{Type: "Warning", Reason: "SparkApplicationSubmissionFailed",
				Message: "attempt 2 was not submitted: R: why"}}},
		{"timed out", to(lifecycle.Launched, lifecycle.Ended, lifecycle.StartTimedOut),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverFailed", Message: "attempt 2: R: why"}}},
		{"failed", to(lifecycle.Ended, lifecycle.Done, lifecycle.Failed),
			[]dialect.Event{{Type: "Warning", Reason: "SparkApplicationFailed",
				Message: "the application failed: R: why"}}},
		{"retry", to(lifecycle.Ended, lifecycle.Waiting, lifecycle.Failed),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationPendingRerun",
				Message: "the application is run again after attempt 2"}}},
		{"edited", to(lifecycle.Running, lifecycle.Editing, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationSpecChanged",
				Message: "the spec changed; attempt 2 is replaced"}}},
		{"suspending", to(lifecycle.Running, lifecycle.Suspending, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationSuspending", Message: "attempt 2 is stopped"}}},
		{"suspended", to(lifecycle.Suspending, lifecycle.Suspended, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationSuspended",
				Message: "the application is suspended"}}},
		{"resuming", to(lifecycle.Suspended, lifecycle.Resuming, ""),
			[]dialect.Event{{Type: "Normal", Reason: "SparkApplicationResuming",
				Message: "the application is resumed"}}},
		{"driver waits", tell(lifecycle.Launched, lifecycle.DriverPod, "pi-driver"),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverPending", Message: "pi-driver: R: why"}}},
		{"driver is being evicted", tell(lifecycle.Running, lifecycle.DriverPod, "pi-driver"),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverDisrupted", Message: "pi-driver: R: why"}}},
		{"executors wait", tell(lifecycle.Scaling, lifecycle.Executors, "pi-exec-1"),
			[]dialect.Event{{Type: "Warning", Reason: "SparkExecutorPending", Message: "R: why"}}},
		{"executor failed", tell(lifecycle.Running, lifecycle.Executors, "pi-exec-1"),
			[]dialect.Event{{Type: "Warning", Reason: "SparkExecutorFailed", Message: "pi-exec-1: R: why"}}},
		{"a driver without a name", tell(lifecycle.Editing, lifecycle.DriverPod, ""),
			[]dialect.Event{{Type: "Warning", Reason: "SparkDriverDisrupted", Message: "R: why"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Events(sparkapp.Sample(), c.plan)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
