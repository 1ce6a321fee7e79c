package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestDeadline checks that an attempt whose driver never starts ends at its deadline and not before, and that the
// driver's wait reason is reported.
func TestDeadline(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.Timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(2))}))
	driver := w.DriverOf(app, 1)
	w.Kubelet(driver.Name, corev1.PodPending, world.Waiting("ImagePullBackOff", "not found"))

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	for _, says := range []string{"the driver did not start within 2s", "ImagePullBackOff", "not found"} {
		if !strings.Contains(got.Status.AppState.ErrorMessage, says) {
			t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
		}
	}

	if ran := got.Status.Operator.EndedAt.Sub(got.Status.Operator.SubmittedAt.Time); ran < 2*time.Second {
		t.Errorf("the attempt ended %s after the submission", ran)
	}

	w.WaitGone(driver)
}

// TestDeadlineBehindAGate checks a driver that a queue delays by a scheduling gate. The time until the gate is removed
// does not count towards the deadline, so the driver then has the whole time to start.
func TestDeadlineBehindAGate(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.Timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(2))}),
		func(app *v1beta2.SparkApplication) {
			app.Spec.Driver.Template = &runtime.RawExtension{
				Raw: []byte(`{"spec":{"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}],"containers":[]}}`)}
		})
	driver := w.DriverOf(app, 1)
	kit.Wait(t, "the gate to be reported", func(context.Context) error {
		ready := world.Condition(w.Get("pi"), "Ready")
		if ready.Reason != lifecycle.ReasonSchedulingGated ||
			!strings.Contains(ready.Message, "kueue.x-k8s.io/admission") {
			return fmt.Errorf("%+v", ready)
		}
		return nil
	})

	if gated := w.Get("pi"); gated.Status.AppState.State != v1beta2.ApplicationStateSubmitted {
		t.Fatalf("%s behind a gate", gated.Status.AppState.State)
	}

	lifted := time.Now()

	ungated := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`))
	if err := w.API.Patch(t.Context(), driver, ungated); err != nil {
		t.Fatal(err)
	}

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if says := "the driver did not start within 2s"; !strings.Contains(got.Status.AppState.ErrorMessage, says) {
		t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
	}

	o := got.Status.Operator
	if o.UngatedAt == nil || o.UngatedAt.Before(new(metav1.NewMicroTime(lifted))) ||
		o.EndedAt.Sub(o.UngatedAt.Time) < 2*time.Second {
		t.Errorf("the gate was removed at %s; the operator says at %v, and ended the attempt at %v", lifted,
			o.UngatedAt, o.EndedAt)
	}
}

// TestRunOnALostNode checks that the deadline of a run ends the run although the node of its driver does not answer.
// The next attempt waits until the driver's pod is gone.
func TestRunOnALostNode(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1),
		world.Timeouts(v1beta2.Timeouts{RunSeconds: new(int64(5))}))
	driver := w.DriverOf(app, 1)
	w.BindAway(driver)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.Kubelet(driver.Name, corev1.PodUnknown, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateUnknown)

	got := w.WaitState("pi", v1beta2.ApplicationStateFailing)
	for _, says := range []string{"the run did not end within 5s", "NodeLost"} {
		if !strings.Contains(got.Status.AppState.ErrorMessage, says) {
			t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
		}
	}

	if ran := got.Status.Operator.EndedAt.Sub(got.Status.Operator.SubmittedAt.Time); ran < 5*time.Second {
		t.Errorf("the attempt ended %s after the submission", ran)
	}

	w.WaitDeleting(driver)

	if n := drivers(w, app); n != 1 {
		t.Fatalf("there are %d drivers although the first may still run", n)
	}

	if err := w.API.Delete(t.Context(), driver, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.Execute(w.DriverOf(app, 2), scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// drivers counts an application's driver pods.
func drivers(w *world.World, app *v1beta2.SparkApplication) int {
	w.T.Helper()

	var pods corev1.PodList
	if err := w.API.List(w.T.Context(), &pods, client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: string(app.UID),
			identity.RoleLabel: identity.RoleDriver}); err != nil {
		w.T.Fatal(err)
	}
	return len(pods.Items)
}
