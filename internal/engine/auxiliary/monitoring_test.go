package auxiliary_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// monitored configures the JMX exporter in the driver and the executors.
func monitored(app *v1beta2.SparkApplication) {
	app.Spec.Monitoring = &v1beta2.MonitoringSpec{
		ExposeDriverMetrics: true, ExposeExecutorMetrics: true,
		Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/a.jar"},
	}
}

// TestMetricsConfigMapGoesWithItsAttempt checks that every attempt creates its own metrics ConfigMap, and does not use
// the ConfigMap of the previous attempt. The ConfigMaps of all attempts have the same name.
func TestMetricsConfigMapGoesWithItsAttempt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, world.OnFailure(1), monitored)
	config := func() *corev1.ConfigMap {
		var config corev1.ConfigMap
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "pi-prom-conf"},
			&config); err != nil {
			t.Fatal(err)
		}
		return &config
	}
	driver := w.DriverOf(app, 1)

	first := config()
	if identity.Attempt(first) != 1 || len(first.Data) != 2 {
		t.Errorf("the ConfigMap of the first attempt is %+v", first)
	}
	// The operator itself creates the pod with this mount. Other operators need a webhook for that.
	at := len(driver.Spec.Containers) - 1

	var mounts []string
	for _, m := range driver.Spec.Containers[at].VolumeMounts {
		if m.Name == "pi-prom-conf-vol" {
			mounts = append(mounts, m.MountPath)
		}
	}

	if diff := cmp.Diff([]string{"/etc/metrics/conf"}, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}

	w.Execute(driver, scene.Exited(1, "again"))
	second := w.DriverOf(app, 2)

	if again := config(); identity.Attempt(again) != 2 || again.UID == first.UID {
		t.Errorf("the ConfigMap of the second attempt is %+v", again.ObjectMeta)
	}

	w.Execute(second, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
}

// TestMetricsConfigMapOfSomebodyElse checks that somebody else's ConfigMap that has the name of an application's
// metrics ConfigMap stays unchanged. The application fails, and the message says that the ConfigMap does not belong to
// the application.
func TestMetricsConfigMapOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()

	theirs := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}

	theirs.Namespace, theirs.Name = w.Namespace, "pi-prom-conf"
	if err := w.API.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	w.Application("pi", scene.WithDriver, monitored)

	got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
	if message := got.Status.AppState.ErrorMessage; !strings.Contains(message, `"pi-prom-conf"`) ||
		!strings.Contains(message, "does not belong") {
		t.Errorf("errorMessage is %q", message)
	}

	var now corev1.ConfigMap
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), &now); err != nil || now.UID != theirs.UID ||
		len(now.Data) != 1 {
		t.Errorf("somebody else's ConfigMap is %v: %v", now.Data, err)
	}
}
