package application

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var (
	t0    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	usual = Dialect{Options{MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second, Batch: Batch{Enabled: true, KubeSchedulers: []string{"coscheduler"}}}}
)

func in(phase lifecycle.Phase, change ...func(*lifecycle.Memory)) lifecycle.Memory {
	m := lifecycle.Memory{Phase: phase, Attempt: 1, AttemptID: "id", Runs: 1, Submissions: 1}
	for _, c := range change {
		c(&m)
	}
	return m
}

func ended(o lifecycle.Outcome) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) {
		m.Outcome, m.Cause = o, lifecycle.Cause{Reason: "R", Message: "why"}
		if o == lifecycle.Refused {
			m.Runs = 0
		}
	}
}

func invalid(m *lifecycle.Memory) { m.Cause.Reason = lifecycle.ReasonInvalid }

func timer(m *lifecycle.Memory) { m.NextAttempt = t0 }

func because(m *lifecycle.Memory) { m.Cause = lifecycle.Cause{Reason: "R", Message: "why"} }

// TestStateOfASilentNode checks that the state does not change if the driver's node does not respond and Kubernetes
// still reports the last phase of the pod. Tools of this API take the state UNKNOWN for a failure.
func TestStateOfASilentNode(t *testing.T) {
	marked := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverUnknown, NodeLostSince: t0}
	overdue := lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverRunning, Deleting: true, GoneBy: t0}

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
		{"the node is back", lifecycle.Running, "UNKNOWN", lifecycle.Driver{Attempt: 1, Phase: lifecycle.DriverRunning}, "RUNNING"},
		{"the attempt ended on a lost node", lifecycle.Ended, "RUNNING", marked, "FAILING"},
	} {
		m := in(c.phase, func(m *lifecycle.Memory) { m.Attempt = 1 })
		if got := stateOf(c.before, m, lifecycle.Observed{Drivers: []lifecycle.Driver{c.driver}}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}

	if got := stateOf("RUNNING", in(lifecycle.Unknown), lifecycle.Observed{}); got != "RUNNING" {
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
		{in(lifecycle.Launched), "SUBMITTED", "", "Ready- Reconciling+ Submitted+"},
		{in(lifecycle.Launched, because), "SUBMITTED", "", "Ready- Reconciling+ Submitted+"},
		{in(lifecycle.Started), "RUNNING", "", "Ready- Reconciling+ Submitted+"},
		{in(lifecycle.Ready), "RUNNING", "", "Ready- Reconciling+ Running+ Submitted+"},
		{in(lifecycle.Scaling), "RUNNING", "", "Ready- Reconciling+ Running+ Submitted+"},
		{in(lifecycle.Running), "RUNNING", "", "Ready+ Running+ Submitted+"},
		{in(lifecycle.Unknown, because), "UNKNOWN", "", "Ready- Reconciling+ Submitted+"},
		{in(lifecycle.Ended, ended(lifecycle.Succeeded)), "SUCCEEDING", "", "Ready- Reconciling+"},
		{in(lifecycle.Ended, ended(lifecycle.Failed)), "FAILING", "why", "Ready- Reconciling+"},
		{in(lifecycle.Ended, ended(lifecycle.Refused)), "SUBMISSION_FAILED", "why", "Ready- Reconciling+"},
		{in(lifecycle.Ended, ended(lifecycle.RunTimedOut)), "FAILING", "why", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Failed), timer), "FAILING", "why", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Evicted), timer), "FAILING", "why", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Succeeded), timer), "SUCCEEDING", "", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Refused), timer), "SUBMISSION_FAILED", "why", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Refused)), "SUBMISSION_FAILED", "why", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Refused), func(m *lifecycle.Memory) { m.Cause.Message = "spark-submit container failed" }), "SUBMISSION_FAILED",
			"failed to run spark-submit: spark-submit container failed", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Failed)), "PENDING_RERUN", "", "Ready- Reconciling+"},
		{in(lifecycle.Waiting, ended(lifecycle.Succeeded)), "PENDING_RERUN", "", "Ready- Reconciling+"},
		{in(lifecycle.Retained, ended(lifecycle.Succeeded)), "COMPLETED", "", "Ready+ Submitted+ Succeeded+"},
		{in(lifecycle.Done, ended(lifecycle.Succeeded)), "COMPLETED", "", "Ready+ Submitted+ Succeeded+"},
		{in(lifecycle.Retained, ended(lifecycle.Failed)), "FAILED", "why", "Failed+ Ready- Stalled+ Submitted+"},
		{in(lifecycle.Done, ended(lifecycle.Lost)), "FAILED", "why", "Failed+ Ready- Stalled+ Submitted+"},
		{in(lifecycle.Done, ended(lifecycle.Refused)), "FAILED", "why", "Failed+ Ready- Stalled+"},
		{in(lifecycle.Done, ended(lifecycle.Refused), invalid), "FAILED", "why", "Failed+ Ready- Stalled+"},
		{in(lifecycle.Suspending, because), "SUSPENDING", "", "Ready- Reconciling+"},
		{in(lifecycle.Suspended, because), "SUSPENDED", "", "Ready- Suspended+"},
		{in(lifecycle.Resuming), "RESUMING", "", "Ready- Reconciling+"},
		{in(lifecycle.Editing, because), "INVALIDATING", "", "Ready- Reconciling+"},
	} {
		t.Run(fmt.Sprintf("%s %s %s", c.m.Phase, c.m.Outcome, c.state), func(t *testing.T) {
			app := sample()
			usual.encode(app, lifecycle.App{}, lifecycle.Plan{Next: c.m}, lifecycle.Observed{}, t0)

			if got := app.Status.AppState; got.State != c.state || got.ErrorMessage != c.message {
				t.Errorf("state %q, message %q; want %q, %q", got.State, got.ErrorMessage, c.state, c.message)
			}

			for _, got := range app.Status.Conditions {
				if got.Type == dialect.ConditionReady && got.Status == metav1.ConditionFalse && c.m.Phase != lifecycle.New && (got.Reason == "" || got.Message == "") {
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
	for _, kind := range []string{"Degraded", "Failed", "Ready", "Reconciling", "Running", "Stalled", "Submitted", "Succeeded", "Suspended"} {
		for _, c := range conditions {
			if c.Type == kind {
				out = append(out, kind+map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+", metav1.ConditionFalse: "-"}[c.Status])
			}
		}
	}
	return strings.Join(out, " ")
}

// TestConditionsTellTheCause checks that the conditions contain the wait reason or the cause of a failure, and that a
// condition for a milestone, such as Submitted, keeps its transition time.
func TestConditionsTellTheCause(t *testing.T) {
	app := sample()
	step := func(m lifecycle.Memory, now time.Time) map[string]metav1.Condition {
		usual.encode(app, lifecycle.App{}, lifecycle.Plan{Next: m}, lifecycle.Observed{}, now)

		byType := map[string]metav1.Condition{}
		for _, c := range app.Status.Conditions {
			byType[c.Type] = c
		}
		return byType
	}
	step(in(lifecycle.Launched), t0)

	c := step(in(lifecycle.Launched, func(m *lifecycle.Memory) {
		m.Cause = lifecycle.Cause{Reason: "ImagePullBackOff", Message: "not found"}
	}), t0.Add(time.Minute))
	if ready := c[dialect.ConditionReady]; ready.Reason != "ImagePullBackOff" || ready.Message != "not found" || !ready.LastTransitionTime.Time.Equal(t0) {
		t.Errorf("Ready is %+v", ready)
	}

	if submitted := c[dialect.ConditionSubmitted]; submitted.Reason != "Submitted" || submitted.ObservedGeneration != 1 {
		t.Errorf("Submitted is %+v", submitted)
	}

	c = step(in(lifecycle.Done, func(m *lifecycle.Memory) {
		m.Outcome, m.Cause = lifecycle.Failed, lifecycle.Cause{Reason: "no reason at all!", Message: "m"}
	}), t0.Add(time.Hour))
	if failed := c[dialect.ConditionFailed]; dialect.UsableReason(failed.Reason) != failed.Reason || failed.Message != "m" || !failed.LastTransitionTime.Time.Equal(t0.Add(time.Hour)) {
		t.Errorf("Failed is %+v", failed)
	}
}

// TestMessagesKeepStill checks that conditions change only if the phase or the cause changes, and not whenever an
// executor starts.
func TestMessagesKeepStill(t *testing.T) {
	d := Dialect{Options{MissingGrace: 10 * time.Second}}
	app := sample(func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(5)) })
	ready := func(want string) []metav1.Condition {
		t.Helper()

		for _, c := range app.Status.Conditions {
			if c.Type == dialect.ConditionReady && c.Reason+": "+c.Message != want {
				t.Errorf("Ready says %q, want %q", c.Reason+": "+c.Message, want)
			}
		}
		return app.Status.DeepCopy().Conditions
	}
	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverPending, CreatedAt: t0}
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}

	d.Decide(app, lifecycle.Observed{}, t0)
	d.Decide(app, seen, t0)
	ready("Launched: the driver pod has not started yet")

	seen.Drivers[0].Phase = lifecycle.DriverRunning
	d.Decide(app, seen, t0)
	ready("Started: the driver runs; its pod is not ready yet")

	seen.Drivers[0].Ready = true
	d.Decide(app, seen, t0)
	ready("AwaitingExecutors: 0 of 5 executors run")

	var first []metav1.Condition
	for i := range 4 {
		seen.Executors = append(seen.Executors, lifecycle.Executor{Name: fmt.Sprint("e", i), Attempt: 1, Phase: lifecycle.DriverRunning})
		d.Decide(app, seen, t0.Add(time.Duration(i)*time.Second))

		now := ready("Scaling: fewer than 5 executors run; status.executors has the counts")
		if first == nil {
			first = now
		}

		if diff := cmp.Diff(first, now); diff != "" {
			t.Errorf("executor %d changes conditions:\n%s", i, diff)
		}
	}

	stuck := lifecycle.Executor{Name: "e4", Attempt: 1, Phase: lifecycle.DriverPending, Why: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes"}}
	seen.Executors = append(seen.Executors, stuck)
	plan := d.Decide(app, seen, t0)

	ready("Unschedulable: executor pod e4 waits: 0/3 nodes")

	want := []dialect.Event{{Type: "Warning", Reason: dialect.EventExecutorPending, Message: "Unschedulable: executor pod e4 waits: 0/3 nodes"}}
	if diff := cmp.Diff(want, Events(app, plan)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestDegraded(t *testing.T) {
	running := lifecycle.Plan{Next: in(lifecycle.Running)}

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
			app := sample(func(a *v1beta2.SparkApplication) {
				a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: c.dynamic}
			})
			usual.encode(app, lifecycle.App{InitialExecutors: 2}, running, c.seen, t0)

			if got := strings.Contains(shown(app.Status.Conditions), "Degraded+"); got != c.want {
				t.Errorf("degraded %v, want %v", got, c.want)
			}
		})
	}
}

