package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// SparkUIConfiguration describes how Spark's web UI is made available.
type SparkUIConfiguration struct {
	// Port of the UI's Service. Default: the UI's own port, which is 4040 unless spark.ui.port sets another.
	// +optional
	ServicePort *int32 `json:"servicePort,omitempty"`
	// Name of the Service's port. Default spark-driver-ui-port.
	// +optional
	ServicePortName *string `json:"servicePortName,omitempty"`
	// Type of the UI's Service. Default ClusterIP. Other types need the operator's permission (exposure.enabled).
	// +optional
	ServiceType *corev1.ServiceType `json:"serviceType,omitempty"`
	// Annotations of the UI's Service, which are kept as written.
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`
	// Labels of the UI's Service, beside the operator's own.
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`
	// Annotations of the UI's Ingress, which an ingress controller reads.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// TLS hosts of the Ingress, and the Secrets with their certificates.
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
	// Makes the UI available through an HTTPRoute of the Gateway API. Optional, specific to this operator.
	// +optional
	Route *RouteConfiguration `json:"route,omitempty"`
}

// RouteConfiguration requests an HTTPRoute of the Gateway API.
type RouteConfiguration struct {
	// The Gateways to which the route attaches. Default: the Gateways of the operator's configuration.
	// +optional
	ParentRefs []RouteParentReference `json:"parentRefs,omitempty"`
	// The host names that the route serves. Default: all host names that the Gateway allows.
	// +optional
	Hostnames []string `json:"hostnames,omitempty"`
}

// RouteParentReference names the object to which a route attaches, like parentRefs of the Gateway API.
type RouteParentReference struct {
	// API group of the parent. Default gateway.networking.k8s.io.
	// +optional
	Group *string `json:"group,omitempty"`
	// Kind of the parent. Default Gateway.
	// +optional
	Kind *string `json:"kind,omitempty"`
	// Namespace of the parent. Default: the application's namespace. The parent decides whether routes of other
	// namespaces may attach.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
	// Name of the parent, such as a Gateway.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Name of the parent's listener. Default: all listeners.
	// +optional
	SectionName *string `json:"sectionName,omitempty"`
	// Port of the parent's listener. Default: any port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *int32 `json:"port,omitempty"`
}

// DriverIngressConfiguration requests a Service and an Ingress for one port of the driver.
type DriverIngressConfiguration struct {
	// Port of the Service and of the driver.
	ServicePort *int32 `json:"servicePort"`
	// Name of the port in its Service, such as http.
	ServicePortName *string `json:"servicePortName"`
	// Type of the port's Service. Default ClusterIP. Other types need the operator's permission (exposure.enabled).
	// +optional
	ServiceType *corev1.ServiceType `json:"serviceType,omitempty"`
	// Annotations of the port's Service, which are kept as written.
	// +optional
	ServiceAnnotations map[string]string `json:"serviceAnnotations,omitempty"`
	// Labels of the port's Service, beside the operator's own.
	// +optional
	ServiceLabels map[string]string `json:"serviceLabels,omitempty"`
	// Host and path of the Ingress. {{$appName}} and {{$appNamespace}} stand for the application's name and namespace.
	// Without it, the port has a Service and no Ingress.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	IngressURLFormat string `json:"ingressURLFormat,omitempty" bounds:"max=2048"`
	// Annotations of the port's Ingress, which an ingress controller reads.
	// +optional
	IngressAnnotations map[string]string `json:"ingressAnnotations,omitempty"`
	// TLS hosts of the Ingress, and the Secrets with their certificates.
	// +optional
	IngressTLS []networkingv1.IngressTLS `json:"ingressTLS,omitempty"`
}

// MonitoringSpec describes which metrics are exposed, and how.
type MonitoringSpec struct {
	// Whether the driver's metrics are exposed.
	ExposeDriverMetrics bool `json:"exposeDriverMetrics"`
	// Whether the executors' metrics are exposed.
	ExposeExecutorMetrics bool `json:"exposeExecutorMetrics"`
	// Content of Spark's metrics.properties. Default: the operator's own, which sends all metrics to JMX.
	// +optional
	MetricsProperties *string `json:"metricsProperties,omitempty"`
	// Path of Spark's metrics.properties inside the image. Takes precedence over metricsProperties.
	// +kubebuilder:validation:XValidation:rule=`!(self.startsWith('local://') ? self.substring(8) : self).contains('://')`,message="is a URI, which a JVM does not fetch; write a path inside the image, such as /opt/metrics/metricsPropertiesFile"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[ \t\n=\x22\x27]')`,message="has a blank, a quote or an equals sign, at which the option for the JVM would end; write a path inside the image, such as /opt/metrics/metricsPropertiesFile"
	// +optional
	MetricsPropertiesFile *string `json:"metricsPropertiesFile,omitempty"`
	// Exposes metrics in Prometheus's format with the JMX exporter, a Java agent.
	// +optional
	Prometheus *PrometheusSpec `json:"prometheus,omitempty"`
	// Exposes metrics in Prometheus's format with Spark's own servlet, on the UI's port, without an agent. Optional,
	// specific to this operator.
	// +optional
	PrometheusServlet *bool `json:"prometheusServlet,omitempty"`
}

// PrometheusSpec configures the JMX exporter.
type PrometheusSpec struct {
	// Path of the exporter's jar inside the image.
	// +kubebuilder:validation:XValidation:rule=`self != ''`,message="is empty; write the path of the JMX exporter's jar inside the image, or use prometheusServlet, which needs none"
	// +kubebuilder:validation:XValidation:rule=`!(self.startsWith('local://') ? self.substring(8) : self).contains('://')`,message="is a URI, which a JVM does not fetch; write a path inside the image, such as /opt/metrics/jmxExporterJar"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[ \t\n=\x22\x27]')`,message="has a blank, a quote or an equals sign, at which the option for the JVM would end; write a path inside the image, such as /opt/metrics/jmxExporterJar"
	JmxExporterJar string `json:"jmxExporterJar"`
	// Port on which the exporter listens. Default 8090.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=49151
	// +optional
	Port *int32 `json:"port,omitempty"`
	// Name of the exporter's port. Default jmx-exporter.
	// +kubebuilder:validation:XValidation:rule=`self == '' || self.size() <= 15 && self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]')`,message="is not a valid port name: at most 15 lower case letters, digits and single '-', with a letter among them"
	// +kubebuilder:validation:XValidation:rule=`!(self in ['driver-rpc-port', 'blockmanager', 'spark-ui', 'spark-connect'])`,message="is the name of a port of Spark's own; choose another"
	// +optional
	PortName *string `json:"portName,omitempty"`
	// Path of the exporter's configuration inside the image. Takes precedence over configuration.
	// +kubebuilder:validation:XValidation:rule=`!(self.startsWith('local://') ? self.substring(8) : self).contains('://')`,message="is a URI, which a JVM does not fetch; write a path inside the image, such as /opt/metrics/configFile"
	// +kubebuilder:validation:XValidation:rule=`!self.matches(r'[ \t\n=\x22\x27]')`,message="has a blank, a quote or an equals sign, at which the option for the JVM would end; write a path inside the image, such as /opt/metrics/configFile"
	// +optional
	ConfigFile *string `json:"configFile,omitempty"`
	// Content of the exporter's configuration. Default: the operator's own.
	// +optional
	Configuration *string `json:"configuration,omitempty"`
}
