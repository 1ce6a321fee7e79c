package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestStopsCleanly checks that a driver that is stopping keeps its executors, its Service and its ConfigMaps until it
// has ended.
func TestStopsCleanly(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.WithBudget)
	driver := w.DriverOf(app, 1)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	executor := w.Executor(app, driver, 1)
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	w.WaitState("pi", v1beta2.ApplicationStateRunning)
	w.WaitBudgets(app, 1)
	goes := w.TakesItsTime(driver)
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspending)
	kit.Wait(t, "the deletion of the driver to be requested", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(driver), driver); err != nil ||
			driver.DeletionTimestamp == nil {
			return errors.Join(errors.New("the driver is not being deleted"), err)
		}
		return nil
	})
	w.WaitBudgets(app, 0)
	// These edits cause another pass. When it has written its status, it would have deleted the other objects too.
	w.Suspend("pi", false)
	w.Suspend("pi", true)
	kit.Wait(t, "the second pass", func(context.Context) error {
		return world.Want(w.Get("pi").Status.ObservedGeneration, w.Get("pi").Generation)
	})

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(executor), executor); err != nil ||
		executor.DeletionTimestamp != nil {
		t.Errorf("the executor is deleted before its driver has ended: %v, %v", err, executor.DeletionTimestamp)
	}

	if services, configs := mountsOf(w, app); services == 0 || configs == 0 {
		t.Errorf("%d Services and %d ConfigMaps are left", services, configs)
	}

	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(143, ""))
	w.WaitGone(executor)
	kit.Wait(t, "the deletion of the remaining objects", func(context.Context) error {
		if services, configs := mountsOf(w, app); services+configs > 0 {
			return fmt.Errorf("%d Services and %d ConfigMaps are left", services, configs)
		}
		return nil
	})
	goes()
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.WaitNothingOf(app)
}

// mountsOf returns how many Services and ConfigMaps an application has for its driver. These are all of its ConfigMaps,
// and all of its Services that are not auxiliary objects.
func mountsOf(w *world.World, app client.Object) (services, configs int) {
	w.T.Helper()
	var s corev1.ServiceList
	var c corev1.ConfigMapList

	options := []client.ListOption{client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: string(app.GetUID())}}
	if err := errors.Join(w.API.List(w.T.Context(), &s, options...),
		w.API.List(w.T.Context(), &c, options...)); err != nil {
		w.T.Fatal(err)
	}

	for i := range s.Items {
		if !identity.IsAuxiliary(&s.Items[i]) {
			services++
		}
	}
	return services, len(c.Items)
}