// TestDegradedByACause checks that a running application is Degraded if one of its executors cannot start yet or its
// driver is being removed. The condition contains the cause. The application stays Ready, also with dynamic allocation,
// and one event reports the cause.
func TestDegradedByACause(t *testing.T) {
	d := Dialect{Options{MissingGrace: 10 * time.Second, MaxTrackedExecutors: 10}}
	for _, dynamic := range []bool{false, true} {
		app := sample(func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Instances = new(int32(1))
			if dynamic {
				a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: new(int32(1))}
			}
		})
		seen := lifecycle.Observed{
			Drivers:   []lifecycle.Driver{{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0}},
			Executors: []lifecycle.Executor{{Name: "e1", Attempt: 1, Phase: lifecycle.DriverRunning, CreatedAt: t0}},
		}
		condition := func(kind string) metav1.Condition {
			for _, c := range app.Status.Conditions {
				if c.Type == kind {
					return c
				}
			}
			return metav1.Condition{}
		}

		d.Decide(app, lifecycle.Observed{}, t0)
		d.Decide(app, seen, t0)

		if c := condition(dialect.ConditionReady); c.Status != metav1.ConditionTrue || c.Reason != "Running" || condition(dialect.ConditionDegraded).Type != "" {
			t.Fatalf("dynamic %v: well, the conditions are %+v", dynamic, app.Status.Conditions)
		}

		waits := lifecycle.Executor{Name: "e2", Attempt: 1, Phase: lifecycle.DriverPending, CreatedAt: t0, Why: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes"}}

		seen.Executors = append(seen.Executors, waits)
		if plan := d.Decide(app, seen, t0.Add(time.Second)); len(Events(app, plan)) > 0 || plan.RequeueAfter == 0 || condition(dialect.ConditionDegraded).Type != "" {
			t.Errorf("dynamic %v: a second old, the executor makes %+v, to be looked at again in %s", dynamic, app.Status.Conditions, plan.RequeueAfter)
		}

		plan := d.Decide(app, seen, t0.Add(time.Minute))

		want := []dialect.Event{{Type: "Warning", Reason: dialect.EventExecutorPending, Message: "Unschedulable: executor pod e2 waits: 0/3 nodes"}}
		if diff := cmp.Diff(want, Events(app, plan)); diff != "" {
			t.Errorf("dynamic %v: events (-want +got):\n%s", dynamic, diff)
		}

		if c := condition(dialect.ConditionDegraded); c.Status != metav1.ConditionTrue || c.Reason != "Unschedulable" || c.Message != "executor pod e2 waits: 0/3 nodes" {
			t.Errorf("dynamic %v: Degraded is %+v", dynamic, c)
		}

		if c := condition(dialect.ConditionReady); c.Status != metav1.ConditionTrue || c.Reason != "Running" || c.Message != "" || app.Status.AppState.ErrorMessage != "" {
			t.Errorf("dynamic %v: Ready is %+v, errorMessage %q", dynamic, c, app.Status.AppState.ErrorMessage)
		}

		seen.Executors[1].Phase, seen.Executors[1].Why = lifecycle.DriverRunning, lifecycle.Cause{}
		if plan := d.Decide(app, seen, t0.Add(time.Hour)); len(plan.Notices) > 0 || condition(dialect.ConditionDegraded).Type != "" {
			t.Errorf("dynamic %v: when it runs the conditions are %+v, reported %v", dynamic, app.Status.Conditions, plan.Notices)
		}

		seen.Drivers[0].Deleting = true
		d.Decide(app, seen, t0.Add(time.Hour))

		if c := condition(dialect.ConditionDegraded); c.Reason != lifecycle.ReasonDriverDeleting {
			t.Errorf("dynamic %v: with its driver going, Degraded is %+v", dynamic, c)
		}
	}
}

