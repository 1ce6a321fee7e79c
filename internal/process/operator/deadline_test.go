package operator

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
)

func timeouts(t v1beta2.Timeouts) func(*v1beta2.SparkApplication) {
	return func(app *v1beta2.SparkApplication) { app.Spec.Timeouts = &t }
}

// TestDeadline checks that an attempt whose driver never starts ends at its deadline and not before, and that the
// driver's wait reason is reported.
func TestDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(2))}))
	driver := w.driverOf(app, 1)
	w.kubelet(driver.Name, corev1.PodPending, waiting("ImagePullBackOff", "not found"))

	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
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
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, timeouts(v1beta2.Timeouts{DriverStartSeconds: new(int64(2))}),
		func(app *v1beta2.SparkApplication) {
			app.Spec.Driver.Template = &runtime.RawExtension{
				Raw: []byte(`{"spec":{"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}],"containers":[]}}`)}
		})
	driver := w.driverOf(app, 1)
	kit.Wait(t, "the gate to be reported", func(context.Context) error {
		ready := condition(w.Get("pi"), "Ready")
		if ready.Reason != lifecycle.ReasonSchedulingGated || !strings.Contains(ready.Message, "kueue.x-k8s.io/admission") {
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

	got := w.waitState("pi", v1beta2.ApplicationStateFailed)
	if says := "the driver did not start within 2s"; !strings.Contains(got.Status.AppState.ErrorMessage, says) {
		t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
	}

	o := got.Status.Operator
	if o.UngatedAt == nil || o.UngatedAt.Before(new(metav1.NewMicroTime(lifted))) || o.EndedAt.Sub(o.UngatedAt.Time) < 2*time.Second {
		t.Errorf("the gate was removed at %s; the operator says at %v, and ended the attempt at %v", lifted, o.UngatedAt, o.EndedAt)
	}
}

// TestRunOnALostNode checks that the deadline of a run ends the run although the node of its driver does not answer.
// The next attempt waits until the driver's pod is gone.
func TestRunOnALostNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, onFailure(1), timeouts(v1beta2.Timeouts{RunSeconds: new(int64(5))}))
	driver := w.driverOf(app, 1)
	w.Bind(driver, "lost")
	w.kubelet(driver.Name, corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	w.kubelet(driver.Name, corev1.PodUnknown, running())
	w.waitState("pi", v1beta2.ApplicationStateUnknown)

	got := w.waitState("pi", v1beta2.ApplicationStateFailing)
	for _, says := range []string{"the run did not end within 5s", "NodeLost"} {
		if !strings.Contains(got.Status.AppState.ErrorMessage, says) {
			t.Errorf("the message does not say %q: %s", says, got.Status.AppState.ErrorMessage)
		}
	}

	if ran := got.Status.Operator.EndedAt.Sub(got.Status.Operator.SubmittedAt.Time); ran < 5*time.Second {
		t.Errorf("the attempt ended %s after the submission", ran)
	}

	w.waitDeleting(driver)

	if n := w.drivers(app); n != 1 {
		t.Fatalf("there are %d drivers although the first may still run", n)
	}

	if err := w.API.Delete(t.Context(), driver, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.execute(w.driverOf(app, 2), scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
}

func (w *world) waitDeleting(pod *corev1.Pod) {
	w.T.Helper()
	kit.Wait(w.T, pod.Name+" to be deleted", func(ctx context.Context) error {
		var now corev1.Pod
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil {
			return err
		}

		if now.DeletionTimestamp == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

// drivers counts an application's driver pods.
func (w *world) drivers(app *v1beta2.SparkApplication) int {
	w.T.Helper()

	var pods corev1.PodList
	if err := w.API.List(w.T.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID), identity.RoleLabel: identity.RoleDriver}); err != nil {
		w.T.Fatal(err)
	}
	return len(pods.Items)
}
