package operator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestLargeSpecsAreNotCached checks that the cache keeps no spec of more than trim.MaxSpec bytes. An application with
// such a spec is launched, runs and ends like any other, since the operator reads the whole spec live.
func TestLargeSpecsAreNotCached(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	op, err := operator.NewOperator(t.Context(), world.Config(w.Namespace), w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	w.Run(op)
	app := w.Application("large", func(app *v1beta2.SparkApplication) {
		for i := range 600 {
			app.Spec.Driver.Env = append(app.Spec.Driver.Env, corev1.EnvVar{Name: fmt.Sprintf("LARGE_%d", i), Value: fmt.Sprintf("%0100d", i)})
		}
	})
	small := w.Application("small")
	driver := w.RunningDriver(app, 1)
	w.RunningDriver(small, 1)

	if n := len(driver.Spec.Containers[0].Env); n < 600 {
		t.Errorf("the driver has %d variables", n)
	}

	for name, kept := range map[string]bool{"large": false, "small": true} {
		var cached v1beta2.SparkApplication
		if err := op.GetClient().Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &cached); err != nil {
			t.Fatal(err)
		}

		if (cached.Spec.Image != nil) != kept {
			t.Errorf("the cache has %d bytes of the spec of %s", cached.SpecBytes, name)
		}
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState("large", v1beta2.ApplicationStateCompleted)
	w.PatchWith(app, `{"spec": {"image": "another"}}`) // a new run, of the edited spec

	if again := w.DriverOf(w.Get("large"), 2); again.Spec.Containers[0].Image != "another" || len(again.Spec.Containers[0].Env) < 600 {
		t.Errorf("the driver of the edited application has image %s and %d variables", again.Spec.Containers[0].Image, len(again.Spec.Containers[0].Env))
	}
}
