package expose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestServiceFault(t *testing.T) {
	for name, test := range map[string]struct {
		spec corev1.ServiceSpec
		want string
	}{
		"nothing": {corev1.ServiceSpec{}, ""},
		"a load balancer": {corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}}, ""},
		"external IPs": {corev1.ServiceSpec{ExternalIPs: []string{"10.0.0.1"}}, "externalIPs"},
		"an external name": {corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"},
			"type"},
		"an external name without the type ExternalName": {corev1.ServiceSpec{ExternalName: "example.com"},
			"externalName"},
	} {
		if got, message := ServiceFault(&test.spec); got != test.want || (message != "") != (test.want != "") {
			t.Errorf("%s: %q: %q, want the field %q", name, got, message, test.want)
		}
	}
}

// TestInside checks that MakeInternal and MakeInternalTree remove all fields that the API server rejects for ClusterIP.
func TestInside(t *testing.T) {
	spec := corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		HealthCheckNodePort: 30001,
		LoadBalancerIP:      "10.0.0.1", LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
		LoadBalancerClass:             new("cloud"),
		AllocateLoadBalancerNodePorts: new(false), SessionAffinity: corev1.ServiceAffinityClientIP,
		Ports: []corev1.ServicePort{{Name: "ui", Port: 80, NodePort: 30000}},
	}

	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		t.Fatal(err)
	}

	MakeInternal(&spec)
	MakeInternalTree(tree)

	want := corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityClientIP,
		Ports: []corev1.ServicePort{{Name: "ui", Port: 80}},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error("-want +got:", diff)
	}

	var read corev1.ServiceSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &read); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, read); diff != "" {
		t.Error("of the tree, -want +got:", diff)
	}
}
