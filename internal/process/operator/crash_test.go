package operator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestCrashInALongLife runs the same application many times: it is submitted, suspended, resumed and edited, fails, and
// is retried. In each run the operator crashes before or after a different write, and another process continues. The
// application must never have two drivers at once, start an attempt twice, or count an attempt that did not run.
func TestCrashInALongLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 140, 17, longLife)
}

// longLife runs one application through its life: submission, suspension, resumption, an edit, a failure and a retry.
// The operator crashes at the given point. The result reports whether this point was reached.
func longLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	m := crashrig.StartCrashLife(w, crash, w.RunReal)
	app := w.Application("pi", scene.WithDriver, world.WithBudget, world.OnFailure(1))
	m.CheckSingle(app, identity.RoleDriver)

	attemptRuns(w, 1)
	w.PatchPi(`{"spec":{"suspend":true}}`)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.PatchPi(`{"spec":{"suspend":false}}`)
	attemptRuns(w, 2)
	w.PatchPi(`{"spec":{"arguments":["9"]}}`)
	attemptRuns(w, 3)
	w.Kubelet("pi-driver", corev1.PodFailed, scene.Exited(3, "again"))
	attemptRuns(w, 4)
	w.Kubelet("pi-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.WaitBudgets(app, 0)

	if got.Status.ExecutionAttempts != 2 || got.Status.Operator.Attempt != 4 {
		t.Errorf("%d runs since the edit, the last is attempt %d", got.Status.ExecutionAttempts, got.Status.Operator.Attempt)
	}
	return m.End(4)
}

// attemptRuns plays the kubelet until the status shows that an attempt's driver runs.
func attemptRuns(w *world.World, attempt int32) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("attempt %d to run", attempt), func(ctx context.Context) error {
		driver := &corev1.Pod{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: world.DriverName("pi")}, driver); err != nil {
			return err
		}

		if driver.Labels[identity.AttemptLabel] != fmt.Sprint(attempt) {
			return errors.New("the driver belongs to another attempt")
		}

		if driver.DeletionTimestamp == nil && driver.Status.Phase != corev1.PodRunning {
			before := driver.DeepCopy()
			driver.Status.Phase = corev1.PodRunning

			driver.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: overlay.DriverContainer, State: world.Running()}}
			if err := w.API.Status().Patch(ctx, driver, client.MergeFrom(before)); err != nil {
				return err
			}
		}

		status := w.Get("pi").Status
		if status.Operator == nil || status.Operator.Attempt != attempt {
			return errors.New("the status does not show that attempt")
		}
		return world.Want(status.AppState.State, v1beta2.ApplicationStateRunning)
	})
}
