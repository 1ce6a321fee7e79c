package operator

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
)

// TestServersUIFromOutside checks that an Ingress for the server's UI is created on request. A failure of the Ingress
// does not affect the server, and an edit of the Ingress does not replace the server.
func TestServersUIFromOutside(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	cfg := testConfig(w.Namespace)
	cfg.UI.Ingress.Enabled = new(true)
	w.runServers(cfg, clock.now)
	sc := w.server("x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "{{$appName}}.example.com", IngressAnnotations: map[string]string{"a": "b"}}
	})
	pod := w.readyServer(sc, 1)
	var ingresses networkingv1.IngressList
	waitIngress := func(checks ...func(*networkingv1.Ingress) error) *networkingv1.Ingress {
		t.Helper()
		kit.Wait(t, "an Ingress", func(ctx context.Context) error {
			if err := w.API.List(ctx, &ingresses, client.InNamespace(w.Namespace)); err != nil {
				return err
			}

			if err := want(len(ingresses.Items), 1); err != nil {
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
		return func(ingress *networkingv1.Ingress) error { return want(ingress.Spec.Rules[0].Host, name) }
	}
	ingress := waitIngress(host("x.example.com"))

	backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if ref := metav1.GetControllerOf(ingress); ref == nil || ref.UID != sc.UID || backend.Name != "x-server-ui-svc" || ingress.Annotations["a"] != "b" {
		t.Errorf("the Ingress is %+v", ingress)
	}

	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Exposed", metav1.ConditionTrue, "Exposed"),
		func(sc *v1alpha1.SparkConnect) error {
			return want(sc.Status.Server.WebUIAddress, "http://x.example.com")
		})

	w.patchServer("x", `{"spec":{"ui":{"ingressURLFormat":"sql.example.com"}}}`)

	if edited := waitIngress(host("sql.example.com")); edited.UID != ingress.UID {
		t.Error("the Ingress was replaced")
	}

	w.patchServer("x", `{"spec":{"suspend":true}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady, holds("Suspended", metav1.ConditionTrue, "Suspended"))
	waitIngress(func(now *networkingv1.Ingress) error { return want(now.UID, ingress.UID) })
	w.patchServer("x", `{"spec":{"suspend":false}}`)

	next := w.readyServer(sc, 2)
	if next.UID == pod.UID {
		t.Fatal("the server was not replaced")
	}

	w.patchServer("x", `{"spec":{"ui":null}}`)
	kit.Wait(t, "no Ingress", func(ctx context.Context) error {
		return errors.Join(w.API.List(ctx, &ingresses, client.InNamespace(w.Namespace)), want(len(ingresses.Items), 0))
	})
	w.waitServer("x", v1alpha1.SparkConnectStateReady, absent("Exposed"), func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.WebUIAddress, "") })

	if now := w.serverPod(sc, 2); now.UID != next.UID {
		t.Error("the server was replaced")
	}
}

// TestServersUIThatCannotBeReached checks that a problem with the Ingress is reported, and that the server accepts
// sessions all the same.
func TestServersUIThatCannotBeReached(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.UI = &v1alpha1.UIConfiguration{IngressURLFormat: "x.example.com"}
	})
	w.readyServer(sc, 1)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Exposed", metav1.ConditionFalse, "SwitchedOff", "spec.ui.ingressURLFormat"),
		holds("Ready", metav1.ConditionTrue, "Running"))
	w.waitEvent(sc, "SwitchedOff", "spec.ui.ingressURLFormat")
}

// TestPortOfAServerIsEdited checks that an edit of the server's port replaces the server. The Service is not replaced,
// and leads to the port of the new server.
func TestPortOfAServerIsEdited(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	w.readyServer(sc, 1)
	before := w.serverService("x-server")

	clock.advance(time.Second)
	w.patchServer("x", `{"spec":{"sparkConf":{"spark.connect.grpc.binding.port":"15003"}}}`)
	next := w.readyServer(sc, 2)

	after := w.serverService("x-server", selects(next), func(s *corev1.Service) error {
		for _, port := range s.Spec.Ports {
			if port.Port == 15002 {
				return want(port.TargetPort, intstr.FromInt32(15003))
			}
		}
		return errors.New("there is no port 15002")
	})
	if after.UID != before.UID || after.Spec.ClusterIP != before.Spec.ClusterIP {
		t.Errorf("the Service is %+v", after)
	}
}
