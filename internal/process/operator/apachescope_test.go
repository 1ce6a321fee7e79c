package operator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestApacheRelabelled checks a running application whose labels are edited so that the operator's label selector does
// not match any more. The operator then does not change the application. When the selector matches again, the
// application continues from its previous state. The selector applies to the labels of applications only: the driver
// pod never has such labels, and the operator finds the pod nevertheless.
func TestApacheRelabelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Apache.LabelSelector = "team in (a, b), !closed"
	w.runApache(cfg, time.Now)
	app := w.apacheApp("pi", func(app *apacheApp) { app.Labels = map[string]string{"team": "b"} })

	driver := w.apacheDriver(app, 1)
	if _, found := driver.Labels["team"]; found {
		t.Fatal("the driver pod has the label that the selector selects, so the test would prove nothing")
	}

	w.ready(driver.Name)
	w.waitApache("pi", sparkv1.ApplicationRunningHealthy)

	w.patchApache("pi", `{"metadata":{"labels":{"closed":"yes"}}}`)
	before := w.getApache("pi")
	w.kubelet(driver.Name, corev1.PodRunning, scene.Exited(0, ""))
	// When the operator has launched another application, it would also have acted on the first one.
	w.apacheDriver(w.apacheApp("later", func(app *apacheApp) { app.Labels = map[string]string{"team": "a"} }), 1)

	if diff := cmp.Diff(before.Status, w.getApache("pi").Status); diff != "" {
		t.Errorf("the status was changed (-before +now):\n%s", diff)
	}

	w.patchApache("pi", `{"metadata":{"labels":{"closed":null}}}`)
	checkHistory(t, w.waitApache("pi", sparkv1.ApplicationResourceReleased), ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
}

// TestApacheNamespacesChangeLive checks that the list of namespaces in the dynamic configuration also decides which
// namespaces are served for SparkApplications of spark.apache.org.
func TestApacheNamespacesChangeLive(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	cfg := testConfig(a.Namespace)
	cfg.DynamicConfig.Enabled, cfg.DynamicConfig.Namespace = true, a.Namespace
	waiting := b.apacheApp("waiting")
	op := a.apacheOperator(cfg)
	a.run(op)
	a.apacheDriver(a.apacheApp("first"), 1)

	if got := b.getApache("waiting"); got.ResourceVersion != waiting.ResourceVersion {
		t.Errorf("the application was changed: %+v", got.Status)
	}

	a.Create(a.dynamicConfigMap("dynamic", map[string]string{propertyNamespaces: b.Namespace}))
	b.apacheDriver(waiting, 1)

	late := a.apacheApp("late")
	b.apacheDriver(b.apacheApp("also"), 1)

	if got := a.getApache("late"); got.ResourceVersion != late.ResourceVersion {
		t.Errorf("an application in a namespace that is no longer served was changed: %+v", got.Status)
	}
}
