package expose

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ServiceFault names the first field of a user's Service that is refused in every configuration, and says what to write instead. Both texts are empty
// for a Service without such a field. An external IP takes the cluster's traffic to any address, and an external name leads clients out of the cluster:
// neither reaches a driver.
func ServiceFault(spec *corev1.ServiceSpec) (field, message string) {
	switch {
	case len(spec.ExternalIPs) > 0:
		return "externalIPs", "is refused: an external IP takes traffic to addresses that are not the Service's own; remove the field, and use type LoadBalancer"
	case spec.Type == corev1.ServiceTypeExternalName, spec.ExternalName != "":
		name := "externalName"
		if spec.Type == corev1.ServiceTypeExternalName {
			name = "type"
		}
		return name, "is refused: ExternalName leads elsewhere and never reaches the pod; use ClusterIP, NodePort or LoadBalancer"
	}
	return "", ""
}

// IsInside reports whether a Service of this type is reached from within the cluster only.
func IsInside(t corev1.ServiceType) bool { return t == "" || t == corev1.ServiceTypeClusterIP }

// SwitchedOff says that a type is not made while the operator's configuration does not allow exposure, and what to do about it.
func SwitchedOff(t corev1.ServiceType) string {
	return fmt.Sprintf("a Service of type %s is reached from outside the cluster, which is switched off, so it is made as ClusterIP; %s, "+
		"or leave the type out", t, LetExpose)
}

// LetExpose is the way out of what exposure.enabled switches off.
const LetExpose = "let the operator's configuration say exposure.enabled: true (chart: controller.exposure.enable=true)"

// externalFields are those of a Service's spec that the API server takes beside the types NodePort and LoadBalancer only.
var externalFields = []string{
	"externalTrafficPolicy", "healthCheckNodePort", "loadBalancerIP", "loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts",
}

// Inside makes a Service's spec one of type ClusterIP, without the fields that only other types have.
func Inside(spec *corev1.ServiceSpec) {
	spec.Type = corev1.ServiceTypeClusterIP
	spec.ExternalTrafficPolicy, spec.HealthCheckNodePort, spec.LoadBalancerIP = "", 0, ""
	spec.LoadBalancerSourceRanges, spec.LoadBalancerClass, spec.AllocateLoadBalancerNodePorts = nil, nil, nil
	for i := range spec.Ports {
		spec.Ports[i].NodePort = 0
	}
}

// InsideTree is Inside for a spec as decoded JSON, which is changed.
func InsideTree(spec map[string]any) {
	spec["type"] = string(corev1.ServiceTypeClusterIP)
	for _, field := range externalFields {
		delete(spec, field)
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok {
			delete(fields, "nodePort")
		}
	}
}
