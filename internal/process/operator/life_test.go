package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func TestApplicationCompletes(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)

	driver := w.DriverOf(app, 1)
	if driver.Name != world.DriverName("pi") {
		t.Errorf("the driver is %s", driver.Name)
	}

	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())

	got := w.WaitState("pi", v1beta2.ApplicationStateRunning)
	if got.Status.DriverInfo.PodName != driver.Name || got.Status.SubmissionID == "" || got.Status.ExecutionAttempts != 1 {
		t.Errorf("the status is %+v", got.Status)
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	got = w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if c := world.Condition(got, "Succeeded"); c.Status != metav1.ConditionTrue || got.Status.ObservedGeneration != got.Generation {
		t.Errorf("Succeeded is %+v, generation %d of %d", c, got.Status.ObservedGeneration, got.Generation)
	}

	if got.Status.TerminationTime.IsZero() {
		t.Error("no termination time")
	}

	kit.Wait(t, "the events", func(context.Context) error {
		reported := w.EventsOf(app)
		for _, reason := range []string{"SparkApplicationSubmitted", "SparkDriverRunning", "SparkApplicationCompleted"} {
			if reported[reason] == "" {
				return fmt.Errorf("no %s among %v", reason, reported)
			}
		}
		return nil
	})
	// API writes over a successful life: at most 4 status writes and 4 events.
	if writes := w.Metric("sparkoperator_status_writes_total"); writes > 4 {
		t.Errorf("%v status writes", writes)
	}

	if reported := w.EventsOf(app); len(strings.Split(strings.Join(slices.Collect(maps.Values(reported)), "\n"), "\n")) > 4 {
		t.Errorf("more than 4 events: %v", reported)
	}

	w.WaitMetric("spark_application_success_count", 1)
}

func TestApplicationFails(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	w.Execute(w.DriverOf(app, 1), scene.Exited(3, "java.lang.IllegalStateException: no input"))

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	for _, says := range []string{"driver container failed", "3", "no input"} {
		if !strings.Contains(got.Status.AppState.ErrorMessage, says) {
			t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
		}
	}

	if c := world.Condition(got, "Failed"); c.Status != metav1.ConditionTrue {
		t.Errorf("Failed is %+v", c)
	}
}

func TestSubmissionFailsOnAForeignPod(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	foreign := scene.ForeignPod(w.Namespace, world.DriverName("pi"))
	w.Create(foreign)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if !strings.Contains(got.Status.AppState.ErrorMessage, foreign.Name) {
		t.Errorf("the message does not name the pod: %s", got.Status.AppState.ErrorMessage)
	}

	uid := foreign.UID
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.UID != uid {
		t.Errorf("somebody else's pod was changed: %v", err)
	}

	w.WaitNothingOf(app)
}

func TestRetriesAfterFailure(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()

	app := w.Application("pi", scene.WithDriver, world.OnFailure(2))
	for attempt := 1; attempt <= 3; attempt++ {
		w.Execute(w.DriverOf(app, attempt), scene.Exited(1, "again"))
	}

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if got.Status.ExecutionAttempts != 3 {
		t.Errorf("%d runs, want 3", got.Status.ExecutionAttempts)
	}
}

// TestRetryWaitsForQuota checks that a retry that a quota rejects waits until there is room, and that the wait costs
// few requests. The quota ended an application that had retries left.
func TestRetryWaitsForQuota(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	made := &world.Requests{}
	w.RunReal(func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { made.Next = next; return made })
	})
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1))
	driver := w.DriverOf(app, 1)
	quota := w.NoPods()
	w.Execute(driver, scene.Exited(1, "again"))

	begun := time.Now()

	w.WaitReady("pi", lifecycle.ReasonQuota, "the next attempt waits for quota", "no-pods")
	w.WaitEvent(app, lifecycle.ReasonQuota, "the next attempt waits for quota")

	for i := range 10 { // each pass decides the launch again
		w.Patch("pi", fmt.Sprintf(`{"metadata":{"labels":{"pass":"%d"}}}`, i))
	}

	w.TriggerPass("pi")

	if tries, most := made.Since(nil)["POST pods"], 2+int(time.Since(begun)/world.BudgetInterval); tries < 2 || tries > most {
		t.Errorf("%d requests for pods, want at most %d", tries, most)
	}

	w.Remove(quota)
	w.Execute(w.DriverOf(app, 2), scene.Exited(0, ""))

	if got := w.WaitState("pi", v1beta2.ApplicationStateCompleted); got.Status.ExecutionAttempts != 2 {
		t.Errorf("%d runs, want 2", got.Status.ExecutionAttempts)
	}
}

