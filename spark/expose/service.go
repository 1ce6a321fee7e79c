package expose

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service is the input of a Service for one port of a driver.
type Service struct {
	// Namespace and Name of the object. They are not checked: the API server rejects invalid names.
	Namespace, Name string
	// Labels are the labels by which the caller identifies the object.
	Labels map[string]string
	// Extra are the user's labels. They never override Labels.
	Extra map[string]string
	// Annotations are the user's annotations.
	Annotations map[string]string
	// Owner of the object. If its UID is empty, the object has no owner.
	Owner metav1.OwnerReference
	// Selector contains labels that only the driver pod has.
	Selector map[string]string
	// Type of the Service; empty means ClusterIP.
	Type corev1.ServiceType
	// Port is the Service's port, and TargetPort is the driver's port. Both are numbers from 1 to 65535.
	Port, TargetPort int32
	// PortName is the name of the Service's port, a DNS label.
	PortName string
}

// DriverService returns a Service that reaches one port of a driver. Unlike the Service by which executors find their
// driver (DriverServiceFeatureStep), this Service has a cluster IP, so that an Ingress and users can reach it.
func DriverService(s Service) *corev1.Service {
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Service"},
		ObjectMeta: objectMeta(s.Namespace, s.Name, s.Labels, s.Extra, s.Annotations, s.Owner),
		Spec: corev1.ServiceSpec{
			Type:     s.Type,
			Selector: maps.Clone(s.Selector),
			Ports: []corev1.ServicePort{{
				Name: s.PortName, Protocol: corev1.ProtocolTCP, Port: s.Port, TargetPort: intstr.FromInt32(s.TargetPort),
			}},
		},
	}
	if service.Spec.Type == "" {
		service.Spec.Type = corev1.ServiceTypeClusterIP
	}
	return service
}

// objectMeta returns the metadata of an object. The object gets the labels of both maps. If a key is in both, the value
// in labels counts.
func objectMeta(namespace, name string, labels, extra, annotations map[string]string, owner metav1.OwnerReference) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: maps.Clone(annotations)}
	if len(labels)+len(extra) > 0 {
		meta.Labels = map[string]string{}
		maps.Copy(meta.Labels, extra)
		maps.Copy(meta.Labels, labels)
	}

	if owner.UID != "" {
		meta.OwnerReferences = []metav1.OwnerReference{*owner.DeepCopy()}
	}
	return meta
}
