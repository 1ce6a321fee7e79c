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
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

var usual = Dialect{Options{MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second,
	Batch: batch.Options{Enabled: true, KubeSchedulers: []string{"coscheduler"}}}}

// TestMessagesKeepStill checks that conditions change only if the phase or the cause changes, and not whenever an
// executor starts.
func TestMessagesKeepStill(t *testing.T) {
	d := Dialect{Options{MissingGrace: 10 * time.Second}}
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(5)) })
	ready := func(want string) []metav1.Condition {
		t.Helper()

		for _, c := range app.Status.Conditions {
			if c.Type == dialect.ConditionReady && c.Reason+": "+c.Message != want {
				t.Errorf("Ready says %q, want %q", c.Reason+": "+c.Message, want)
			}
		}
		return app.Status.DeepCopy().Conditions
	}
	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverPending, CreatedAt: sparkapp.T0}
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}

	d.Decide(app, lifecycle.Observed{}, sparkapp.T0)
	d.Decide(app, seen, sparkapp.T0)
	ready("Launched: the driver pod has not started yet")

	seen.Drivers[0].Phase = lifecycle.DriverRunning
	d.Decide(app, seen, sparkapp.T0)
	ready("Started: the driver runs; its pod is not ready yet")

	seen.Drivers[0].Ready = true
	d.Decide(app, seen, sparkapp.T0)
	ready("AwaitingExecutors: 0 of 5 executors run")

	var first []metav1.Condition
	for i := range 4 {
		seen.Executors = append(seen.Executors,
			lifecycle.Executor{Name: fmt.Sprint("e", i), Attempt: 1, Phase: lifecycle.DriverRunning})
		d.Decide(app, seen, sparkapp.T0.Add(time.Duration(i)*time.Second))

		now := ready("Scaling: fewer than 5 executors run; status.executors has the counts")
		if first == nil {
			first = now
		}

		if diff := cmp.Diff(first, now); diff != "" {
			t.Errorf("executor %d changes conditions:\n%s", i, diff)
		}
	}

	stuck := lifecycle.Executor{Name: "e4", Attempt: 1, Phase: lifecycle.DriverPending,
		Why: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes"}}
	seen.Executors = append(seen.Executors, stuck)
	plan := d.Decide(app, seen, sparkapp.T0)

	ready("Unschedulable: executor pod e4 waits: 0/3 nodes")

	want := []dialect.Event{{Type: "Warning", Reason: dialect.EventExecutorPending,
		Message: "Unschedulable: executor pod e4 waits: 0/3 nodes"}}
	if diff := cmp.Diff(want, status.Events(app, plan)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestDegradedByACause checks that a running application is Degraded if one of its executors cannot start yet or its
// driver is being removed. The condition contains the cause. The application stays Ready, also with dynamic allocation,
// and one event reports the cause.
func TestDegradedByACause(t *testing.T) {
	d := Dialect{Options{MissingGrace: 10 * time.Second, MaxTrackedExecutors: 10}}
	for _, dynamic := range []bool{false, true} {
		app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Instances = new(int32(1))
			if dynamic {
				a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: new(int32(1))}
			}
		})
		seen := lifecycle.Observed{
			Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true,
				CreatedAt: sparkapp.T0}},
			Executors: []lifecycle.Executor{{Name: "e1", Attempt: 1, Phase: lifecycle.DriverRunning,
				CreatedAt: sparkapp.T0}},
		}
		condition := func(kind string) metav1.Condition {
			for _, c := range app.Status.Conditions {
				if c.Type == kind {
					return c
				}
			}
			return metav1.Condition{}
		}

		d.Decide(app, lifecycle.Observed{}, sparkapp.T0)
		d.Decide(app, seen, sparkapp.T0)

		if c := condition(dialect.ConditionReady); c.Status != metav1.ConditionTrue || c.Reason != "Running" ||
			condition(dialect.ConditionDegraded).Type != "" {
			t.Fatalf("dynamic %v: well, the conditions are %+v", dynamic, app.Status.Conditions)
		}

		waits := lifecycle.Executor{Name: "e2", Attempt: 1, Phase: lifecycle.DriverPending, CreatedAt: sparkapp.T0,
			Why: lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes"}}

		seen.Executors = append(seen.Executors, waits)
		if plan := d.Decide(app, seen, sparkapp.T0.Add(time.Second)); len(status.Events(app, plan)) > 0 ||
			plan.RequeueAfter == 0 || condition(dialect.ConditionDegraded).Type != "" {
			t.Errorf("dynamic %v: a second old, the executor makes %+v, to be looked at again in %s", dynamic,
				app.Status.Conditions, plan.RequeueAfter)
		}

		plan := d.Decide(app, seen, sparkapp.T0.Add(time.Minute))

		want := []dialect.Event{{Type: "Warning", Reason: dialect.EventExecutorPending,
			Message: "Unschedulable: executor pod e2 waits: 0/3 nodes"}}
		if diff := cmp.Diff(want, status.Events(app, plan)); diff != "" {
			t.Errorf("dynamic %v: events (-want +got):\n%s", dynamic, diff)
		}

		if c := condition(dialect.ConditionDegraded); c.Status != metav1.ConditionTrue || c.Reason != "Unschedulable" ||
			c.Message != "executor pod e2 waits: 0/3 nodes" {
			t.Errorf("dynamic %v: Degraded is %+v", dynamic, c)
		}

		if c := condition(dialect.ConditionReady); c.Status != metav1.ConditionTrue || c.Reason != "Running" ||
			c.Message != "" || app.Status.AppState.ErrorMessage != "" {
			t.Errorf("dynamic %v: Ready is %+v, errorMessage %q", dynamic, c, app.Status.AppState.ErrorMessage)
		}

		seen.Executors[1].Phase, seen.Executors[1].Why = lifecycle.DriverRunning, lifecycle.Cause{}
		if plan := d.Decide(app, seen, sparkapp.T0.Add(time.Hour)); len(plan.Notices) > 0 ||
			condition(dialect.ConditionDegraded).Type != "" {
			t.Errorf("dynamic %v: when it runs the conditions are %+v, reported %v", dynamic, app.Status.Conditions,
				plan.Notices)
		}

		seen.Drivers[0].Deleting = true
		d.Decide(app, seen, sparkapp.T0.Add(time.Hour))

		if c := condition(dialect.ConditionDegraded); c.Reason != lifecycle.ReasonDriverDeleting {
			t.Errorf("dynamic %v: with its driver going, Degraded is %+v", dynamic, c)
		}
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
		{"spec.sparkConf[spark.master]",
			func(a *v1beta2.SparkApplication) { a.Spec.SparkConf = map[string]string{"spark.master": "local"} }},
		{"spec.batchScheduler", func(a *v1beta2.SparkApplication) { a.Spec.BatchScheduler = new("whoever") }},
		{"spec.mode", func(a *v1beta2.SparkApplication) { a.Spec.Mode = v1beta2.DeployModeInClusterClient }},
	} {
		t.Run(c.field, func(t *testing.T) {
			app := sparkapp.Sample(c.edit,
				func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways })

			plan := usual.Decide(app, lifecycle.Observed{}, sparkapp.T0)
			if len(plan.Actions) > 0 || app.Status.AppState.State != v1beta2.ApplicationStateFailed {
				t.Errorf("state %s, actions %v", app.Status.AppState.State, plan.Actions)
			}

			for _, c2 := range app.Status.Conditions {
				if c2.Type == dialect.ConditionFailed && c2.Reason == lifecycle.ReasonInvalid &&
					strings.HasPrefix(c2.Message, c.field+":") {
					return
				}
			}

			t.Errorf("no condition names %s: %+v", c.field, app.Status.Conditions)
		})
	}
}

