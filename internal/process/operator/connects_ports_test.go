package operator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// portsOf returns the names and numbers of a Service's ports as a text.
func portsOf(s *corev1.Service) string {
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d", p.Name, p.Port))
	}
	return strings.Join(ports, " ")
}

// hasPorts returns a check that a Service has exactly these ports.
func hasPorts(ports string) func(*corev1.Service) error {
	return func(s *corev1.Service) error { return want(portsOf(s), ports) }
}

// TestServiceForClientsHasTheirPortAlone checks that a Service for clients, of any type, has only the port for clients.
// Through other ports a client could run code as the server. The web UI has its own Service, which is reachable only
// inside the cluster.
func TestServiceForClientsHasTheirPortAlone(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)

	for i, kind := range []corev1.ServiceType{"", corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer} {
		name := fmt.Sprintf("x%d", i)
		w.server(name, func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{
				{Name: "driver-rpc", Port: 7078}, {Name: "x", Port: 443, TargetPort: intstr.FromInt32(7079)},
			}}}
		})
		w.serverService(name+"-server", hasPorts("spark-connect-server:15002"))
		w.serverService(name+"-server-ui-svc", hasPorts("web-ui:4040"), func(s *corev1.Service) error {
			return want(s.Spec.Type, corev1.ServiceTypeClusterIP)
		})
	}
}

// TestServiceOfAnOlderOperatorLosesItsPorts checks an upgrade from an operator that gave the Service of a server more
// ports. Afterwards the Service has only the port for clients. The server is not replaced, and the Service keeps its
// address. Executors do not need the removed ports, since they connect to the address of the server's pod.
func TestServiceOfAnOlderOperatorLosesItsPorts(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	stop := w.runServers(testConfig(w.Namespace), clock.now)
	pod := w.readyServer(w.server("x"), 1)
	service := w.serverService("x-server")

	stop()

	old := service.DeepCopy()
	old.Labels["sparkoperator.dev/content"] = "of-an-older-operator"

	old.Spec.Ports = []corev1.ServicePort{
		{Name: "driver-rpc", Port: 7078, TargetPort: intstr.FromInt32(7078), AppProtocol: new("tcp")},
		{Name: "blockmanager", Port: 7079, TargetPort: intstr.FromInt32(7079), AppProtocol: new("tcp")},
		{Name: "web-ui", Port: 4040, TargetPort: intstr.FromInt32(4040), AppProtocol: new("http")},
		{Name: "spark-connect-server", Port: 15002, TargetPort: intstr.FromInt32(15002), AppProtocol: new("grpc")},
	}
	if err := w.API.Update(t.Context(), old, client.FieldOwner(identity.FieldOwner)); err != nil {
		t.Fatal(err)
	}

	w.runServers(testConfig(w.Namespace), clock.now)
	w.serverService("x-server", hasPorts("spark-connect-server:15002"), untouchedService(service), selects(pod))
	w.waitServer("x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(want(sc.Status.Operator.Attempt, int32(1)), want(sc.Status.Executors["running"], 1))
	})

	if uid := w.uidOf("x-server"); uid != pod.UID {
		t.Error("the server was replaced")
	}
}
