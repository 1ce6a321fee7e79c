package expose

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ServiceFault returns the first field in a user's Service that the operator rejects under every configuration, and a
// message that says what to write instead. Both results are empty if there is no such field. ServiceFault rejects
// externalIPs, because an external IP takes over the cluster's traffic to an arbitrary address. It rejects external
// names, because an external name leads clients out of the cluster and never to a driver.
func ServiceFault(spec *corev1.ServiceSpec) (field, message string) {
	switch {
	case len(spec.ExternalIPs) > 0:
		return "externalIPs", "is refused: an external IP takes over traffic to addresses that are not the Service's own; remove the field, and use type LoadBalancer"
	case spec.Type == corev1.ServiceTypeExternalName, spec.ExternalName != "":
		name := "externalName"
		if spec.Type == corev1.ServiceTypeExternalName {
			name = "type"
		}
		return name, "is refused: ExternalName leads elsewhere and never reaches the pod; use ClusterIP, NodePort or LoadBalancer"
	}
	return "", ""
}

// IsInternal reports whether a Service of this type is reachable only from within the cluster.
func IsInternal(t corev1.ServiceType) bool { return t == "" || t == corev1.ServiceTypeClusterIP }

// TypeNotAllowed returns the message for a Service type that the operator's configuration does not allow. The message
// also says what to do.
func TypeNotAllowed(t corev1.ServiceType) string {
	return fmt.Sprintf("a Service of type %s would be reachable from outside the cluster, but such exposure is not enabled, so the Service is created with type ClusterIP; %s, "+
		"or remove the type", t, EnableExposure)
}

// EnableExposure is the part of a message that says how to enable exposure outside the cluster.
const EnableExposure = "set exposure.enabled: true in the operator's configuration (chart: controller.exposure.enable=true)"

// externalFields are the fields of a Service's spec that the API server accepts only with the types NodePort and
// LoadBalancer.
var externalFields = []string{
	"externalTrafficPolicy", "healthCheckNodePort", "loadBalancerIP", "loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts",
}

// MakeInternal changes a Service's spec to type ClusterIP and removes the fields that the API server rejects for this
// type.
func MakeInternal(spec *corev1.ServiceSpec) {
	spec.Type = corev1.ServiceTypeClusterIP
	spec.ExternalTrafficPolicy, spec.HealthCheckNodePort, spec.LoadBalancerIP = "", 0, ""

	spec.LoadBalancerSourceRanges, spec.LoadBalancerClass, spec.AllocateLoadBalancerNodePorts = nil, nil, nil
	for i := range spec.Ports {
		spec.Ports[i].NodePort = 0
	}
}

// MakeInternalTree changes a Service's spec, given as decoded JSON, to type ClusterIP. Like MakeInternal, it removes
// the fields that the API server rejects for this type.
func MakeInternalTree(spec map[string]any) {
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