// TestDriverInfo checks that the status contains the expected name of the driver pod after the launch, and the pod's
// real name as soon as the pod exists. The name is removed when the attempt's objects are deleted.
func TestDriverInfo(t *testing.T) {
	app := sample()

	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "other-name", Attempt: 1, AppID: "spark-x"}}}
	for _, c := range []struct {
		m        lifecycle.Memory
		seen     lifecycle.Observed
		pod, sid string
	}{
		{in(lifecycle.Launched), lifecycle.Observed{}, "pi-driver", "spark-id"},
		{in(lifecycle.Running), seen, "other-name", "spark-x"},
		{in(lifecycle.Suspended), lifecycle.Observed{}, "", ""},
		{in(lifecycle.Waiting, ended(lifecycle.Failed), timer), seen, "other-name", "spark-x"},
		{in(lifecycle.Waiting, ended(lifecycle.Failed)), seen, "", ""},
	} {
		usual.encode(app, lifecycle.App{}, lifecycle.Plan{Next: c.m}, c.seen, t0)

		if got := app.Status; got.DriverInfo.PodName != c.pod || got.SparkApplicationID != c.sid {
			t.Errorf("%s: pod %q, id %q; want %q, %q", c.m.Phase, got.DriverInfo.PodName, got.SparkApplicationID, c.pod, c.sid)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	app := sample()
	for i := range 30 {
		plan := lifecycle.Plan{Next: in(lifecycle.Running), Transitions: []lifecycle.Transition{{To: lifecycle.Started, Attempt: int32(i), At: t0}}}
		usual.encode(app, lifecycle.App{}, plan, lifecycle.Observed{}, t0)
	}

	h := app.Status.Operator.History
	if len(h) != v1beta2.MaxHistory || h[0].Attempt != 10 || h[len(h)-1].Attempt != 29 {
		t.Errorf("%d transitions from attempt %d to %d", len(h), h[0].Attempt, h[len(h)-1].Attempt)
	}
}

// TestInvalidSpecs checks that an application that can never run is FAILED at once, with a condition that names the
// invalid field. No restart policy delays this.
func TestInvalidSpecs(t *testing.T) {
	for _, c := range []struct {
		field string
		edit  func(*v1beta2.SparkApplication)
	}{
		{"spec.driver.memory", func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = new("lots") }},
		{"spec.executor.memory", func(a *v1beta2.SparkApplication) { a.Spec.Executor.Memory = new("1.5g") }},
		{"spec.driver.template.spec.containers", func(a *v1beta2.SparkApplication) {
			a.Spec.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":"none"}}`)}
		}},
		{"spec.executor.template", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Template = &runtime.RawExtension{Raw: []byte(`[1]`)}
		}},
		{"spec.sparkConf[spark.master]", func(a *v1beta2.SparkApplication) { a.Spec.SparkConf = map[string]string{"spark.master": "local"} }},
		{"spec.batchScheduler", func(a *v1beta2.SparkApplication) { a.Spec.BatchScheduler = new("whoever") }},
		{"spec.mode", func(a *v1beta2.SparkApplication) { a.Spec.Mode = v1beta2.DeployModeInClusterClient }},
	} {
		t.Run(c.field, func(t *testing.T) {
			app := sample(c.edit, func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways })

			plan := usual.Decide(app, lifecycle.Observed{}, t0)
			if len(plan.Actions) > 0 || app.Status.AppState.State != v1beta2.ApplicationStateFailed {
				t.Errorf("state %s, actions %v", app.Status.AppState.State, plan.Actions)
			}

			for _, c2 := range app.Status.Conditions {
				if c2.Type == dialect.ConditionFailed && c2.Reason == lifecycle.ReasonInvalid && strings.HasPrefix(c2.Message, c.field+":") {
					return
				}
			}

			t.Errorf("no condition names %s: %+v", c.field, app.Status.Conditions)
		})
	}
}

