package auxiliary_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// hasPorts returns a check that a Service has exactly these ports.
func hasPorts(ports string) func(*corev1.Service) error {
	return func(s *corev1.Service) error { return world.Want(resources.PortsOf(s), ports) }
}

// TestServiceForClientsHasTheirPortAlone checks that a Service for clients, of any type, has only the port for clients.
// Through other ports a client could run code as the server. The web UI has its own Service, which is reachable only
// inside the cluster.
func TestServiceForClientsHasTheirPortAlone(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)

	for i, kind := range []corev1.ServiceType{"", corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer} {
		name := fmt.Sprintf("x%d", i)
		resources.Server(w, name, func(sc *v1alpha1.SparkConnect) {
			sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{
				{Name: "driver-rpc", Port: 7078}, {Name: "x", Port: 443, TargetPort: intstr.FromInt32(7079)},
			}}}
		})
		resources.ServerService(w, name+"-server", hasPorts("spark-connect-server:15002"))
		resources.ServerService(w, name+"-server-ui-svc", hasPorts("web-ui:4040"), func(s *corev1.Service) error {
			return world.Want(s.Spec.Type, corev1.ServiceTypeClusterIP)
		})
	}
}

// TestServiceOfAnOlderOperatorLosesItsPorts checks an upgrade from an operator that gave the Service of a server more
// ports. Afterwards the Service has only the port for clients. The server is not replaced, and the Service keeps its
// address. Executors do not need the removed ports, since they connect to the address of the server's pod.
func TestServiceOfAnOlderOperatorLosesItsPorts(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	pod := resources.ReadyServer(w, resources.Server(w, "x"), 1)
	service := resources.ServerService(w, "x-server")

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

	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	resources.ServerService(w, "x-server", hasPorts("spark-connect-server:15002"), untouchedService(service),
		resources.Selects(pod))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(world.Want(sc.Status.Operator.Attempt, int32(1)),
			world.Want(sc.Status.Executors["running"], 1))
	})

	if uid := resources.UIDOf(w, "x-server"); uid != pod.UID {
		t.Error("the server was replaced")
	}
}
