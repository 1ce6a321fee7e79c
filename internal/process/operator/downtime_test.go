package operator_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestEditWhileNoOperatorRuns checks edits that were made while no operator ran. The next operator finds an edit of the
// arguments by the hash in the status, and starts exactly one new run. An edit of labels and of timeToLiveSeconds
// starts no new run.
func TestEditWhileNoOperatorRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	stop := w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	first := w.RunningDriver(app, 1)

	stop()
	w.Patch("pi", `{"metadata":{"labels":{"team":"b"}},"spec":{"timeToLiveSeconds":3600}}`)
	stop = w.RunReal()
	kit.Wait(t, "a pass over the edit that restarts nothing", func(context.Context) error {
		now := w.Get("pi")
		return world.Want(now.Status.ObservedGeneration, now.Generation)
	})
	stop()

	if got := w.DriverOf(app, 1); got.UID != first.UID || got.DeletionTimestamp != nil {
		t.Fatal("the edit of timeToLiveSeconds has replaced the run")
	}

	w.Patch("pi", `{"spec":{"arguments":["100"]}}`)
	stop = w.RunReal()

	second := w.DriverOf(app, 2)
	if !strings.Contains(strings.Join(second.Spec.Containers[0].Args, " "), "100") {
		t.Errorf("the new driver's arguments are %q", second.Spec.Containers[0].Args)
	}

	stop()
	w.RunReal()
	w.Execute(second, scene.Exited(0, ""))

	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.Operator.Attempt != 2 || got.Status.ExecutionAttempts != 1 {
		t.Errorf("attempt %d, %d runs since the edit; want 2 and 1", got.Status.Operator.Attempt, got.Status.ExecutionAttempts)
	}
}

// TestForeignPodOfTheDriversName checks a pod of somebody else that got the driver's name while no operator ran. The
// operator does not take this pod for the driver. It neither deletes nor adopts the pod, whether the application is
// suspended, resumed, edited or deleted.
func TestForeignPodOfTheDriversName(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	stop := w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.RunningDriver(app, 1)

	stop()

	if err := w.API.Delete(t.Context(), driver, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(driver)
	foreign := scene.ForeignPod(w.Namespace, driver.Name)
	w.Create(foreign)

	untouched := func(when string) {
		t.Helper()

		now := &corev1.Pod{}

		err := w.API.Get(t.Context(), client.ObjectKeyFromObject(foreign), now)
		if err != nil || now.UID != foreign.UID || now.DeletionTimestamp != nil {
			t.Fatalf("%s: somebody else's pod was changed: %v", when, err)
		}
	}

	w.Suspend("pi", true)
	w.RunReal()
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	untouched("suspended")

	for _, edit := range []string{`{"spec":{"suspend":false}}`, `{"spec":{"arguments":["100"]}}`} {
		w.Patch("pi", edit)
		kit.Wait(t, edit+" to fail because the name is taken", func(context.Context) error {
			now := w.Get("pi")
			if err := world.Want(now.Status.ObservedGeneration, now.Generation); err != nil {
				return err
			}

			if err := world.Want(now.Status.AppState.State, v1beta2.ApplicationStateFailed); err != nil {
				return err
			}
			return world.Want(strings.Contains(now.Status.AppState.ErrorMessage, foreign.Name), true)
		})
		untouched(edit)
	}

	w.Patch("pi", `{"spec":{"suspend":true}}`)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitNothingOf(app)
	untouched("deleted")
}
