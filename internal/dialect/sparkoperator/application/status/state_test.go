package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

func invalid(m *lifecycle.Memory) { m.Cause.Reason = lifecycle.ReasonInvalid }

func timer(m *lifecycle.Memory) { m.NextAttempt = sparkapp.T0 }

func because(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: "R", Message: "why"} }

// TestStateOfASilentNode checks that the state does not change if the driver's node does not respond and Kubernetes
// still reports the last phase of the pod. Tools of this API take the state UNKNOWN for a failure.
func TestStateOfASilentNode(t *testing.T) {
	marked := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverUnknown, NodeLostSince: sparkapp.T0}
	overdue := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverRunning, Deleting: true, GoneBy: sparkapp.T0}

	called := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverUnknown}
	for _, c := range []struct {
		name   string
		phase  lifecycle.Phase
		before v1beta2.ApplicationStateType
		driver lifecycle.Driver
		want   v1beta2.ApplicationStateType
	}{
		{"a lost node, the driver was running", lifecycle.Unknown, "RUNNING", marked, "RUNNING"},
		{"a lost node, the driver had not started", lifecycle.Unknown, "SUBMITTED", marked, "SUBMITTED"},
		{"a deletion that is overdue", lifecycle.Unknown, "RUNNING", overdue, "RUNNING"},
		{"a pod in the phase Unknown", lifecycle.Unknown, "RUNNING", called, "UNKNOWN"},
		{"a lost node after the phase Unknown", lifecycle.Unknown, "UNKNOWN", marked, "UNKNOWN"},
		{"the node is back", lifecycle.Running, "UNKNOWN", lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverRunning},
			"RUNNING"},
		{"the attempt ended on a lost node", lifecycle.Ended, "RUNNING", marked, "FAILING"},
	} {
		m := sparkapp.In(c.phase, func(m *lifecycle.Memory) { m.Attempt = 1 })
		if got := stateOf(c.before, m, lifecycle.Observed{Drivers: []lifecycle.Driver{c.driver}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	if got := stateOf("RUNNING", sparkapp.In(lifecycle.Unknown), lifecycle.Observed{}); got != "RUNNING" {
		t.Errorf("a driver that is not seen: %q, want RUNNING until a live read", got)
	}
}

// TestStates checks the state and the conditions of this API in each phase. In the expected conditions, "+" means True
// and "-" means False. Conditions that are not listed are absent.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		m          lifecycle.Memory
		state      v1beta2.ApplicationStateType
		message    string
		conditions string
	}{
		{lifecycle.Memory{}, "", "", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Launched), "SUBMITTED", "", "Ready- Reconciling+ Submitted+"},
		{sparkapp.In(lifecycle.Launched, because), "SUBMITTED", "", "Ready- Reconciling+ Submitted+"},
		{sparkapp.In(lifecycle.Started), "RUNNING", "", "Ready- Reconciling+ Submitted+"},
		{sparkapp.In(lifecycle.Ready), "RUNNING", "", "Ready- Reconciling+ Running+ Submitted+"},
		{sparkapp.In(lifecycle.Scaling), "RUNNING", "", "Ready- Reconciling+ Running+ Submitted+"},
		{sparkapp.In(lifecycle.Running), "RUNNING", "", "Ready+ Running+ Submitted+"},
		{sparkapp.In(lifecycle.Unknown, because), "UNKNOWN", "", "Ready- Reconciling+ Submitted+"},
		{sparkapp.In(lifecycle.Ended, sparkapp.Ended(lifecycle.Succeeded)), "SUCCEEDING", "", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Ended, sparkapp.Ended(lifecycle.Failed)), "FAILING", "why", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Ended, sparkapp.Ended(lifecycle.Refused)), "SUBMISSION_FAILED", "why",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Ended, sparkapp.Ended(lifecycle.RunTimedOut)), "FAILING", "why", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Failed), timer), "FAILING", "why",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Evicted), timer), "FAILING", "why",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Succeeded), timer), "SUCCEEDING", "",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Refused), timer), "SUBMISSION_FAILED", "why",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Refused)), "SUBMISSION_FAILED", "why",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Refused),
			func(m *lifecycle.Memory) { m.Cause.Message = "spark-submit container failed" }), "SUBMISSION_FAILED",
			"failed to run spark-submit: spark-submit container failed", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Refused), // as another operator wrote it
			func(m *lifecycle.Memory) { m.Cause.Message = "failed to run spark-submit: exit code 1" }), "SUBMISSION_FAILED",
			"failed to run spark-submit: exit code 1", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Failed)), "PENDING_RERUN", "", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Succeeded)), "PENDING_RERUN", "",
			"Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Retained, sparkapp.Ended(lifecycle.Succeeded)), "COMPLETED", "",
			"Ready+ Submitted+ Succeeded+"},
		{sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Succeeded)), "COMPLETED", "",
			"Ready+ Submitted+ Succeeded+"},
		{sparkapp.In(lifecycle.Retained, sparkapp.Ended(lifecycle.Failed)), "FAILED", "why",
			"Failed+ Ready- Stalled+ Submitted+"},
		{sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Lost)), "FAILED", "why",
			"Failed+ Ready- Stalled+ Submitted+"},
		{sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Refused)), "FAILED", "why", "Failed+ Ready- Stalled+"},
		{sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Refused), invalid), "FAILED", "why",
			"Failed+ Ready- Stalled+"},
		{sparkapp.In(lifecycle.Suspending, because), "SUSPENDING", "", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Suspended, because), "SUSPENDED", "", "Ready- Suspended+"},
		{sparkapp.In(lifecycle.Resuming), "RESUMING", "", "Ready- Reconciling+"},
		{sparkapp.In(lifecycle.Editing, because), "INVALIDATING", "", "Ready- Reconciling+"},
	} {
		t.Run(fmt.Sprintf("%s %s %s", c.m.Phase, c.m.Outcome, c.state), func(t *testing.T) {
			app := sparkapp.Sample()
			Encode(app, lifecycle.App{}, lifecycle.Plan{Next: c.m}, lifecycle.Observed{}, sparkapp.T0)

			if got := app.Status.AppState; got.State != c.state || got.ErrorMessage != c.message {
				t.Errorf("state %q, message %q; want %q, %q", got.State, got.ErrorMessage, c.state, c.message)
			}

			for _, got := range app.Status.Conditions {
				if got.Type == dialect.ConditionReady && got.Status == metav1.ConditionFalse &&
					c.m.Phase != lifecycle.New && (got.Reason == "" || got.Message == "") {
					t.Errorf("Ready does not say why not: %+v", got)
				}
			}

			if got := shown(app.Status.Conditions); got != c.conditions {
				t.Errorf("conditions %s; want %s", got, c.conditions)
			}
		})
	}
}