// TestNetworkPoliciesGoWithTheirAttempt checks that the NetworkPolicy that Spark 4.2 adds to a submission is deleted
// between attempts, like the other objects of an attempt.
func TestNetworkPoliciesGoWithTheirAttempt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1), func(app *v1beta2.SparkApplication) { app.Spec.SparkVersion = "4.2.0" })
	policies := func() (attempts []int32) {
		var list networkingv1.NetworkPolicyList
		if err := w.API.List(t.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
			t.Fatal(err)
		}

		for i := range list.Items {
			attempts = append(attempts, identity.Attempt(&list.Items[i]))
		}
		return attempts
	}
	first := w.DriverOf(app, 1)

	if diff := cmp.Diff([]int32{1}, policies()); diff != "" {
		t.Errorf("policies of the first attempt (-want +got):\n%s", diff)
	}

	w.Execute(first, scene.Exited(1, "again"))
	w.DriverOf(app, 2)

	if diff := cmp.Diff([]int32{2}, policies()); diff != "" {
		t.Errorf("policies of the second attempt (-want +got):\n%s", diff)
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(2))
	w.Execute(w.DriverOf(app, 1), scene.Exited(1, "again"))
	w.Execute(w.DriverOf(app, 2), scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// TestBadApplicationsStopNobody checks that an application that can never run reports the reason in a condition, and
// that other applications continue to run.
func TestBadApplicationsStopNobody(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		change func(*v1beta2.SparkApplication)
		names  string
	}{
		{"undecodable-template", func(app *v1beta2.SparkApplication) {
			app.Spec.Driver.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":"none"}}`)}
		}, "template"},
		{"bad-memory", func(app *v1beta2.SparkApplication) { app.Spec.Driver.Memory = new("lots") }, "memory"},
		{"denied-conf", func(app *v1beta2.SparkApplication) {
			app.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.podTemplateFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}
		}, "podTemplateFile"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)

			bad := &v1beta2.SparkApplication{}
			if !created(w, func() { bad = w.Application("bad", scene.WithDriver, test.change) }, test.change) {
				return
			}

			w.RunReal()

			got := w.WaitState("bad", v1beta2.ApplicationStateFailed)
			if c := world.Condition(got, "Failed"); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, test.names) {
				t.Errorf("Failed is %+v, want it to name %s", c, test.names)
			}

			w.WaitNothingOf(bad)
			w.Execute(w.DriverOf(w.Application("good", scene.WithDriver), 1), scene.Exited(0, ""))
			w.WaitState("good", v1beta2.ApplicationStateCompleted)
		})
	}
}

// created calls the function create and returns true. If the API server's schema rejects an application with the given
// change, created does not call the function, and returns false, so that the test can skip this application.
func created(w *world.World, create func(), change func(*v1beta2.SparkApplication)) bool {
	app := &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "probe"},
		Spec:       v1beta2.SparkApplicationSpec{Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", MainApplicationFile: "local:///x.jar"},
	}
	scene.WithDriver(app)
	change(app)

	if err := w.API.Create(w.T.Context(), app, client.DryRunAll); err != nil {
		w.T.Logf("refused by the schema: %v", err)
		return false
	}

	create()
	return true
}

// TestOperatorRestartsInTheMiddle restarts the operator between the steps of an application's life cycle, and checks
// that the next process continues.
func TestOperatorRestartsInTheMiddle(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	restart := func(stop func()) func() { stop(); return w.RunReal() }
	stop := w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1))
	first := w.DriverOf(app, 1)
	stop = restart(stop)

	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	w.Kubelet(first.Name, corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	stop()
	w.Kubelet(first.Name, corev1.PodFailed, scene.Exited(1, "again")) // no operator runs
	stop = w.RunReal()
	second := w.DriverOf(app, 2)
	stop = restart(stop)

	w.Execute(second, scene.Exited(0, ""))
	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)

	stop()

	if got.Status.ExecutionAttempts != 2 {
		t.Errorf("%d runs, want 2", got.Status.ExecutionAttempts)
	}

	if again := w.DriverOf(app, 2); again.UID != second.UID {
		t.Error("the second driver was created twice")
	}
}

func driverUIDs(w *world.World, app *v1beta2.SparkApplication) map[string]string {
	w.T.Helper()

	var pods corev1.PodList
	if err := w.API.List(w.T.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{
		identity.AppUIDLabel: string(app.UID), identity.RoleLabel: identity.RoleDriver,
	}); err != nil {
		w.T.Fatal(err)
	}

	uids := map[string]string{}
	for _, pod := range pods.Items {
		uids[string(pod.UID)] = pod.Labels[identity.AttemptLabel]
	}
	return uids
}