// TestEditRepairs checks that an application that failed because of its spec is launched when the spec is corrected.
func TestEditRepairs(t *testing.T) {
	app := sample(func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = new("lots") })
	usual.Decide(app, lifecycle.Observed{}, t0)
	app.Spec.Driver.Memory = new("1g")
	plan := usual.Decide(app, lifecycle.Observed{Confirmed: true}, t0.Add(time.Minute))

	want := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}}
	if diff := cmp.Diff(want, plan.Actions, cmpopts.IgnoreFields(lifecycle.Action{}, "Built")); diff != "" || app.Status.AppState.State != v1beta2.ApplicationStateSubmitted {
		t.Errorf("state %s, actions (-want +got):\n%s", app.Status.AppState.State, diff)
	}
}

// TestPreempted checks an application that a queue such as Kueue preempts. The queue suspends and edits the application
// in one update, and edits it again when it admits the application. The status shows a suspension, and the attempt
// numbers continue.
func TestPreempted(t *testing.T) {
	app := sample()
	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0}
	step := func(seen lifecycle.Observed, want v1beta2.ApplicationStateType) {
		t.Helper()
		usual.Decide(app, seen, t0)

		if got := app.Status.AppState; got.State != want || got.ErrorMessage != "" {
			t.Fatalf("the state is %+v, want %s", got, want)
		}

		roundTrip(t, &app.Status)
	}
	running := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}

	step(lifecycle.Observed{}, v1beta2.ApplicationStateSubmitted)
	step(running, v1beta2.ApplicationStateRunning)

	app.Spec.Suspend, app.Spec.Driver.NodeSelector = new(true), map[string]string{"pool": "a"}

	step(running, v1beta2.ApplicationStateSuspending)
	step(lifecycle.Observed{Confirmed: true}, v1beta2.ApplicationStateSuspended)

	if s := app.Status; s.ExecutionAttempts != 1 || s.Operator.SuspendedRuns != 1 {
		t.Errorf("suspended after %d runs, %d of them suspended; want 1 and 1", s.ExecutionAttempts, s.Operator.SuspendedRuns)
	}

	app.Spec.Suspend, app.Spec.Driver.NodeSelector = new(false), map[string]string{"pool": "b"}

	step(lifecycle.Observed{Confirmed: true}, v1beta2.ApplicationStateSubmitted)

	if s := app.Status; s.ExecutionAttempts != 2 || s.SubmissionAttempts != 2 {
		t.Errorf("resumed as run %d of submission %d; want 2 and 2", s.ExecutionAttempts, s.SubmissionAttempts)
	}
}

