package connect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func service(t *testing.T, r Request, base *corev1.Service) *corev1.Service {
	t.Helper()

	s, err := Service(r, base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestService(t *testing.T) {
	want := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "sc-server", Namespace: "ns", Labels: map[string]string{"example.org/of": "sc"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Connect", Name: "sc",
				UID: "uid-1", Controller: new(true)}},
		},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"example.org/server": "sc", "spark-role": "connect-server"},
			Ports: []corev1.ServicePort{
				{Name: "spark-connect-server", Protocol: "TCP", AppProtocol: new("grpc"), Port: 15002,
					TargetPort: intstr.FromInt32(15002)},
			},
		},
	}
	if diff := cmp.Diff(want, service(t, minimal(), nil)); diff != "" {
		t.Errorf("the Service (-want +got):\n%s", diff)
	}
}

// TestTheServiceFindsTheNextServer checks that the Service selects the pod. It also checks that the Service stays the
// same if the attempt, the version or other properties of the pod change.
func TestTheServiceFindsTheNextServer(t *testing.T) {
	first, next := minimal(), full()
	next.SparkVersion, next.Labels["example.org/attempt"] = "4.3.0", "4"
	next.Conf.Delete("spark.ui.port", "spark.connect.grpc.binding.port")

	s := service(t, first, nil)
	if diff := cmp.Diff(s, service(t, next, nil)); diff != "" {
		t.Errorf("the Service changes (-first +next):\n%s", diff)
	}

	for _, r := range []Request{first, next} {
		labels := build(t, r).Server.Labels
		for key, value := range s.Spec.Selector {
			if labels[key] != value {
				t.Errorf("the pod has %s=%q, the Service selects %q", key, labels[key], value)
			}
		}
	}
}

func TestServiceOfTheUser(t *testing.T) {
	base := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "mine", Namespace: "elsewhere", UID: "u", ResourceVersion: "1", Finalizers: []string{"f"},
			Labels: map[string]string{"a": "1", "example.org/of": "x"}, Annotations: map[string]string{"b": "2"},
			OwnerReferences: []metav1.OwnerReference{{UID: "theirs"}},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new("c"),
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, ClusterIP: "10.1.2.3",
			Selector: map[string]string{"app": "mine"}, SessionAffinity: corev1.ServiceAffinityClientIP,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "1.1.1.1"}}}},
	}
	before := base.DeepCopy()

	got := service(t, minimal(), base)
	if diff := cmp.Diff(before, base); diff != "" {
		t.Errorf("the user's Service has changed (-want +got):\n%s", diff)
	}

	want := service(t, minimal(), nil)
	want.Name = "mine"
	want.Labels["a"], want.Annotations = "1", map[string]string{"b": "2"}
	ports, selector := want.Spec.Ports, want.Spec.Selector
	want.Spec = before.Spec

	want.Spec.Ports, want.Spec.Selector = ports, selector
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Service (-want +got):\n%s", diff)
	}
}