func shown(conditions []metav1.Condition) string {
	var out []string
	for _, kind := range []string{"Degraded", "Failed", "Ready", "Reconciling", "Running", "Stalled", "Submitted",
		"Succeeded", "Suspended"} {
		for _, c := range conditions {
			if c.Type == kind {
				out = append(out, kind+map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+",
					metav1.ConditionFalse: "-"}[c.Status])
			}
		}
	}
	return strings.Join(out, " ")
}

// TestConditionsTellTheCause checks that the conditions contain the wait reason or the cause of a failure, and that a
// condition for a milestone, such as Submitted, keeps its transition time.
func TestConditionsTellTheCause(t *testing.T) {
	app := sparkapp.Sample()
	step := func(m lifecycle.Memory, now time.Time) map[string]metav1.Condition {
		Encode(app, lifecycle.App{}, lifecycle.Plan{Next: m}, lifecycle.Observed{}, now)

		byType := map[string]metav1.Condition{}
		for _, c := range app.Status.Conditions {
			byType[c.Type] = c
		}
		return byType
	}
	step(sparkapp.In(lifecycle.Launched), sparkapp.T0)

	c := step(sparkapp.In(lifecycle.Launched, func(m *lifecycle.Memory) {
		m.Cause = lifecycle.Cause{Reason: "ImagePullBackOff", Message: "not found"}
	}), sparkapp.T0.Add(time.Minute))
	if ready := c[dialect.ConditionReady]; ready.Reason != "ImagePullBackOff" || ready.Message != "not found" ||
		!ready.LastTransitionTime.Time.Equal(sparkapp.T0) {
		t.Errorf("Ready is %+v", ready)
	}

	if submitted := c[dialect.ConditionSubmitted]; submitted.Reason != "Submitted" ||
		submitted.ObservedGeneration != 1 {
		t.Errorf("Submitted is %+v", submitted)
	}

	c = step(sparkapp.In(lifecycle.Done, func(m *lifecycle.Memory) {
		m.Outcome, m.Cause = lifecycle.Failed, lifecycle.Cause{Reason: "no reason at all!", Message: "m"}
	}), sparkapp.T0.Add(time.Hour))
	if failed := c[dialect.ConditionFailed]; dialect.UsableReason(failed.Reason) != failed.Reason ||
		failed.Message != "m" || !failed.LastTransitionTime.Time.Equal(sparkapp.T0.Add(time.Hour)) {
		t.Errorf("Failed is %+v", failed)
	}
}