// TestDeleting checks an application that is being deleted: its status stays unchanged, and its objects are deleted.
// With --cascade=orphan, its objects stay.
func TestDeleting(t *testing.T) {
	app := sample(func(a *v1beta2.SparkApplication) { a.DeletionTimestamp = new(metav1.NewTime(t0)) })

	plan := usual.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1}}}, t0)
	if diff := cmp.Diff(v1beta2.SparkApplicationStatus{}, app.Status); diff != "" || len(plan.Actions) != 1 {
		t.Errorf("actions %v, status %s", plan.Actions, diff)
	}

	app.Finalizers = []string{metav1.FinalizerOrphanDependents}

	plan = usual.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1}}}, t0)
	if diff := cmp.Diff(v1beta2.SparkApplicationStatus{}, app.Status); diff != "" || len(plan.Actions) != 0 {
		t.Errorf("with --cascade=orphan: actions %v, status %s", plan.Actions, diff)
	}
}

// TestUsabilityIsAskedWhenItMatters checks an application that was valid until an upgrade of the operator, whose new
// version rejects the spec. The current run continues, but the next launch is rejected.
func TestUsabilityIsAskedWhenItMatters(t *testing.T) {
	app := sample(func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways })
	usual.Decide(app, lifecycle.Observed{}, t0)
	app.Labels = map[string]string{"spark-role": "x"} // a rejected label; labels are not part of the spec
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning}}}
	usual.Decide(app, seen, t0)

	if got := app.Status.AppState; got.State != v1beta2.ApplicationStateRunning {
		t.Errorf("the state of the running application is %+v", got)
	}

	seen.Drivers[0].Phase = lifecycle.DriverSucceeded

	plan := usual.Decide(app, seen, t0)
	if got := app.Status.AppState; got.State != v1beta2.ApplicationStateCompleted || len(plan.Actions) > 0 {
		t.Errorf("after the run the state is %+v, actions %v", got, plan.Actions)
	}

	app.Labels = nil

	for phase, want := range map[lifecycle.Phase]bool{
		lifecycle.New: true, lifecycle.Waiting: true, lifecycle.Ended: true, lifecycle.Suspending: true, lifecycle.Suspended: true,
		lifecycle.Resuming: true, lifecycle.Editing: true, lifecycle.Running: false, lifecycle.Unknown: false, lifecycle.Done: false,
	} {
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: lifecycle.DriverRunning}}}

		m := in(phase, func(m *lifecycle.Memory) { m.SpecHash = "1:a" })
		if got := dialect.MayLaunch(lifecycle.App{SpecHash: "1:a"}, m, seen); got != want {
			t.Errorf("%q: %v, want %v", phase, got, want)
		}

		if !dialect.MayLaunch(lifecycle.App{SpecHash: "1:b"}, m, seen) {
			t.Errorf("%q: MayLaunch is false after an edit", phase)
		}
	}

	if !dialect.MayLaunch(lifecycle.App{}, in(lifecycle.Running), lifecycle.Observed{}) {
		t.Error("MayLaunch is false although the driver is missing")
	}

	for _, tt := range []struct {
		policy            lifecycle.RestartPolicy
		succeeded, failed bool
	}{
		{lifecycle.Never, false, false},
		{lifecycle.OnFailure, false, true},
		{lifecycle.OnInfrastructureFailure, false, true},
		{lifecycle.Always, true, true},
		{"", true, true},
	} {
		for ended, want := range map[lifecycle.DriverPhase]bool{lifecycle.DriverSucceeded: tt.succeeded, lifecycle.DriverFailed: tt.failed} {
			seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: ended}}}
			app := lifecycle.App{SpecHash: "1:a", Restart: lifecycle.Restart{Policy: tt.policy}}

			m := in(lifecycle.Running, func(m *lifecycle.Memory) { m.SpecHash, m.Attempt = "1:a", 1 })
			if got := dialect.MayLaunch(app, m, seen); got != want {
				t.Errorf("policy %s, driver %s: %v, want %v", tt.policy, ended, got, want)
			}
		}
	}
}