func TestPortsOfTheUsersService(t *testing.T) {
	const ours = "spark-connect-server:15002"
	for name, c := range map[string]struct {
		ports []corev1.ServicePort
		want  string
	}{
		"no base": {nil, ours},
		"the ports of the kubeflow operator": {[]corev1.ServicePort{
			{Name: "driver-rpc", Port: 7078}, {Name: "blockmanager", Port: 7079},
			{Name: "spark-connect-server", Port: 15002},
		}, ours},
		"to the RPC port by another number": {[]corev1.ServicePort{{Name: "x", Port: 443,
			TargetPort: intstr.FromInt32(7078)}}, ours},
		"to the block manager by its name": {[]corev1.ServicePort{{Name: "x", Port: 443,
			TargetPort: intstr.FromString("blockmanager")}}, ours},
		"to the RPC port without a target": {[]corev1.ServicePort{{Port: 7078}}, ours},
		"the RPC port's number with another target": {[]corev1.ServicePort{{Name: "x", Port: 7078,
			TargetPort: intstr.FromInt32(9000)}}, ours + " x:7078>9000"},
		"the RPC port's number, but for UDP": {[]corev1.ServicePort{{Name: "x", Port: 7078, Protocol: "UDP"}},
			ours + " x:7078"},
		"a port of the web UI that the user adds": {[]corev1.ServicePort{{Name: "web-ui", Port: 4040}},
			ours + " web-ui:4040"},
		"another port": {[]corev1.ServicePort{{Name: "jmx", Port: 8090, TargetPort: intstr.FromString("jmx"),
			NodePort: 30000, AppProtocol: new("http")}},
			ours + " jmx:8090>jmx@30000"},
		"another port without a name": {[]corev1.ServicePort{{Port: 8090}}, ours + " tcp-8090:8090"},
		"another protocol": {[]corev1.ServicePort{{Port: 4040, Protocol: "UDP"}},
			ours + " udp-4040:4040"},
		"the clients' port by number": {[]corev1.ServicePort{{Name: "grpc", Port: 15002,
			TargetPort: intstr.FromInt32(1), NodePort: 30001}}, ours + "@30001"},
		"the clients' port by name": {[]corev1.ServicePort{{Name: "spark-connect-server", Port: 443,
			NodePort: 30002}}, ours + "@30002"},
		"the clients' port twice": {[]corev1.ServicePort{{Name: "spark-connect-server", Port: 443},
			{Name: "x", Port: 15002, NodePort: 30003}}, ours + "@30003"},
		"the clients' number without a name": {[]corev1.ServicePort{{Port: 15002}}, ours},
		"names and numbers mixed":            {[]corev1.ServicePort{{Name: "web-ui", Port: 15002}}, ours},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(t, minimal(), &corev1.Service{Spec: corev1.ServiceSpec{Ports: c.ports}})

			var got []string
			for _, p := range s.Spec.Ports {
				text := fmt.Sprintf("%s:%d", p.Name, p.Port)
				if target := p.TargetPort.String(); target != fmt.Sprint(p.Port) {
					text += ">" + target
				}

				if p.NodePort != 0 {
					text += fmt.Sprintf("@%d", p.NodePort)
				}

				if p.Protocol == "" {
					t.Errorf("port %s has no protocol", p.Name)
				}

				got = append(got, text)
			}

			if strings.Join(got, " ") != c.want {
				t.Errorf("ports are %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestServiceFollowsTheServersPorts(t *testing.T) {
	r := minimal("spark.driver.port", "1001", "spark.driver.blockManager.port", "1002", "spark.ui.port", "1003",
		"spark.connect.grpc.binding.port", "1004")
	base := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1001},
		{Port: 443, TargetPort: intstr.FromInt32(1002)}}}}

	ui, err := UIService(r, "ui")
	if err != nil {
		t.Fatal(err)
	}

	for want, s := range map[int32]*corev1.Service{1003: ui, 1004: service(t, r, base)} {
		if len(s.Spec.Ports) != 1 || s.Spec.Ports[0].TargetPort != intstr.FromInt32(want) {
			t.Errorf("Service %s has ports %+v, want one that leads to %d", s.Name, s.Spec.Ports, want)
		}
	}

	for i, p := range build(t, r).Server.Spec.Containers[0].Ports {
		if p.ContainerPort != int32(1001+i) {
			t.Errorf("%s of the pod is %d, want %d", p.Name, p.ContainerPort, 1001+i)
		}
	}
}

// TestUIService checks that the web UI's Service selects the same pod as the clients' Service, and that it is never
// reachable from outside the cluster.
func TestUIService(t *testing.T) {
	ui, err := UIService(minimal(), "sc-server-ui-svc")
	if err != nil {
		t.Fatal(err)
	}

	want := service(t, minimal(), nil)
	want.Name, want.Spec.Type = "sc-server-ui-svc", corev1.ServiceTypeClusterIP

	want.Spec.Ports = []corev1.ServicePort{{Name: "web-ui", Protocol: "TCP", AppProtocol: new("http"), Port: 4040,
		TargetPort: intstr.FromInt32(4040)}}
	if diff := cmp.Diff(want, ui); diff != "" {
		t.Errorf("the web UI's Service (-want +got):\n%s", diff)
	}

	if _, err := UIService(minimal("spark.ui.port", "0"), "x"); err == nil {
		t.Error("a web UI at any port has a Service")
	}
}

