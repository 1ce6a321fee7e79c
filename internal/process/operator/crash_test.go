package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestCrashInALongLife runs the same application many times: it is submitted, suspended, resumed and edited, fails, and
// is retried. In each run the operator crashes before or after a different write, and another process continues. The
// application must never have two drivers at once, start an attempt twice, or count an attempt that did not run.
func TestCrashInALongLife(t *testing.T) {
	t.Parallel()
	forCrashPoints(t, 140, 17, longLife)
}

// longLife runs one application through its life: submission, suspension, resumption, an edit, a failure and a retry.
// The operator crashes at the given point. The result reports whether this point was reached.
func longLife(t *testing.T, crash *crashing) (died bool) {
	w := newWorld(t)
	m := w.startCrashLife(crash, w.runReal)
	app := w.Application("pi", scene.WithDriver, withBudget, onFailure(1))
	m.checkSingle(app, identity.RoleDriver)

	w.attemptRuns(1)
	w.patchPi(`{"spec":{"suspend":true}}`)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.patchPi(`{"spec":{"suspend":false}}`)
	w.attemptRuns(2)
	w.patchPi(`{"spec":{"arguments":["9"]}}`)
	w.attemptRuns(3)
	w.kubelet("pi-driver", corev1.PodFailed, scene.Exited(3, "again"))
	w.attemptRuns(4)
	w.kubelet("pi-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.waitBudgets(app, 0)

	if got.Status.ExecutionAttempts != 2 || got.Status.Operator.Attempt != 4 {
		t.Errorf("%d runs since the edit, the last is attempt %d", got.Status.ExecutionAttempts, got.Status.Operator.Attempt)
	}
	return m.end(4)
}

// attemptRuns plays the kubelet until the status shows that an attempt's driver runs.
func (w *world) attemptRuns(attempt int32) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("attempt %d to run", attempt), func(ctx context.Context) error {
		driver := &corev1.Pod{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: driverName("pi")}, driver); err != nil {
			return err
		}

		if driver.Labels[identity.AttemptLabel] != fmt.Sprint(attempt) {
			return errors.New("the driver belongs to another attempt")
		}

		if driver.DeletionTimestamp == nil && driver.Status.Phase != corev1.PodRunning {
			before := driver.DeepCopy()
			driver.Status.Phase = corev1.PodRunning

			driver.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: overlay.DriverContainer, State: running()}}
			if err := w.API.Status().Patch(ctx, driver, client.MergeFrom(before)); err != nil {
				return err
			}
		}

		status := w.Get("pi").Status
		if status.Operator == nil || status.Operator.Attempt != attempt {
			return errors.New("the status does not show that attempt")
		}
		return want(status.AppState.State, v1beta2.ApplicationStateRunning)
	})
}

// patchPi patches the application named pi.
func (w *world) patchPi(patch string) {
	w.T.Helper()

	app := w.Get("pi")
	if err := w.API.Patch(w.T.Context(), app, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}