func TestDegraded(t *testing.T) {
	running := lifecycle.Plan{Next: sparkapp.In(lifecycle.Running)}

	executors := func(phases ...lifecycle.DriverPhase) lifecycle.Observed {
		var seen lifecycle.Observed
		for i, p := range phases {
			seen.Executors = append(seen.Executors, lifecycle.Executor{Name: fmt.Sprint("e", i), Attempt: 1, Phase: p})
		}
		return seen
	}
	for _, c := range []struct {
		name    string
		seen    lifecycle.Observed
		dynamic bool
		want    bool
	}{
		{"all executors run", executors(lifecycle.DriverRunning, lifecycle.DriverRunning), false, false},
		{"one executor waits", executors(lifecycle.DriverRunning, lifecycle.DriverPending), false, true},
		{"one executor failed", executors(lifecycle.DriverRunning, lifecycle.DriverFailed), false, true},
		{"one executor completed", executors(lifecycle.DriverRunning, lifecycle.DriverSucceeded), false, false},
		{"dynamic allocation with fewer executors", executors(lifecycle.DriverRunning), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
				a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: c.dynamic}
			})
			Encode(app, lifecycle.App{InitialExecutors: 2}, running, c.seen, sparkapp.T0)

			if got := strings.Contains(shown(app.Status.Conditions), "Degraded+"); got != c.want {
				t.Errorf("degraded %v, want %v", got, c.want)
			}
		})
	}
}

// TestDriverInfo checks that the status contains the expected name of the driver pod after the launch, and the pod's
// real name as soon as the pod exists. The name is removed when the attempt's objects are deleted.
func TestDriverInfo(t *testing.T) {
	app := sparkapp.Sample()

	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "other-name", Attempt: 1, AppID: "spark-x"}}}
	for _, c := range []struct {
		m        lifecycle.Memory
		seen     lifecycle.Observed
		pod, sid string
	}{
		{sparkapp.In(lifecycle.Launched), lifecycle.Observed{}, "pi-driver", "spark-id"},
		{sparkapp.In(lifecycle.Running), seen, "other-name", "spark-x"},
		{sparkapp.In(lifecycle.Suspended), lifecycle.Observed{}, "", ""},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Failed), timer), seen, "other-name", "spark-x"},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Failed)), seen, "", ""},
	} {
		Encode(app, lifecycle.App{}, lifecycle.Plan{Next: c.m}, c.seen, sparkapp.T0)

		if got := app.Status; got.DriverInfo.PodName != c.pod || got.SparkApplicationID != c.sid {
			t.Errorf("%s: pod %q, id %q; want %q, %q", c.m.Phase, got.DriverInfo.PodName, got.SparkApplicationID,
				c.pod, c.sid)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	app := sparkapp.Sample()
	for i := range 30 {
		plan := lifecycle.Plan{Next: sparkapp.In(lifecycle.Running),
			Transitions: []lifecycle.Transition{{To: lifecycle.Started, Attempt: int32(i), At: sparkapp.T0}}}
		Encode(app, lifecycle.App{}, plan, lifecycle.Observed{}, sparkapp.T0)
	}

	h := app.Status.Operator.History
	if len(h) != v1beta2.MaxHistory || h[0].Attempt != 10 || h[len(h)-1].Attempt != 29 {
		t.Errorf("%d transitions from attempt %d to %d", len(h), h[0].Attempt, h[len(h)-1].Attempt)
	}
}
