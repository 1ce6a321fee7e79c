package takeover_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const theirID = "8a7f0c1e-91d4-4f0a-9a51-0d3c5f1e2b3a"

var (
	submittedThen = sparkapp.T0.Add(-time.Hour)
	endedThen     = sparkapp.T0.Add(-time.Minute)
)

var usual = application.Dialect{Options: application.Options{
	MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second,
	Batch: batch.Options{Enabled: true, KubeSchedulers: []string{"coscheduler"}},
}}

// leftIn returns an application with the status that another operator wrote: the status has the given state, and the
// application is in its second submission, because its first run failed.
func leftIn(state v1beta2.ApplicationStateType, change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	app := sparkapp.Sample()
	s := &app.Status
	s.AppState.State = state
	s.SubmissionID, s.SubmissionAttempts, s.ExecutionAttempts = theirID, 2, 2
	s.LastSubmissionAttemptTime = metav1.NewTime(submittedThen)

	s.DriverInfo.PodName, s.SparkApplicationID = "pi-driver", "spark-theirs"
	switch state {
	case v1beta2.ApplicationStateFailing, v1beta2.ApplicationStateFailed, v1beta2.ApplicationStateFailedSubmission:
		s.AppState.ErrorMessage = "driver container failed with ExitCode: 1, Reason: Error"
	case v1beta2.ApplicationStatePendingRerun, v1beta2.ApplicationStateSuspended, v1beta2.ApplicationStateResuming:
		s.DriverInfo, s.SparkApplicationID = v1beta2.DriverInfo{}, ""
	case v1beta2.ApplicationStateNew:
		*s = v1beta2.SparkApplicationStatus{}
	}

	switch state {
	case v1beta2.ApplicationStateSucceeding, v1beta2.ApplicationStateFailing, v1beta2.ApplicationStateCompleted,
		v1beta2.ApplicationStateFailed:
		s.TerminationTime = metav1.NewTime(endedThen)
	}

	for _, c := range change {
		c(app)
	}
	return app
}

// theirPod returns a pod with the labels that the spark-submit of the other operator sets.
func theirPod(name, role, id string, phase corev1.PodPhase, change ...func(*corev1.Pod)) corev1.Pod {
	app := sparkapp.Sample()

	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: app.Namespace, CreationTimestamp: metav1.NewTime(submittedThen.Add(3 * time.Second)),
			Labels: map[string]string{
				sparkoperator.LabelAppName: app.Name, sparkoperator.LabelLaunchedBy: "true",
				sparkoperator.LabelSubmissionID: id, "spark-role": role, "spark-app-selector": "spark-theirs",
				"sparkoperator.k8s.io/mutated-by-spark-operator": "true",
			},
			OwnerReferences: []metav1.OwnerReference{naming.Owner(app)},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, c := range change {
		c(&pod)
	}
	return pod
}

func going(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(sparkapp.T0)) }

func unowned(pod *corev1.Pod) { pod.OwnerReferences = nil }

func owns(controller bool) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "SparkApplication", Name: "pi",
			UID: "11111111-2222-4333-8444-555555555555"}}
		if controller {
			pod.OwnerReferences[0].UID, pod.OwnerReferences[0].Controller = "another", new(true)
		}
	}
}

func before(pod *corev1.Pod) {
	pod.CreationTimestamp = metav1.NewTime(submittedThen.Add(-time.Minute))
}

// seenOf returns the facts that the controller reads from pods.
func seenOf(pods []corev1.Pod) lifecycle.Observed {
	var seen lifecycle.Observed
	for i := range pods {
		if pods[i].Labels["spark-role"] == "driver" {
			seen.Drivers = append(seen.Drivers, lifecycle.DriverFacts(&pods[i], sparkoperator.DriverContainer))
		} else {
			seen.Executors = append(seen.Executors, lifecycle.ExecutorFacts(&pods[i]))
		}
	}
	return seen
}

