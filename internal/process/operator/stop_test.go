package operator

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
)

// TestStopsCleanly checks that a driver that is stopping keeps its executors, its Service and its ConfigMaps until it
// has ended.
func TestStopsCleanly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", scene.WithDriver, withBudget)
	driver := w.driverOf(app, 1)
	w.kubelet(driver.Name, corev1.PodRunning, running())
	executor := w.executor(app, driver, 1)
	w.Create(executor)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	w.waitBudgets(app, 1)
	goes := w.TakesItsTime(driver)
	w.suspend("pi", true)
	w.waitState("pi", v1beta2.ApplicationStateSuspending)
	kit.Wait(t, "the deletion of the driver to be requested", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(driver), driver); err != nil || driver.DeletionTimestamp == nil {
			return errors.Join(errors.New("the driver is not being deleted"), err)
		}
		return nil
	})
	w.waitBudgets(app, 0)
	// These edits cause another pass. When it has written its status, it would have deleted the other objects too.
	w.suspend("pi", false)
	w.suspend("pi", true)
	kit.Wait(t, "the second pass", func(context.Context) error {
		return want(w.Get("pi").Status.ObservedGeneration, w.Get("pi").Generation)
	})

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(executor), executor); err != nil || executor.DeletionTimestamp != nil {
		t.Errorf("the executor is deleted before its driver has ended: %v, %v", err, executor.DeletionTimestamp)
	}

	if services, configs := w.mountsOf(app); services == 0 || configs == 0 {
		t.Errorf("%d Services and %d ConfigMaps are left", services, configs)
	}

	w.kubelet(driver.Name, corev1.PodFailed, scene.Exited(143, ""))
	w.WaitGone(executor)
	kit.Wait(t, "the deletion of the remaining objects", func(context.Context) error {
		if services, configs := w.mountsOf(app); services+configs > 0 {
			return fmt.Errorf("%d Services and %d ConfigMaps are left", services, configs)
		}
		return nil
	})
	goes()
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.waitNothingOf(app)
}

// mountsOf returns how many Services and ConfigMaps an application has for its driver. These are all of its ConfigMaps,
// and all of its Services that are not auxiliary objects.
func (w *world) mountsOf(app client.Object) (services, configs int) {
	w.T.Helper()
	var s corev1.ServiceList
	var c corev1.ConfigMapList

	options := []client.ListOption{client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.GetUID())}}
	if err := errors.Join(w.API.List(w.T.Context(), &s, options...), w.API.List(w.T.Context(), &c, options...)); err != nil {
		w.T.Fatal(err)
	}

	for i := range s.Items {
		if !identity.IsAuxiliary(&s.Items[i]) {
			services++
		}
	}
	return services, len(c.Items)
}