// TestServiceWarnsOfExposedPorts checks that ServiceWarnings warns about dropped ports, and about a web UI that is
// reachable from outside the cluster.
func TestServiceWarnsOfExposedPorts(t *testing.T) {
	ports := []corev1.ServicePort{{Name: "driver-rpc", Port: 7078},
		{Name: "x", Port: 443, TargetPort: intstr.FromInt32(7079)}, {Name: "web-ui", Port: 4040}}
	for kind, want := range map[corev1.ServiceType]int{"": 2, corev1.ServiceTypeClusterIP: 2,
		corev1.ServiceTypeNodePort: 3, corev1.ServiceTypeLoadBalancer: 3} {
		var texts []string
		for _, w := range ServiceWarnings(minimal(),
			&corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: ports}}) {
			texts = append(texts, w.Text)
		}

		if len(texts) != want || !strings.HasPrefix(texts[0], "spec.ports[0] is left out") ||
			!strings.HasPrefix(texts[1], "spec.ports[1] is left out") ||
			want == 3 && !strings.Contains(texts[2], "spec.ports[2]: a Service of type "+string(kind)) {
			t.Errorf("%q: %q", kind, texts)
		}
	}
}

// TestPortsByName checks that a port of the user's Service does not reach the RPC port or the block manager by a name
// that the template gives to such a port, in any container. Such ports used to be passed on without a warning.
func TestPortsByName(t *testing.T) {
	r := minimal("spark.driver.port", "9000")
	r.ServerTemplate = []byte(`
spec:
  initContainers:
    - {name: proxy, image: proxy, restartPolicy: Always, ports: [{name: native, containerPort: 9000}]}
  containers:
    - {name: spark-kubernetes-driver, ports: [{name: jmx, containerPort: 8090}, {name: rpc, containerPort: 9000}, {name: twice, containerPort: 1}, {name: udp, containerPort: 7079, protocol: UDP}]}
    - {name: sidecar, image: sidecar, ports: [{name: blocks, containerPort: 7079}, {name: twice, containerPort: 9000}, {name: old, containerPort: 7078}]}
`)

	var pod []string
	for _, p := range build(t, r).Server.Spec.Containers[0].Ports {
		pod = append(pod, fmt.Sprintf("%s=%d", p.Name, p.ContainerPort))
	}

	if got := strings.Join(pod, " "); got != "jmx=8090 rpc=9000 twice=1 udp=7079 blockmanager=7079 web-ui=4040 spark-connect=15002" {
		t.Fatalf("the pod has the ports %s", got) // the names of the test are those that a Service finds
	}

	for name, left := range map[string]bool{
		"jmx": false, "rpc": true, "blocks": true, "native": true, "twice": true, "driver-rpc": true,
		"blockmanager": true, "udp": false, "old": false, "unknown": false,
	} {
		base := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "x", Port: 443,
			TargetPort: intstr.FromString(name)}}}}
		if got := len(service(t, r, base).Spec.Ports) == 1; got != left {
			t.Errorf("%s: left out: %t, want %t", name, got, left)
		}

		if warnings := ServiceWarnings(r, base); (len(warnings) == 1 &&
			strings.HasPrefix(warnings[0].Text, "spec.ports[0] is left out")) != left {
			t.Errorf("%s: the warnings are %+v", name, warnings)
		}
	}
}

func TestServiceRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		r     func(*Request)
		base  corev1.Service
		field string
		says  string
	}{
		"a name too long": {base: corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 64)}},
			field: "Service", says: "metadata.name"},
		"an invalid name": {base: corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "A b"}}, field: "Service",
			says: "metadata.name"},
		"an external name": {base: corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName,
			ExternalName: "x.org"}}, field: "Service", says: "spec.type"},
		"an invalid Request": {r: func(r *Request) { r.Name = "1" }, field: "Name", says: "1-server"},
	} {
		t.Run(name, func(t *testing.T) {
			r := minimal()
			if c.r != nil {
				c.r(&r)
			}

			_, err := Service(r, &c.base)
			if wrong := refused(t, err); wrong.Field != c.field || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want field %s and %q", err, c.field, c.says)
			}
		})
	}
}

func TestNames(t *testing.T) {
	if got := []string{ServerName("a"), configMapName("a"), ServiceName("a", nil), ServiceName("a", &corev1.Service{}),
		ServiceName("a", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "b"}})}; !cmp.Equal(got,
		[]string{"a-server", "a-conf", "a-server", "a-server", "b"}) {
		t.Errorf("names are %q", got)
	}
}
