package apply_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// recreate deletes an application whose driver stops slowly, and at once creates and returns another application with
// the same name. The driver of the deleted application stops when the test calls the returned function.
func recreate(w *world.World, change ...func(*v1beta2.SparkApplication)) (app *v1beta2.SparkApplication, stop func()) {
	w.T.Helper()
	first := w.Application("pi", scene.WithDriver)
	driver := w.RunningDriver(first, 1)

	stop = w.TakesItsTime(driver)
	if err := w.API.Delete(w.T.Context(), first); err != nil {
		w.T.Fatal(err)
	}

	w.WaitGone(first)
	return w.Application("pi", append(change, scene.WithDriver)...), stop
}

// TestRecreatedApplication checks an application that is created just after an older application with the same name was
// deleted, as by kubectl delete and apply, or by kubectl replace --force. The new application waits until the objects
// of the older application are gone, reports this wait, and then runs.
func TestRecreatedApplication(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app, goes := recreate(w)
	kit.Wait(t, "the wait to be reported", func(context.Context) error {
		got := w.Get("pi")

		ready, reported := world.Condition(got, "Ready"), w.EventsOf(app)[dependents.ReasonNameTaken]
		if ready.Reason != dependents.ReasonNameTaken || !strings.Contains(ready.Message, world.DriverName("pi")) ||
			!strings.Contains(reported, "same name") {
			return fmt.Errorf("Ready is %+v, the event %q", ready, reported)
		}
		return world.Want(got.Status.AppState.State, "")
	})
	goes()
	w.Execute(w.DriverOf(app, 1), scene.Exited(0, ""))

	if got := w.WaitState("pi", v1beta2.ApplicationStateCompleted); got.Status.SubmissionAttempts != 1 {
		t.Errorf("%d submissions", got.Status.SubmissionAttempts)
	}
}

// TestRecreatedApplicationIsBounded checks that an application waits for the objects of a deleted application with the
// same name at most as long as a driver may take to start. Then the new application fails.
func TestRecreatedApplicationIsBounded(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	_, _ = recreate(w, func(app *v1beta2.SparkApplication) {
		app.Spec.Timeouts = &v1beta2.Timeouts{DriverStartSeconds: new(int64(4))}
	})

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if c := world.Condition(got, "Failed"); c.Reason != lifecycle.ReasonStartTimedOut ||
		!strings.Contains(c.Message, world.DriverName("pi")) {
		t.Errorf("Failed is %+v", c)
	}
}
