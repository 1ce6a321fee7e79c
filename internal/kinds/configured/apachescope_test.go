package configured_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestApacheRelabelled checks a running application whose labels are edited so that the operator's label selector does
// not match any more. The operator then does not change the application. When the selector matches again, the
// application continues from its previous state. The selector applies to the labels of applications only: the driver
// pod never has such labels, and the operator finds the pod nevertheless.
func TestApacheRelabelled(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Apache.LabelSelector = "team in (a, b), !closed"
	resources.RunApache(w, cfg, time.Now)
	app := resources.CreateApache(w, "pi",
		func(app *resources.ApacheApp) { app.Labels = map[string]string{"team": "b"} })

	driver := resources.ApacheDriver(w, app, 1)
	if _, found := driver.Labels["team"]; found {
		t.Fatal("the driver pod has the label that the selector selects, so the test would prove nothing")
	}

	w.Ready(driver.Name)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)

	resources.PatchApache(w, "pi", `{"metadata":{"labels":{"closed":"yes"}}}`)
	before := resources.GetApache(w, "pi")
	w.Kubelet(driver.Name, corev1.PodRunning, scene.Exited(0, ""))
	// When the operator has launched another application, it would also have acted on the first one.
	resources.ApacheDriver(w, resources.CreateApache(w, "later",
		func(app *resources.ApacheApp) { app.Labels = map[string]string{"team": "a"} }), 1)

	if diff := cmp.Diff(before.Status, resources.GetApache(w, "pi").Status); diff != "" {
		t.Errorf("the status was changed (-before +now):\n%s", diff)
	}

	resources.PatchApache(w, "pi", `{"metadata":{"labels":{"closed":null}}}`)
	checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased),
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
}

// TestApacheNamespacesChangeLive checks that the list of namespaces in the dynamic configuration also decides which
// namespaces are served for SparkApplications of spark.apache.org.
func TestApacheNamespacesChangeLive(t *testing.T) {
	t.Parallel()
	a, b := world.New(t), world.New(t)
	cfg := world.Config(a.Namespace)
	cfg.DynamicConfig.Enabled, cfg.DynamicConfig.Namespace = true, a.Namespace
	waiting := resources.CreateApache(b, "waiting")
	op := a.ApacheOperator(cfg)
	a.Run(op)
	resources.ApacheDriver(a, resources.CreateApache(a, "first"), 1)

	if got := resources.GetApache(b, "waiting"); got.ResourceVersion != waiting.ResourceVersion {
		t.Errorf("the application was changed: %+v", got.Status)
	}

	a.Create(a.DynamicConfigMap("dynamic", map[string]string{world.PropertyNamespaces: b.Namespace}))
	resources.ApacheDriver(b, waiting, 1)

	late := resources.CreateApache(a, "late")
	resources.ApacheDriver(b, resources.CreateApache(b, "also"), 1)

	if got := resources.GetApache(a, "late"); got.ResourceVersion != late.ResourceVersion {
		t.Errorf("an application in a namespace that is no longer served was changed: %+v", got.Status)
	}
}