// TestTakeOverStates checks the result of the first decision for each state that another operator may have written.
func TestTakeOverStates(t *testing.T) {
	const (
		runs = corev1.PodRunning
		none = corev1.PodPhase("")
	)
	retry := func(a *v1beta2.SparkApplication) {
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: new(int32(2)), OnSubmissionFailureRetries: new(int32(2)),
			OnFailureRetryInterval: new(int64(60)), OnSubmissionFailureRetryInterval: new(int64(3000))}
	}

	suspend := func(a *v1beta2.SparkApplication) { a.Spec.Suspend = new(true) }
	for _, c := range []struct {
		left   v1beta2.ApplicationStateType
		driver corev1.PodPhase
		change func(*v1beta2.SparkApplication)
		state  v1beta2.ApplicationStateType
		phase  lifecycle.Phase
		do     string
	}{
		{"", none, nil, "SUBMITTED", lifecycle.Launched, "Create Submission 1"},
		{"", runs, nil, "RUNNING", lifecycle.Started, ""}, // the other operator died before it wrote that down
		{"SUBMITTED", none, nil, "SUBMITTED", lifecycle.Launched, "Confirm DriverPod 2"},
		{"SUBMITTED", corev1.PodPending, nil, "SUBMITTED", lifecycle.Launched, ""},
		{"SUBMITTED", runs, nil, "RUNNING", lifecycle.Started, ""},
		{"RUNNING", runs, nil, "RUNNING", lifecycle.Started, ""},
		{"RUNNING", runs, retry, "RUNNING", lifecycle.Started, ""},
		{"RUNNING", runs, suspend, "SUSPENDING", lifecycle.Suspending, ""}, // stored before the driver is deleted
		{"RUNNING", corev1.PodSucceeded, nil, "COMPLETED", lifecycle.Retained, ""},
		{"RUNNING", corev1.PodFailed, nil, "FAILED", lifecycle.Retained, ""},
		{"RUNNING", corev1.PodFailed, retry, "FAILING", lifecycle.Waiting, ""},
		{"RUNNING", none, nil, "RUNNING", lifecycle.Started, "Confirm DriverPod 2"},
		{"UNKNOWN", runs, nil, "RUNNING", lifecycle.Started, ""},
		{"UNKNOWN", none, nil, "UNKNOWN", lifecycle.Unknown, "Confirm DriverPod 2"},
		{"SUCCEEDING", corev1.PodSucceeded, nil, "COMPLETED", lifecycle.Retained, ""},
		{"SUCCEEDING", none, nil, "COMPLETED", lifecycle.Done, ""},
		{"FAILING", corev1.PodFailed, nil, "FAILED", lifecycle.Retained, ""},
		{"FAILING", corev1.PodFailed, retry, "FAILING", lifecycle.Waiting, ""},
		{"FAILING", runs, nil, "RUNNING", lifecycle.Started, ""},
		{"SUBMISSION_FAILED", none, nil, "FAILED", lifecycle.Done, ""},
		{"SUBMISSION_FAILED", none, retry, "SUBMISSION_FAILED", lifecycle.Waiting, ""},
		{"SUBMISSION_FAILED", runs, nil, "RUNNING", lifecycle.Started, ""}, // it submitted twice, and met itself
		{"PENDING_RERUN", none, nil, "PENDING_RERUN", lifecycle.Waiting, "Confirm DriverPod 2"},
		{"PENDING_RERUN", corev1.PodFailed, nil, "PENDING_RERUN", lifecycle.Waiting, "Delete Attempt 2"},
		{"INVALIDATING", runs, nil, "INVALIDATING", lifecycle.Editing, "Delete DriverPod 2"},
		{"INVALIDATING", none, nil, "INVALIDATING", lifecycle.Editing, "Confirm DriverPod 2"},
		{"SUSPENDING", runs, suspend, "SUSPENDING", lifecycle.Suspending, "Delete DriverPod 2"},
		{"SUSPENDED", none, suspend, "SUSPENDED", lifecycle.Suspended, ""},
		{"SUSPENDED", none, nil, "RESUMING", lifecycle.Resuming, "Confirm DriverPod 2"},
		{"RESUMING", none, nil, "RESUMING", lifecycle.Resuming, "Confirm DriverPod 2"},
		{"COMPLETED", corev1.PodSucceeded, retry, "COMPLETED", lifecycle.Retained, ""},
		{"COMPLETED", none, nil, "COMPLETED", lifecycle.Done, ""},
		{"FAILED", corev1.PodFailed, nil, "FAILED", lifecycle.Retained, ""},
		{"FAILED", none, nil, "FAILED", lifecycle.Done, ""},
		{"FAILED", runs, nil, "RUNNING", lifecycle.Started, ""}, // it did not find its driver for a moment
	} {
		t.Run(fmt.Sprintf("%s with driver %s", c.left, c.driver), func(t *testing.T) {
			app := leftIn(c.left)
			if c.change != nil {
				c.change(app)
			}

			var pods []corev1.Pod
			if c.driver != none {
				pods = append(pods, theirPod("pi-driver", "driver", theirID, c.driver),
					theirPod("pi-theirs-exec-1", "executor", theirID, c.driver))
			}

			seen := seenOf(application.Dialect{}.Adopt(app, pods))

			plan := usual.Decide(app, seen, sparkapp.T0)
			if got := app.Status.AppState.State; got != c.state || plan.Next.Phase != c.phase {
				t.Errorf("state %s, phase %s; want %s, %s", got, plan.Next.Phase, c.state, c.phase)
			}

			if got := actions(plan); got != c.do {
				t.Errorf("it does %q, want %q", got, c.do)
			}

			sparkapp.RoundTrip(t, &app.Status)

			if diff := cmp.Diff(plan.Next, status.Memory(&app.Status)); diff != "" {
				t.Errorf("memory (-decided +read):\n%s", diff)
			}

			if c.driver == none || plan.Next.Phase == lifecycle.Editing {
				return
			}
			// After this decision the application is ours: a second pass finds the same attempt and its executors.
			again := seenOf(application.Dialect{}.Adopt(app, pods))
			if len(again.Executors) != 1 || again.Drivers[0].Attempt != plan.Next.Attempt ||
				again.Executors[0].Attempt != plan.Next.Attempt {
				t.Errorf("the next pass finds %+v of attempt %d", again, plan.Next.Attempt)
			}

			if plan.Next.AttemptID != theirID {
				t.Errorf("the attempt's id is %s", plan.Next.AttemptID)
			}

			then := c.do
			if c.state == "SUSPENDING" { // which is stored before the driver is stopped
				then = "Delete DriverPod 2"
			}

			if rest := usual.Decide(app, again, sparkapp.T0); len(rest.Transitions) > 0 || actions(rest) != then {
				t.Errorf("the second decision enters %v and does %q", rest.Transitions, actions(rest))
			}
		})
	}
}