// TestEditRepairs checks that an application that failed because of its spec is launched when the spec is corrected.
func TestEditRepairs(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = new("lots") })
	usual.Decide(app, lifecycle.Observed{}, sparkapp.T0)
	app.Spec.Driver.Memory = new("1g")
	plan := usual.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0.Add(time.Minute))

	want := []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 2}}
	if diff := cmp.Diff(want, plan.Actions, cmpopts.IgnoreFields(lifecycle.Action{}, "Built")); diff != "" ||
		app.Status.AppState.State != v1beta2.ApplicationStateSubmitted {
		t.Errorf("state %s, actions (-want +got):\n%s", app.Status.AppState.State, diff)
	}
}

// TestPreempted checks an application that a queue such as Kueue preempts. The queue suspends and edits the application
// in one update, and edits it again when it admits the application. The status shows a suspension, and the attempt
// numbers continue.
func TestPreempted(t *testing.T) {
	app := sparkapp.Sample()
	driver := lifecycle.Driver{Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true,
		CreatedAt: sparkapp.T0}
	step := func(seen lifecycle.Observed, want v1beta2.ApplicationStateType) {
		t.Helper()
		usual.Decide(app, seen, sparkapp.T0)

		if got := app.Status.AppState; got.State != want || got.ErrorMessage != "" {
			t.Fatalf("the state is %+v, want %s", got, want)
		}

		sparkapp.RoundTrip(t, &app.Status)
	}
	running := lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}

	step(lifecycle.Observed{}, v1beta2.ApplicationStateSubmitted)
	step(running, v1beta2.ApplicationStateRunning)

	app.Spec.Suspend, app.Spec.Driver.NodeSelector = new(true), map[string]string{"pool": "a"}

	step(running, v1beta2.ApplicationStateSuspending)
	step(lifecycle.Observed{Confirmed: true}, v1beta2.ApplicationStateSuspended)

	if s := app.Status; s.ExecutionAttempts != 1 || s.Operator.SuspendedRuns != 1 {
		t.Errorf("suspended after %d runs, %d of them suspended; want 1 and 1", s.ExecutionAttempts,
			s.Operator.SuspendedRuns)
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
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.DeletionTimestamp = new(metav1.NewTime(sparkapp.T0)) })

	plan := usual.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1}}}, sparkapp.T0)
	if diff := cmp.Diff(v1beta2.SparkApplicationStatus{}, app.Status); diff != "" || len(plan.Actions) != 1 {
		t.Errorf("actions %v, status %s", plan.Actions, diff)
	}

	app.Finalizers = []string{metav1.FinalizerOrphanDependents}

	plan = usual.Decide(app, lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1}}}, sparkapp.T0)
	if diff := cmp.Diff(v1beta2.SparkApplicationStatus{}, app.Status); diff != "" || len(plan.Actions) != 0 {
		t.Errorf("with --cascade=orphan: actions %v, status %s", plan.Actions, diff)
	}
}

