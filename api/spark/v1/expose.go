package v1

import "k8s.io/apimachinery/pkg/runtime"

// ObjectMetadata is the metadata of an object that is made from a spec. Further keys of Kubernetes' own metadata are accepted and kept, but
// say nothing.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ObjectMetadata struct {
	// Its name. Those of a SparkCluster's objects follow from its own, whatever stands here.
	// +optional
	Name string `json:"name,omitempty"`
	// Its namespace: that of the resource, whatever stands here.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Its labels.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Its annotations.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DriverServiceIngress asks for a Service of the driver and an Ingress to it.
type DriverServiceIngress struct {
	// The Service's metadata.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec, kept as it was written. Without a selector it selects the driver.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The Ingress' metadata.
	IngressMetadata ObjectMetadata `json:"ingressMetadata"`
	// The Ingress' spec (networking.k8s.io/v1), kept as it was written. Without rules and a default backend it gains a rule for all paths to the
	// Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	IngressSpec *runtime.RawExtension `json:"ingressSpec,omitempty" bounds:"as=IngressSpec"`
}

// DriverHTTPRoute asks for a Service of the driver and an HTTPRoute to it.
type DriverHTTPRoute struct {
	// The Service's metadata. It needs a name.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec, kept as it was written. Without a selector it selects the driver.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The route's metadata. It needs a name.
	HTTPRouteMetadata ObjectMetadata `json:"httpRouteMetadata"`
	// The route's spec (gateway.networking.k8s.io/v1), kept as it was written. It needs parentRefs; without rules it gains one for all paths to
	// the Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	HTTPRouteSpec *runtime.RawExtension `json:"httpRouteSpec,omitempty"`
}

// DriverGRPCRoute asks for a Service of the driver and a GRPCRoute to it.
type DriverGRPCRoute struct {
	// The Service's metadata. It needs a name.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec, kept as it was written. Without a selector it selects the driver.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The route's metadata. It needs a name.
	GRPCRouteMetadata ObjectMetadata `json:"grpcRouteMetadata"`
	// The route's spec (gateway.networking.k8s.io/v1), kept as it was written. It needs parentRefs; without rules it gains one for all calls to
	// the Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	GRPCRouteSpec *runtime.RawExtension `json:"grpcRouteSpec,omitempty"`
}