func actions(plan lifecycle.Plan) string {
	var out []string
	for _, a := range plan.Actions {
		out = append(out, fmt.Sprintf("%s %s %d", a.Verb, a.Part, a.Attempt))
	}
	return strings.Join(out, ", ")
}

// TestTakeOverCounts checks that the counts of retries, the timers and the ids continue from the other operator's
// status.
func TestTakeOverCounts(t *testing.T) {
	retries := func(runs, submissions int32) func(*v1beta2.SparkApplication) {
		return func(a *v1beta2.SparkApplication) {
			a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: &runs,
				OnSubmissionFailureRetries: &submissions,
				OnFailureRetryInterval:     new(int64(60)), OnSubmissionFailureRetryInterval: new(int64(3000))}
		}
	}
	for _, c := range []struct {
		name  string
		app   *v1beta2.SparkApplication
		state v1beta2.ApplicationStateType
		next  time.Time
	}{
		{"the last run that was allowed failed", leftIn("FAILING", retries(1, 9)), "FAILED", time.Time{}},
		// The next attempt follows after the interval times the number of submissions, from the end of the last one.
		{"one run is left", leftIn("FAILING", retries(2, 0)), "FAILING", endedThen.Add(2 * time.Minute)},
		{"the last submission that was allowed failed",
			leftIn("SUBMISSION_FAILED", retries(9, 0),
				func(a *v1beta2.SparkApplication) { a.Status.ExecutionAttempts = 1 }), "FAILED", time.Time{}},
		{"one submission is left", leftIn("SUBMISSION_FAILED", retries(0, 1),
			func(a *v1beta2.SparkApplication) { a.Status.ExecutionAttempts = 1 }), "SUBMISSION_FAILED",
			submittedThen.Add(6000 * time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := usual.Decide(c.app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
			if c.app.Status.AppState.State != c.state || !plan.Next.NextAttempt.Equal(c.next) {
				t.Errorf("state %s, next attempt at %s; want %s, %s", c.app.Status.AppState.State,
					plan.Next.NextAttempt, c.state, c.next)
			}

			if m := plan.Next; m.Attempt != 2 || m.Submissions != 2 {
				t.Errorf("attempt %d, %d submissions", m.Attempt, m.Submissions)
			}
		})
	}

	t.Run("the next attempt", func(t *testing.T) {
		app := leftIn("PENDING_RERUN")

		plan := usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
		if m := plan.Next; m.Attempt != 3 || m.Runs != 3 || m.Submissions != 3 ||
			m.AttemptID != lifecycle.AttemptID(string(app.UID), 3) {
			t.Errorf("launched as %+v", m)
		}
	})
	t.Run("after an edit", func(t *testing.T) {
		app := leftIn("INVALIDATING")

		plan := usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
		if m := plan.Next; m.Attempt != 3 || m.Runs != 1 || m.Submissions != 1 {
			t.Errorf("launched as %+v", m)
		}
	})
	t.Run("suspended before its first submission", func(t *testing.T) {
		app := leftIn("SUSPENDED", func(a *v1beta2.SparkApplication) {
			a.Status = v1beta2.SparkApplicationStatus{AppState: v1beta2.ApplicationState{State: "SUSPENDED"}}
		})

		plan := usual.Decide(app, lifecycle.Observed{}, sparkapp.T0)
		if plan.Next.Attempt != 1 || app.Status.AppState.State != "SUBMITTED" {
			t.Errorf("attempt %d, state %s", plan.Next.Attempt, app.Status.AppState.State)
		}
	})
	t.Run("time to live", func(t *testing.T) {
		app := leftIn("COMPLETED", func(a *v1beta2.SparkApplication) { a.Spec.TimeToLiveSeconds = new(int64(3600)) })
		if plan := usual.Decide(app, lifecycle.Observed{}, sparkapp.T0); plan.RequeueAfter != 59*time.Minute ||
			len(plan.Actions) > 0 {
			t.Errorf("requeue after %s, actions %v", plan.RequeueAfter, plan.Actions)
		}

		if plan := usual.Decide(app, lifecycle.Observed{},
			endedThen.Add(time.Hour)); actions(plan) != "Delete Application 0" {
			t.Errorf("at the end of its time: %q", actions(plan))
		}
	})
	t.Run("a deadline does not count from the beginning of time", func(t *testing.T) {
		app := leftIn("RUNNING", func(a *v1beta2.SparkApplication) {
			a.Spec.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(7200))}
			a.Status.LastSubmissionAttemptTime = metav1.Time{}
		})
		pod := theirPod("pi-driver", "driver", theirID, corev1.PodRunning)

		plan := usual.Decide(app, seenOf(application.Dialect{}.Adopt(app, []corev1.Pod{pod})), sparkapp.T0)
		if app.Status.AppState.State != "RUNNING" || !plan.Next.SubmittedAt.Equal(pod.CreationTimestamp.Time) {
			t.Errorf("state %s, submitted at %s", app.Status.AppState.State, plan.Next.SubmittedAt)
		}
	})
}

