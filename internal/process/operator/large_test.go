package operator

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestLargeSpecsAreNotCached checks that the cache keeps no spec of more than trim.MaxSpec bytes. An application with
// such a spec is launched, runs and ends like any other, since the operator reads the whole spec live.
func TestLargeSpecsAreNotCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	op, err := NewOperator(t.Context(), testConfig(w.Namespace), w.environment())
	if err != nil {
		t.Fatal(err)
	}

	w.run(op)
	app := w.Application("large", func(app *v1beta2.SparkApplication) {
		for i := range 600 {
			app.Spec.Driver.Env = append(app.Spec.Driver.Env, corev1.EnvVar{Name: fmt.Sprintf("LARGE_%d", i), Value: fmt.Sprintf("%0100d", i)})
		}
	})
	small := w.Application("small")
	driver := w.runningDriver(app, 1)
	w.runningDriver(small, 1)

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

	w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitState("large", v1beta2.ApplicationStateCompleted)
	w.patchWith(app, `{"spec": {"image": "another"}}`) // a new run, of the edited spec

	if again := w.driverOf(w.Get("large"), 2); again.Spec.Containers[0].Image != "another" || len(again.Spec.Containers[0].Env) < 600 {
		t.Errorf("the driver of the edited application has image %s and %d variables", again.Spec.Containers[0].Image, len(again.Spec.Containers[0].Env))
	}
}