// TestExecutorsAreSeen plays Spark: a driver creates an executor from the template, with our labels and owner. The test
// checks that the status shows this executor, and that the operator deletes it after the end of the attempt.
func TestExecutorsAreSeen(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	executor := w.Executor(app, driver, 1)
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	kit.Wait(t, "the executor in the status", func(context.Context) error {
		status := w.Get("pi").Status
		if diff := cmp.Diff(map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateRunning}, status.ExecutorState); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.WaitGone(executor) // the executors of an ended attempt are deleted
}

// TestDriverDeletedByHand checks that the operator confirms by a live read that a driver is gone. The restart policy
// then decides whether there is another attempt.
func TestDriverDeletedByHand(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)

	driver := w.RunningDriver(app, 1)
	if err := w.API.Delete(t.Context(), driver); err != nil {
		t.Fatal(err)
	}

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if !strings.Contains(got.Status.AppState.ErrorMessage, "driver pod") {
		t.Errorf("the message is %q", got.Status.AppState.ErrorMessage)
	}
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.RunningDriver(app, 1)
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitGone(driver)
	w.Suspend("pi", false)
	w.Execute(w.DriverOf(app, 2), scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// TestExitZeroWhileSuspended checks that a driver that exits with code 0 while a suspension stops it has succeeded,
// also if its pod is gone before a pass reads its end. The application does not run again when it is resumed.
func TestExitZeroWhileSuspended(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()

	for name, gone := range map[string]bool{"stays": false, "goes": true} {
		app := w.Application(name, scene.WithDriver)
		driver := w.DriverOf(app, 1)
		w.BindAway(driver)
		w.RunningDriver(app, 1)
		w.Suspend(name, true)
		w.WaitDeleting(driver)
		w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

		if gone {
			w.Stopped(driver)
		}

		w.WaitState(name, v1beta2.ApplicationStateCompleted)
		w.Suspend(name, false)
		w.TriggerPass(name)

		if got := w.WaitState(name, v1beta2.ApplicationStateCompleted).Status.Operator; got.Attempt != 1 {
			t.Errorf("%s: attempt %d follows", name, got.Attempt)
		}
	}
}

func TestSpecEditReplacesTheRun(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	w.RunningDriver(app, 1)
	edited := w.Get("pi")
	before := edited.DeepCopy()

	edited.Spec.Arguments = []string{"100"}
	if err := w.API.Patch(t.Context(), edited, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	second := w.DriverOf(app, 2)
	if !strings.Contains(strings.Join(second.Spec.Containers[len(second.Spec.Containers)-1].Args, " "), "100") {
		t.Errorf("the new driver's arguments are %q", second.Spec.Containers[0].Args)
	}

	w.Execute(second, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) { app.Spec.TimeToLiveSeconds = new(int64(1)) })
	w.Execute(w.DriverOf(app, 1), scene.Exited(0, ""))
	w.WaitGone(app)
}

// TestCauseOfWaitingIsShown checks that a driver's wait reason is in the status, in a condition and in an event.
func TestCauseOfWaitingIsShown(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	shown := func(reason, says string) {
		kit.Wait(t, reason+" in the status", func(context.Context) error {
			got := w.Get("pi")

			ready, event := world.Condition(got, "Ready"), ""
			for _, message := range w.EventsOf(app) {
				if strings.Contains(message, says) {
					event = message
				}
			}

			if ready.Reason != reason || !strings.Contains(ready.Message, says) || event == "" {
				return fmt.Errorf("the condition is %+v, the event %q", ready, event)
			}
			return nil
		})
	}

	w.Create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.Namespace, Name: "mount"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.Namespace, Name: driver.Name, UID: driver.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedMount", Message: `configmap "absent" not found`, LastTimestamp: metav1.Now(),
	})
	shown("FailedMount", `configmap "absent" not found`)
	w.Kubelet(driver.Name, corev1.PodPending, world.Waiting("ImagePullBackOff", "no such image"))
	shown("ImagePullBackOff", "no such image")

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
		t.Errorf("the state is %s", state)
	}

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitNothingOf(app)
}

// TestQuotaRejectionIsReported checks that, if a quota rejects the driver, the submission fails and its message names
// the quota. The restart policy decides whether the operator retries. A retry succeeds when the quota has room.
func TestQuotaRejectionIsReported(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	quota := w.NoPods()
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(100))

	got := w.WaitState("pi", v1beta2.ApplicationStateFailedSubmission)
	if !strings.Contains(got.Status.AppState.ErrorMessage, quota.Name) {
		t.Errorf("the message is %q", got.Status.AppState.ErrorMessage)
	}

	if err := w.API.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "a driver", func(context.Context) error { return world.Want(len(driverUIDs(w, app)), 1) })
}