// TestAdopt checks which pods without our labels an application adopts, and with which attempt number.
func TestAdopt(t *testing.T) {
	ours := func(a *v1beta2.SparkApplication) { // taken over, and in its third attempt
		a.Status.Operator = &v1beta2.OperatorStatus{Phase: "Running", Attempt: 3}
		a.Status.SubmissionID = "ours"
	}
	taken := func(a *v1beta2.SparkApplication) {
		a.Status.Operator = &v1beta2.OperatorStatus{Phase: "Running", Attempt: 2}
	}
	driver := func(id string, phase corev1.PodPhase, change ...func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{theirPod("pi-driver", "driver", id, phase, change...)}
	}

	renamed := func(pod *corev1.Pod) { pod.Name = "another" }
	for _, c := range []struct {
		name string
		app  *v1beta2.SparkApplication
		pods []corev1.Pod
		want string // name=attempt
	}{
		{"the driver", leftIn("RUNNING"), driver(theirID, corev1.PodRunning), "pi-driver=2"},
		{"the driver after the take-over", leftIn("RUNNING", taken), driver(theirID, corev1.PodRunning), "pi-driver=2"},
		{"the driver, owned but not controlled", leftIn("RUNNING"), driver(theirID, corev1.PodRunning, owns(false)),
			"pi-driver=2"},
		{"the driver without an owner", leftIn("RUNNING"), driver(theirID, corev1.PodRunning, unowned), "pi-driver=2"},
		{"a driver without an owner and with another name", leftIn("RUNNING"),
			driver(theirID, corev1.PodRunning, unowned, renamed), ""},
		{"a driver of another owner", leftIn("RUNNING"), driver(theirID, corev1.PodRunning, owns(true)), ""},
		{"a driver without a submission id", leftIn("RUNNING"), driver("", corev1.PodRunning), ""},
		{"a driver with the name in the status and another id", leftIn("RUNNING"),
			driver("label-of-the-users", corev1.PodSucceeded), "pi-driver=2"},
		{"a first launch that was not stored", leftIn(""), driver(theirID, corev1.PodRunning), "pi-driver=1"},
		{"a first launch that was not stored, ended", leftIn(""), driver(theirID, corev1.PodSucceeded), "pi-driver=1"},
		{"a later launch that was not stored", leftIn("PENDING_RERUN"), driver("newer", corev1.PodPending),
			"pi-driver=3"},
		{"an older driver that ended", leftIn("PENDING_RERUN"), driver("older", corev1.PodFailed), "pi-driver=0"},
		{"a driver that is being deleted", leftIn("PENDING_RERUN"), driver("older", corev1.PodRunning, going),
			"pi-driver=0"},
		{"the second launch failed because of the first driver", leftIn("SUBMISSION_FAILED"),
			driver("first", corev1.PodRunning, before), "pi-driver=2"},
		{"two launches that were not stored", leftIn("PENDING_RERUN"),
			append(driver("a", corev1.PodRunning), driver("b", corev1.PodRunning, renamed)...),
			"pi-driver=3 another=0"},
		{"a driver of the attempt before ours", leftIn("RUNNING", ours), driver(theirID, corev1.PodFailed, before),
			"pi-driver=0"},
		{"a driver that the other operator created after the take-over", leftIn("RUNNING", ours),
			driver("theirs again", corev1.PodRunning), "pi-driver=4"},
		{"executors", leftIn("RUNNING"),
			append(driver(theirID, corev1.PodRunning), theirPod("e-1", "executor", theirID, corev1.PodRunning),
				theirPod("e-0", "executor", "old", corev1.PodRunning)),
			"pi-driver=2 e-1=2 e-0=0"},
		{"executors without their driver", leftIn("FAILING"),
			[]corev1.Pod{theirPod("e-1", "executor", theirID, corev1.PodRunning)}, "e-1=2"},
		{"executors of a driver whose launch was not stored", leftIn(""),
			append(driver(theirID, corev1.PodRunning), theirPod("e-1", "executor", theirID, corev1.PodRunning)),
			"pi-driver=1 e-1=1"},
		{"neither driver nor executor", leftIn("RUNNING"),
			[]corev1.Pod{theirPod("x", "connect-server", theirID, corev1.PodRunning)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := []corev1.Pod{}
			for i := range c.pods {
				given = append(given, *c.pods[i].DeepCopy())
			}

			var got []string
			for _, pod := range (application.Dialect{}).Adopt(c.app, c.pods) {
				got = append(got, pod.Name+"="+pod.Labels[sparkoperator.LabelAttempt])
				if pod.Labels[sparkoperator.LabelAppUID] != string(c.app.UID) {
					t.Errorf("%s has no application", pod.Name)
				}

				if ref := metav1.GetControllerOf(&pod); pod.Labels["spark-role"] == "driver" &&
					(ref == nil || ref.UID != c.app.UID) {
					t.Errorf("%s has no controller", pod.Name)
				}
			}

			if strings.Join(got, " ") != c.want {
				t.Errorf("adopted %q, want %q", got, c.want)
			}

			if diff := cmp.Diff(given, c.pods); diff != "" {
				t.Errorf("the pods were changed:\n%s", diff)
			}
		})
	}
}

