package auxiliary_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestServersUIFromOutside checks that an Ingress for the server's UI is created on request. A failure of the Ingress
// does not affect the server, and an edit of the Ingress does not replace the server.
func TestServersUIFromOutside(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	cfg := world.Config(w.Namespace)
	cfg.UI.Ingress.Enabled = new(true)
	resources.RunServers(w, cfg, clock.Now)
	sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "{{$appName}}.example.com",
			IngressAnnotations: map[string]string{"a": "b"}}
	})
	pod := resources.ReadyServer(w, sc, 1)
	var ingresses networkingv1.IngressList
	waitIngress := func(checks ...func(*networkingv1.Ingress) error) *networkingv1.Ingress {
		t.Helper()
		kit.Wait(t, "an Ingress", func(ctx context.Context) error {
			if err := w.API.List(ctx, &ingresses, client.InNamespace(w.Namespace)); err != nil {
				return err
			}

			if err := world.Want(len(ingresses.Items), 1); err != nil {
				return err
			}

			for _, check := range checks {
				if err := check(&ingresses.Items[0]); err != nil {
					return err
				}
			}
			return nil
		})
		return &ingresses.Items[0]
	}
	host := func(name string) func(*networkingv1.Ingress) error {
		return func(ingress *networkingv1.Ingress) error { return world.Want(ingress.Spec.Rules[0].Host, name) }
	}
	ingress := waitIngress(host("x.example.com"))

	backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if ref := metav1.GetControllerOf(ingress); ref == nil || ref.UID != sc.UID || backend.Name != "x-server-ui-svc" ||
		ingress.Annotations["a"] != "b" {
		t.Errorf("the Ingress is %+v", ingress)
	}

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Exposed", metav1.ConditionTrue, "Exposed"),
		func(sc *v1alpha1.SparkConnect) error {
			return world.Want(sc.Status.Server.WebUIAddress, "http://x.example.com")
		})

	resources.PatchServer(w, "x", `{"spec":{"ui":{"ingressURLFormat":"sql.example.com"}}}`)

	if edited := waitIngress(host("sql.example.com")); edited.UID != ingress.UID {
		t.Error("the Ingress was replaced")
	}

	resources.PatchServer(w, "x", `{"spec":{"suspend":true}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateNotReady,
		resources.Holds("Suspended", metav1.ConditionTrue, "Suspended"))
	waitIngress(func(now *networkingv1.Ingress) error { return world.Want(now.UID, ingress.UID) })
	resources.PatchServer(w, "x", `{"spec":{"suspend":false}}`)

	next := resources.ReadyServer(w, sc, 2)
	if next.UID == pod.UID {
		t.Fatal("the server was not replaced")
	}

	resources.PatchServer(w, "x", `{"spec":{"ui":null}}`)
	kit.Wait(t, "no Ingress", func(ctx context.Context) error {
		return errors.Join(w.API.List(ctx, &ingresses, client.InNamespace(w.Namespace)),
			world.Want(len(ingresses.Items), 0))
	})
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, resources.Absent("Exposed"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.WebUIAddress, "") })

	if now := resources.ServerPod(w, sc, 2); now.UID != next.UID {
		t.Error("the server was replaced")
	}
}

// TestServersUIThatCannotBeReached checks that a problem with the Ingress is reported, and that the server accepts
// sessions all the same.
func TestServersUIThatCannotBeReached(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "x.example.com"}
	})
	resources.ReadyServer(w, sc, 1)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Exposed", metav1.ConditionFalse, "SwitchedOff", "spec.ui.ingressURLFormat"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"))
	w.WaitEvent(sc, "SwitchedOff", "spec.ui.ingressURLFormat")
}

// TestPortOfAServerIsEdited checks that an edit of the server's port replaces the server. The Service is not replaced,
// and leads to the port of the new server.
func TestPortOfAServerIsEdited(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	resources.ReadyServer(w, sc, 1)
	before := resources.ServerService(w, "x-server")

	clock.Advance(time.Second)
	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.connect.grpc.binding.port":"15003"}}}`)
	next := resources.ReadyServer(w, sc, 2)

	after := resources.ServerService(w, "x-server", resources.Selects(next), func(s *corev1.Service) error {
		for _, port := range s.Spec.Ports {
			if port.Port == 15002 {
				return world.Want(port.TargetPort, intstr.FromInt32(15003))
			}
		}
		return errors.New("there is no port 15002")
	})
	if after.UID != before.UID || after.Spec.ClusterIP != before.Spec.ClusterIP {
		t.Errorf("the Service is %+v", after)
	}
}
