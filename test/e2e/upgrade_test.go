package e2e

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// upgrades upgrades the release and rolls it back while an application runs. After each step `helm test` must run its
// own application with success, and at the end the first application must still be in its first attempt.
func (w *suite) upgrades(t *testing.T) {
	if err := w.LoadSparkctl(t.Context()); err != nil {
		t.Fatal(err)
	}

	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) {
		a.Name = "upgraded"
		a.Spec.MainClass, a.Spec.Arguments = new("dev.sparkoperator.failures.Sleeps"), nil
		a.Spec.MainApplicationFile = "local:///opt/spark/examples/jars/spark-failures.jar"
		a.Spec.Executor.Instances = new(int32(1))
	})
	w.create(t, app)
	w.await(t, app, patience, "a running executor", func(a *v1beta2.SparkApplication) bool {
		return a.Status.Executors != nil && a.Status.Executors.Running > 0
	})
	submission := app.Status.SubmissionID

	chart := root + "/charts/spark-operator"
	for _, step := range []struct {
		name     string
		args     []string
		replicas int32
	}{
		{"installed", nil, 1},
		{"upgraded", []string{"upgrade", cluster.Release, chart, "--reuse-values", "--set", "controller.replicas=2,controller.workers=4"}, 2},
		{"rolled back", []string{"rollback", cluster.Release}, 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.args != nil {
				w.helm(t, append(step.args, "--wait", "--timeout", "3m")...)
			}

			w.helm(t, "test", cluster.Release, "--timeout", "4m")

			var controller appsv1.Deployment
			if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: "spark-operator-controller"}, &controller); err != nil {
				t.Fatal(err)
			}

			if got := controller.Status.ReadyReplicas; got != step.replicas {
				t.Errorf("%d replicas are ready, want %d", got, step.replicas)
			}
		})
	}

	w.await(t, app, patience, "the state RUNNING", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateRunning
	})

	inFirstAttempt(t, app, submission)
	w.remove(t, app)
}

// helm runs Helm in the namespace of the release. A failure has the state of the cluster.
func (w *suite) helm(t *testing.T, args ...string) {
	t.Helper()

	if err := w.Helm(t.Context(), append(args, "--namespace", cluster.Namespace)...); err != nil {
		t.Fatal(fmt.Errorf("%w\n%s", err, w.Diagnose(t.Context())))
	}
}