// TestGroupLeft checks that InheritedGroup returns the PodGroup that the other operator created, but only when the
// driver no longer needs it.
func TestGroupLeft(t *testing.T) {
	scheduledBy := func(scheduler string) func(*v1beta2.SparkApplication) {
		return func(a *v1beta2.SparkApplication) { a.Spec.BatchScheduler = &scheduler }
	}
	driver := func(phase lifecycle.DriverPhase) lifecycle.Observed {
		return lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 2, Phase: phase}}}
	}
	over := driver(lifecycle.DriverSucceeded)
	ours := func(a *v1beta2.SparkApplication) {
		a.Status.Operator = &v1beta2.OperatorStatus{Phase: "Running", Attempt: 3}
		a.Status.SubmissionID = lifecycle.AttemptID(string(a.UID), 3)
	}

	suspended := func(a *v1beta2.SparkApplication) { a.Spec.Suspend = new(true) }
	for _, c := range []struct {
		name string
		app  *v1beta2.SparkApplication
		seen lifecycle.Observed
		want string
	}{
		{"Volcano", leftIn("RUNNING", scheduledBy("volcano")), over, "PodGroup.scheduling.volcano.sh spark-pi-pg"},
		{"the driver failed", leftIn("RUNNING", scheduledBy("volcano")), driver(lifecycle.DriverFailed),
			"PodGroup.scheduling.volcano.sh spark-pi-pg"},
		{"the coscheduling plugin", leftIn("RUNNING", scheduledBy("tuned")), over,
			"PodGroup.scheduling.x-k8s.io pi-pg"},
		{"the driver does not exist", leftIn("RUNNING", scheduledBy("volcano")), lifecycle.Observed{},
			"PodGroup.scheduling.volcano.sh spark-pi-pg"},
		{"the driver runs", leftIn("RUNNING", scheduledBy("volcano")), driver(lifecycle.DriverRunning), ""},
		{"the driver's phase is unknown", leftIn("UNKNOWN", scheduledBy("volcano")),
			driver(lifecycle.DriverUnknown), ""},
		{"the driver waits to be scheduled", leftIn("SUBMITTED", scheduledBy("volcano")),
			driver(lifecycle.DriverPending), ""},
		{"the driver runs in a suspended application", leftIn("RUNNING", scheduledBy("volcano"), suspended),
			driver(lifecycle.DriverRunning), "PodGroup.scheduling.volcano.sh spark-pi-pg"},
		{"YuniKorn uses no PodGroup", leftIn("RUNNING", scheduledBy(gang.YuniKornScheduler)), over, ""},
		{"an unknown scheduler", leftIn("RUNNING", scheduledBy("volcanoo")), over, ""},
		{"no batch scheduler", leftIn("RUNNING"), over, ""},
		{"no attempt", leftIn("", scheduledBy("volcano")), over, ""},
		{"our operator launched the attempt", leftIn("RUNNING", scheduledBy("volcano"), ours), over, ""},
	} {
		group := application.Dialect{Options: application.Options{Batch: batch.Options{Enabled: true,
			KubeSchedulers: []string{"tuned"}}}}.InheritedGroup(c.app, c.seen)

		got := ""
		if group != nil {
			got = group.GroupVersionKind().GroupKind().String() + " " + group.Name
			if group.Namespace != c.app.Namespace || group.Labels[sparkoperator.LabelAttempt] != "2" ||
				group.Labels[sparkoperator.LabelAppUID] != string(c.app.UID) {
				t.Errorf("%s: the PodGroup is %+v", c.name, group)
			}
		}

		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}

		if left := (application.Dialect{}).InheritedGroup(c.app, c.seen); left != nil {
			t.Errorf("%s: without batch schedulers there is %v", c.name, left)
		}
	}
}

