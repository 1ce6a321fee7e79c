package auxiliary_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestNothingOutside checks that an application is reachable only inside the cluster if exposure is switched off. The
// operator does not create the Ingress of the application. It creates the Service with the type ClusterIP, and this
// Service selects only the driver, whatever the spec requests. The condition reports this, and the application runs.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Exposure.Enabled = false
	resources.RunApache(w, cfg, time.Now)
	app := resources.CreateApache(w, "pi", resources.WithExposure("pi-ui", "pi-door"), func(app *resources.ApacheApp) {
		app.Spec.DriverServiceIngressList[0].ServiceSpec = &runtime.RawExtension{Raw: []byte(
			`{"type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.0/8"],"selector":{"app":"database"},"ports":[{"port":80,"nodePort":30123}]}`)}
	})
	driver := resources.ReadyDriver(w, app, 1)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy,
		apacheExposed(metav1.ConditionFalse, "exposure.enabled: true"))

	service := &corev1.Service{}
	if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "pi-ui"}, service); err != nil {
		t.Fatal(err)
	}

	if service.Spec.Type != corev1.ServiceTypeClusterIP || service.Spec.Selector["app"] != "" ||
		service.Spec.Selector["spark-role"] != driver.Labels["spark-role"] {
		t.Errorf("the Service is %+v", service.Spec)
	}

	err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "pi-door"}, &networkingv1.Ingress{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the read of the Ingress returns %v", err)
	}
}

// TestSentinelsOfOthers checks a sentinel (a custom resource with which the operator probes itself) in a namespace
// other than the operator's own. The operator neither launches it nor writes to it. Otherwise the health of the
// operator would depend on an object that others can change.
func TestSentinelsOfOthers(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Identity.Namespace = "elsewhere"
	cfg.Apache.Sentinels.Enabled, cfg.Apache.Sentinels.Delay.Duration = true, 10*time.Millisecond

	resources.CreateApache(w, "sentinel", resources.SentinelApp)
	op := w.ApacheOperator(cfg)
	w.Run(op)
	app := resources.CreateApache(w, "pi")
	resources.ReadyDriver(w, app, 1) // a pass after the sentinel's
	op.Sentinels.ProbeAll(t.Context())

	live := resources.GetApache(w, "sentinel")
	if err := errors.Join(world.Want(op.Sentinels.Known(), 0), world.Want(live.Generation, int64(1)),
		world.Want(live.Status.CurrentState == nil, true)); err != nil {
		t.Error(err)
	}
}
