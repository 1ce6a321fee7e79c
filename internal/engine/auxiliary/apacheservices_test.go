package auxiliary_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// apacheExposed returns a check that the condition Exposed has the given status, and that its message contains a text.
func apacheExposed(status metav1.ConditionStatus, says string) func(*resources.ApacheApp) error {
	return func(app *resources.ApacheApp) error {
		c := meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionExposed)
		if c == nil || c.Status != status || !strings.Contains(c.Message, says) {
			return fmt.Errorf("it is not exposed so: %+v", c)
		}
		return nil
	}
}

// TestApacheServices checks that the operator creates the requested Services and Ingresses beside the driver, that they
// lead to the driver, and that the API server accepts them. They exist as long as the attempt is retained, and
// are deleted when the attempt is released.
func TestApacheServices(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	later := &atomic.Int64{}
	resources.RunApache(w, world.Config(w.Namespace),
		func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	app := resources.CreateApache(w, "pi", resources.WithExposure("pi-ui", "pi-door"),
		resources.WithTolerations(sparkv1.ApplicationTolerations{
			ResourceRetainPolicy: sparkv1.RetainAlways, ResourceRetainDurationMillis: new(time.Hour.Milliseconds()),
		}))
	driver := resources.ReadyDriver(w, app, 1)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy, apacheExposed(metav1.ConditionTrue, ""))

	service, ingress := &corev1.Service{}, &networkingv1.Ingress{}
	for name, object := range map[string]client.Object{"pi-ui": service, "pi-door": ingress} {
		if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object); err != nil {
			t.Fatal(err)
		}
	}

	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(driver.Labels)) ||
		service.Spec.Ports[0].Port != 80 || service.Labels["team"] != "a" {
		t.Errorf("the Service is %+v, the driver has %v", service.Spec, driver.Labels)
	}

	backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if *ingress.Spec.IngressClassName != "nginx" || ingress.Spec.TLS[0].SecretName != "s" || backend.Name != "pi-ui" ||
		backend.Port.Number != 80 {
		t.Errorf("the Ingress is %+v", ingress.Spec)
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationTerminatedWithoutReleaseResources)

	for _, object := range []client.Object{service, ingress} {
		uid := object.GetUID()
		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil ||
			object.GetUID() != uid || object.GetDeletionTimestamp() != nil {
			t.Errorf("%T is not retained: %v", object, err)
		}
	}

	later.Add(int64(2 * time.Hour))
	resources.TriggerApachePass(w, "pi")
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	w.WaitGone(service)
	w.WaitGone(ingress)
}

// TestApacheServicesThatCannotBeCreated checks that an application runs although a Service or Ingress cannot be
// created, and reports the reason: somebody else's object has the name, or the cluster does not serve the kind.
// Once the cluster serves the kind, the operator creates the route as an object of the Gateway API.
func TestApacheServicesThatCannotBeCreated(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "taken"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	w.Create(theirs)

	later := &atomic.Int64{}
	resources.RunApache(w, world.Config(w.Namespace),
		func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	app := resources.CreateApache(w, "pi", resources.WithExposure("taken", "pi-door"), func(app *resources.ApacheApp) {
		app.Spec.DriverGRPCRouteList = []sparkv1.DriverGRPCRoute{{
			ServiceMetadata:   sparkv1.ObjectMetadata{Name: "pi-connect"},
			ServiceSpec:       &runtime.RawExtension{Raw: []byte(`{"ports":[{"port":15002}]}`)},
			GRPCRouteMetadata: sparkv1.ObjectMetadata{Name: "pi-grpc"},
			GRPCRouteSpec:     &runtime.RawExtension{Raw: []byte(`{"parentRefs":[{"name":"g"}]}`)},
		}}
	})
	resources.ReadyDriver(w, app, 1)

	for _, says := range []string{`Service "taken" already exists`, "GRPCRoute pi-grpc: "} {
		resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy, apacheExposed(metav1.ConditionFalse, says))
	}

	after := &corev1.Service{}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(theirs), after); err != nil ||
		after.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("the object was changed: %v", err)
	}

	definition := gatewayDefinition(t, "grpcroutes")
	w.Create(definition)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), definition) })

	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(expose.GRPCRouteKind)
	kit.Wait(t, "the route", func(ctx context.Context) error {
		later.Add(int64(auxiliary.MaxInterval))
		resources.TriggerApachePass(w, "pi")
		return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "pi-grpc"}, route)
	})

	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	if backend := fmt.Sprint(rules); len(rules) != 1 || !strings.Contains(backend, "pi-connect") ||
		!strings.Contains(backend, "15002") || !identity.OwnedBy(route, app.UID) {
		t.Errorf("the route is %v", route.Object["spec"])
	}
}

// TestApacheServicesOfAnotherOperator checks that the Services and Ingresses of an inherited driver stay unchanged and
// count as exposed. The next attempt gets Services and Ingresses of its own.
func TestApacheServicesOfAnotherOperator(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	_, driver := resources.CreateInheritedApache(w,
		resources.LeftApache{Name: "pi", Past: resources.Ran(), Driver: corev1.PodRunning,
			Change: func(app *resources.ApacheApp) {
				resources.WithExposure("pi-ui", "pi-door")(app)
				app.Spec.ApplicationTolerations = &sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartAlways, 3)}
			}})
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID,
		Controller: new(true)}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-ui",
		OwnerReferences: owner}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.Create(service)
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-door",
		OwnerReferences: owner}, Spec: networkingv1.IngressSpec{
		DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "pi-ui",
			Port: networkingv1.ServiceBackendPort{Number: 80}}},
	}}
	w.Create(ingress)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)

	app := resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy, resources.IsTakenOver,
		apacheExposed(metav1.ConditionTrue, ""))
	for _, object := range []client.Object{service, ingress} {
		before := object.GetResourceVersion()
		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil ||
			object.GetResourceVersion() != before {
			t.Errorf("%T was changed: %v", object, err)
		}
		// The test deletes the object as the garbage collector would when the driver is gone.
		if err := w.API.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.ReadyDriver(w, app, 2)
	kit.Wait(t, "a Service of ours", func(ctx context.Context) error {
		resources.TriggerApachePass(w, "pi")

		now := &corev1.Service{}
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(service), now); err != nil {
			return err
		}
		return errors.Join(world.Want(identity.OwnedBy(now, app.UID), true),
			world.Want(now.Spec.Selector["spark-app-selector"], "pi-1"))
	})
}