// TestTakeOverOfWhatWasOurs checks an application of ours whose status another operator has overwritten, so that our
// own fields are missing. The attempt continues with the number in the driver's labels, even if the other operator
// wrote another number.
func TestTakeOverOfWhatWasOurs(t *testing.T) {
	for _, attempt := range []int32{2, 5} {
		app := leftIn("RUNNING", func(a *v1beta2.SparkApplication) { a.Status.SubmissionID = lifecycle.AttemptID(string(a.UID), attempt) })
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: attempt,
			Phase: lifecycle.DriverRunning}}}

		plan := usual.Decide(app, seen, sparkapp.T0)
		if m := plan.Next; m.Attempt != attempt || m.Submissions != 2 || m.Runs != 2 || len(plan.Actions) > 0 ||
			app.Status.AppState.State != "RUNNING" {
			t.Errorf("attempt %d: memory %+v, actions %v", attempt, m, plan.Actions)
		}
	}
}

// TestUnknownState checks that an application in an unknown state is ignored, with a condition that gives the reason.
func TestUnknownState(t *testing.T) {
	app := leftIn("ANOTHER")

	before := app.DeepCopy()
	if plan := usual.Decide(app, lifecycle.Observed{}, sparkapp.T0); len(plan.Actions)+len(plan.Transitions)+
		len(plan.Notices) > 0 {
		t.Errorf("it does %v", plan)
	}

	if len(app.Status.Conditions) != 1 || app.Status.Conditions[0].Reason != dialect.ReasonOtherOperator ||
		!strings.Contains(app.Status.Conditions[0].Message, `"ANOTHER"`) {
		t.Errorf("conditions %+v", app.Status.Conditions)
	}

	app.Status.Conditions = nil
	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("what is theirs was changed:\n%s", diff)
	}

	app.DeletionTimestamp = new(metav1.NewTime(sparkapp.T0))
	if plan := usual.Decide(app, lifecycle.Observed{}, sparkapp.T0); len(plan.Actions) > 0 ||
		len(app.Status.Conditions) > 0 {
		t.Errorf("being deleted: it does %v", plan.Actions)
	}
}

