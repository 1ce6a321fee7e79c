package v1

import "k8s.io/apimachinery/pkg/runtime"

// ObjectMetadata is the metadata of an object that is created from a spec. Other keys of Kubernetes' metadata are
// accepted and kept, but have no effect.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ObjectMetadata struct {
	// Name of the object. It has no effect for a SparkCluster, because the names of its objects are derived from the
	// cluster's name.
	// +optional
	Name string `json:"name,omitempty"`
	// Has no effect: the object is created in the namespace of the resource.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Labels of the object, beside the operator's own.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the object, which its controller may read.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DriverServiceIngress requests a Service of the driver and an Ingress that leads to the Service.
type DriverServiceIngress struct {
	// The Service's name, labels and annotations.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec. The operator replaces its selector by one that selects the driver. If the operator's
	// configuration does not allow Services that are reachable from outside the cluster, the Service becomes a
	// ClusterIP Service. All other fields are kept as written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The Ingress's name, labels and annotations.
	IngressMetadata ObjectMetadata `json:"ingressMetadata"`
	// The Ingress's spec (networking.k8s.io/v1), kept as written. If it has neither rules nor a default backend, the
	// operator adds a rule that sends all paths to the Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	IngressSpec *runtime.RawExtension `json:"ingressSpec,omitempty" bounds:"as=IngressSpec"`
}

// DriverHTTPRoute requests a Service of the driver and an HTTPRoute that leads to the Service.
type DriverHTTPRoute struct {
	// The Service's metadata. The name is required.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec. The operator replaces its selector by one that selects the driver. If the operator's
	// configuration does not allow Services that are reachable from outside the cluster, the Service becomes a
	// ClusterIP Service. All other fields are kept as written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The route's metadata. The name is required.
	HTTPRouteMetadata ObjectMetadata `json:"httpRouteMetadata"`
	// The route's spec (gateway.networking.k8s.io/v1), kept as written. parentRefs is required. If the spec has no
	// rules, the operator adds a rule that sends all paths to the Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	HTTPRouteSpec *runtime.RawExtension `json:"httpRouteSpec,omitempty"`
}

// DriverGRPCRoute requests a Service of the driver and a GRPCRoute that leads to the Service.
type DriverGRPCRoute struct {
	// The Service's metadata. The name is required.
	ServiceMetadata ObjectMetadata `json:"serviceMetadata"`
	// The Service's spec. The operator replaces its selector by one that selects the driver. If the operator's
	// configuration does not allow Services that are reachable from outside the cluster, the Service becomes a
	// ClusterIP Service. All other fields are kept as written.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	ServiceSpec *runtime.RawExtension `json:"serviceSpec,omitempty" bounds:"as=ServiceSpec"`
	// The route's metadata. The name is required.
	GRPCRouteMetadata ObjectMetadata `json:"grpcRouteMetadata"`
	// The route's spec (gateway.networking.k8s.io/v1), kept as written. parentRefs is required. If the spec has no
	// rules, the operator adds a rule that sends all calls to the Service's first port.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	GRPCRouteSpec *runtime.RawExtension `json:"grpcRouteSpec,omitempty"`
}
