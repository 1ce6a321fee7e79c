package observe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorsThatComeAndGoBetweenPasses checks that the status counts and names executors that no pass has found:
// they were created, ran and were deleted while a pass waited for its status write. Each executor is counted once.
func TestExecutorsThatComeAndGoBetweenPasses(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	slow := &gatedStatus{hold: make(chan struct{}), held: make(chan struct{}), gates: make(chan struct{}, 1)}
	w.RunReal(func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { slow.Client = c; return slow }
	})
	app := w.Application("pi", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(5)) })
	driver := w.DriverOf(app, 1)
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	slow.gate() // blocks the status write that reports the running driver
	w.Ready(driver.Name)
	<-slow.held

	for id := 1; id <= 5; id++ {
		executor := w.Executor(app, driver, id)
		w.Create(executor)
		w.Kubelet(executor.Name, corev1.PodRunning, world.Running())

		if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}

		w.WaitGone(executor)
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	// An executor that is deleted while its driver runs would count as failed. Wait until the cache shows the driver's
	// end.
	kit.Wait(t, "the cache to show the end of the driver", func(ctx context.Context) error {
		var cached corev1.Pod
		return errors.Join(slow.Client.Get(ctx, client.ObjectKeyFromObject(driver), &cached),
			world.Want(cached.Status.Phase, corev1.PodSucceeded))
	})
	close(slow.hold)
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	kit.Wait(t, "the executors", func(context.Context) error {
		status := w.Get("pi").Status
		if diff := cmp.Diff(&v1beta2.ExecutorCounts{Completed: 5}, status.Executors); diff != "" ||
			len(status.ExecutorState) != 5 {
			return fmt.Errorf("%v: %s", status.ExecutorState, diff)
		}
		return nil
	})

	if writes := w.Metric("sparkoperator_status_writes_total"); writes > 4 {
		t.Errorf("%v status writes", writes)
	}
}

// TestFailedExecutorDeletedBetweenPasses checks that an executor that failed and was deleted between two passes counts
// as failed exactly once, and that its failure is reported.
func TestFailedExecutorDeletedBetweenPasses(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	slow := &gatedStatus{hold: make(chan struct{}), held: make(chan struct{}), gates: make(chan struct{}, 1)}
	w.RunReal(func(env *operator.Environment) {
		env.Wrap = func(c client.Client) client.Client { slow.Client = c; return slow }
	})
	app := w.Application("pi", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(2)) })

	driver := w.RunningDriver(app, 1)
	for id := 1; id <= 2; id++ {
		executor := w.Executor(app, driver, id)
		w.Create(executor)
		w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	}

	counts := func(want v1beta2.ExecutorCounts) {
		t.Helper()
		kit.Wait(t, fmt.Sprintf("%+v executors", want), func(context.Context) error {
			got := w.Get("pi").Status.Executors
			if got == nil || *got != want {
				return fmt.Errorf("they are %+v", got)
			}
			return nil
		})
	}
	counts(v1beta2.ExecutorCounts{Running: 2})

	// The arrival of a third executor causes a slow status write.
	slow.gate()
	w.Create(w.Executor(app, driver, 3))
	<-slow.held

	gone := w.Executor(app, driver, 1)
	w.Kubelet(gone.Name, corev1.PodFailed, scene.Exited(7, "boom"))

	if err := w.API.Delete(t.Context(), gone, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(gone)
	close(slow.hold)
	counts(v1beta2.ExecutorCounts{Running: 1, Pending: 1, Failed: 1})
	w.WaitEvent(app, "SparkExecutorFailed", gone.Name, "exit code 7")

	// Later passes do not count the failed executor again.
	w.Kubelet("pi-exec-3", corev1.PodRunning, world.Running())
	counts(v1beta2.ExecutorCounts{Running: 2, Failed: 1})
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if got.Status.ExecutorState[gone.Name] != v1beta2.ExecutorStateFailed || got.Status.Executors.Failed != 1 {
		t.Errorf("in the end %+v, %v", got.Status.Executors, got.Status.ExecutorState)
	}
	// Executors that completed caused no events.
	for reason, message := range w.EventsOf(app) {
		if strings.Contains(reason, "Executor") &&
			(reason != "SparkExecutorFailed" || strings.Contains(message, "\n")) {
			t.Errorf("event %s: %s", reason, message)
		}
	}
}

// gatedStatus is a client that can block a status write. After a call of the method gate, the next status write waits
// until the test closes the channel hold.
type gatedStatus struct {
	client.Client
	hold, held chan struct{}
	gates      chan struct{}
}

func (c *gatedStatus) gate() { c.gates <- struct{}{} }

func (c *gatedStatus) Status() client.SubResourceWriter { return gatedWriter{c.Client.Status(), c} }

type gatedWriter struct {
	client.SubResourceWriter
	status *gatedStatus
}

func (g gatedWriter) Patch(ctx context.Context, object client.Object, patch client.Patch,
	options ...client.SubResourcePatchOption) error {
	select {
	case <-g.status.gates:
		close(g.status.held)

		select {
		case <-g.status.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
	}
	return g.SubResourceWriter.Patch(ctx, object, patch, options...)
}