// TestTakeOverIsTold checks that one event reports the take-over and that the status keeps the other operator's values.
func TestTakeOverIsTold(t *testing.T) {
	app := leftIn("RUNNING", func(a *v1beta2.SparkApplication) {
		a.Status.ExecutorState = map[string]v1beta2.ExecutorState{"pi-theirs-exec-1": "RUNNING",
			"pi-theirs-exec-2": "FAILED"}
	})
	pods := []corev1.Pod{theirPod("pi-driver", "driver", theirID, corev1.PodRunning),
		theirPod("pi-theirs-exec-1", "executor", theirID, corev1.PodRunning)}
	plan := usual.Decide(app, seenOf(application.Dialect{}.Adopt(app, pods)), sparkapp.T0)

	want := []dialect.Event{{Type: "Normal", Reason: dialect.EventTakenOver,
		Message: "taken over from another operator, which left it in state RUNNING after 2 submissions"}}
	if diff := cmp.Diff(want, status.Events(app, plan)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	s := app.Status
	if s.SparkApplicationID != "spark-theirs" || s.DriverInfo.PodName != "pi-driver" || s.SubmissionID != theirID ||
		s.ExecutionAttempts != 2 ||
		!s.LastSubmissionAttemptTime.Time.Equal(submittedThen) || s.ExecutorState["pi-theirs-exec-2"] != "FAILED" {
		t.Errorf("status %+v", s)
	}

	plan = usual.Decide(app, seenOf(application.Dialect{}.Adopt(app, pods)), sparkapp.T0)
	if events := status.Events(app, plan); len(events) > 0 {
		t.Errorf("reported again: %v", events)
	}
}

// TestTakeOverFromAnything checks take-overs from random states of another operator, with random pods. After one
// decision, the stored status must be valid (sparkapp.CheckShape), and the next pass must change nothing. A running
// driver that is still wanted must never be deleted.
func TestTakeOverFromAnything(t *testing.T) {
	var states []v1beta2.ApplicationStateType
	for state := range takeover.Adopted {
		states = append(states, state)
	}

	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	for seed := range uint64(effort.Count(t, 250)) {
		r := rand.New(rand.NewPCG(seed, 11))
		maybe := func() bool { return r.IntN(2) == 0 }
		app := leftIn(states[int(seed)%len(states)], func(a *v1beta2.SparkApplication) {
			a.Status.SubmissionAttempts, a.Status.ExecutionAttempts = int32(r.IntN(4)), int32(r.IntN(3))
			if maybe() {
				a.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways
			}

			if maybe() {
				a.Spec.Suspend = new(true)
			}

			if maybe() {
				a.Status.LastSubmissionAttemptTime, a.Status.TerminationTime = metav1.Time{}, metav1.Time{}
			}

			if maybe() {
				a.Spec.Timeouts = &v1beta2.Timeouts{RunSeconds: new(int64(1e5))}
			}
		})
		state := app.Status.AppState.State
		var pods []corev1.Pod

		ids := []string{theirID, "other", "third"}
		if maybe() {
			pods = append(pods, theirPod("pi-driver", "driver", ids[r.IntN(2)], phases[r.IntN(4)]))
		}

		for i := range r.IntN(3) {
			pods = append(pods, theirPod(fmt.Sprint("e-", i), "executor", ids[r.IntN(3)], phases[r.IntN(4)]))
		}

		seen := seenOf(application.Dialect{}.Adopt(app, pods))
		seen.Confirmed = maybe()

		plan := usual.Decide(app, seen, sparkapp.T0)
		if sparkapp.Asks(plan) {
			continue
		}

		sparkapp.RoundTrip(t, &app.Status)

		if diff := cmp.Diff(plan.Next, status.Memory(&app.Status)); diff != "" {
			t.Fatalf("seed %d, %s: memory (-decided +read):\n%s", seed, state, diff)
		}

		keeps := app.Spec.Suspend == nil && state != "INVALIDATING" && state != "PENDING_RERUN" &&
			state != "SUSPENDING" && state != "RESUMING" && state != "SUSPENDED"
		if keeps && len(seen.Drivers) > 0 && seen.Drivers[0].Phase == lifecycle.DriverRunning {
			if !plan.Next.Phase.Live() || plan.Next.Attempt != seen.Drivers[0].Attempt ||
				strings.Contains(actions(plan), fmt.Sprint("Attempt ", plan.Next.Attempt)) {
				t.Fatalf("seed %d, %s: a running driver was not kept: %+v, %s", seed, state, plan.Next, actions(plan))
			}
		}

		if n := strings.Count(actions(plan), "Create Submission"); n > 1 || n == 1 && len(seen.Drivers) > 0 {
			t.Fatalf("seed %d, %s: it does %s beside %+v", seed, state, actions(plan), seen.Drivers)
		}

		if n := plan.Next.Attempt; n < 0 || n > 5 {
			t.Fatalf("seed %d, %s: attempt %d", seed, state, n)
		}
	}
}
