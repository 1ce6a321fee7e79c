package controller_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// BenchmarkPass measures a pass over a running application, with real caches. The pass changes nothing.
func BenchmarkPass(b *testing.B) {
	const executors = 5
	w := world.New(b)
	op := w.RunIdle()
	r := w.Reconciler(op, func(*controller.Options) {})
	app := w.Application("pi", scene.WithDriver,
		func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(executors)) })
	pass := func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: identity.Key(app)})
		return err
	}
	become := func(state v1beta2.ApplicationStateType, holds ...func(*v1beta2.SparkApplication) error) {
		b.Helper()
		kit.Wait(b, fmt.Sprintf("to be %q", state), func(ctx context.Context) error {
			var cached v1beta2.SparkApplication

			if err := pass(ctx); err != nil {
				return err
			}

			if err := op.GetClient().Get(ctx, client.ObjectKeyFromObject(app), &cached); err != nil {
				return err
			}

			for _, hold := range holds {
				if err := hold(&cached); err != nil {
					return err
				}
			}
			return world.Want(cached.Status.AppState.State, state)
		})
	}
	become(v1beta2.ApplicationStateSubmitted)

	driver := w.DriverOf(app, 1)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	w.Ready(driver.Name)
	w.StartExecutors(app, driver, executors)
	become(v1beta2.ApplicationStateRunning, func(cached *v1beta2.SparkApplication) error {
		return world.Want(cached.Status.Executors != nil &&
			*cached.Status.Executors == (v1beta2.ExecutorCounts{Running: executors}), true)
	})
	b.ReportAllocs()

	for b.Loop() {
		if err := pass(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