// TestUsabilityIsAskedWhenItMatters checks an application that was valid until an upgrade of the operator, whose new
// version rejects the spec. The current run continues, but the next launch is rejected.
func TestUsabilityIsAskedWhenItMatters(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways })
	usual.Decide(app, lifecycle.Observed{}, sparkapp.T0)
	app.Labels = map[string]string{"spark-role": "x"} // a rejected label; labels are not part of the spec
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "pi-driver", Attempt: 1,
		Phase: lifecycle.DriverRunning}}}
	usual.Decide(app, seen, sparkapp.T0)

	if got := app.Status.AppState; got.State != v1beta2.ApplicationStateRunning {
		t.Errorf("the state of the running application is %+v", got)
	}

	seen.Drivers[0].Phase = lifecycle.DriverSucceeded

	plan := usual.Decide(app, seen, sparkapp.T0)
	if got := app.Status.AppState; got.State != v1beta2.ApplicationStateCompleted || len(plan.Actions) > 0 {
		t.Errorf("after the run the state is %+v, actions %v", got, plan.Actions)
	}

	app.Labels = nil

	for phase, want := range map[lifecycle.Phase]bool{
		lifecycle.New: true, lifecycle.Waiting: true, lifecycle.Ended: true, lifecycle.Suspending: true,
		lifecycle.Suspended: true,
		lifecycle.Resuming:  true, lifecycle.Editing: true, lifecycle.Running: false, lifecycle.Unknown: false,
		lifecycle.Done: false,
	} {
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: lifecycle.DriverRunning}}}

		m := sparkapp.In(phase, func(m *lifecycle.Memory) { m.SpecHash = "1:a" })
		if got := dialect.MayLaunch(lifecycle.App{SpecHash: "1:a"}, m, seen); got != want {
			t.Errorf("%q: %v, want %v", phase, got, want)
		}

		if !dialect.MayLaunch(lifecycle.App{SpecHash: "1:b"}, m, seen) {
			t.Errorf("%q: MayLaunch is false after an edit", phase)
		}
	}

	if !dialect.MayLaunch(lifecycle.App{}, sparkapp.In(lifecycle.Running), lifecycle.Observed{}) {
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
		for ended, want := range map[lifecycle.DriverPhase]bool{lifecycle.DriverSucceeded: tt.succeeded,
			lifecycle.DriverFailed: tt.failed} {
			seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: ended}}}
			app := lifecycle.App{SpecHash: "1:a", Restart: lifecycle.Restart{Policy: tt.policy}}

			m := sparkapp.In(lifecycle.Running, func(m *lifecycle.Memory) { m.SpecHash, m.Attempt = "1:a", 1 })
			if got := dialect.MayLaunch(app, m, seen); got != want {
				t.Errorf("policy %s, driver %s: %v, want %v", tt.policy, ended, got, want)
			}
		}
	}
}
