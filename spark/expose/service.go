package expose

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Meta is the metadata of an object.
type Meta struct {
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
}

// Service is the input of a Service for one port of a driver.
type Service struct {
	Meta
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
		ObjectMeta: s.objectMeta(),
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

// objectMeta returns a copy of the metadata as objects have it.
func (m Meta) objectMeta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Annotations: maps.Clone(m.Annotations)}
	if len(m.Labels)+len(m.Extra) > 0 {
		meta.Labels = map[string]string{}
		maps.Copy(meta.Labels, m.Extra)
		maps.Copy(meta.Labels, m.Labels)
	}

	if m.Owner.UID != "" {
		meta.OwnerReferences = []metav1.OwnerReference{*m.Owner.DeepCopy()}
	}
	return meta
}
