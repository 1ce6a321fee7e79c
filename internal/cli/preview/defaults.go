package preview

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// withDefaults sets the defaults of a CustomResourceDefinition that affect the objects that the operator creates, such
// as the protocol of a port. For a stored custom resource, the API server sets these defaults.
func withDefaults(object client.Object) {
	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		specDefaults(&object.Spec)
	case *v1beta2.ScheduledSparkApplication:
		specDefaults(&object.Spec.Template)
	case *v1alpha1.SparkConnect:
		if service := object.Spec.Server.Service; service != nil {
			for i := range service.Spec.Ports {
				if port := &service.Spec.Ports[i]; port.Protocol == "" {
					port.Protocol = corev1.ProtocolTCP
				}
			}
		}
	}
}

func specDefaults(spec *v1beta2.SparkApplicationSpec) {
	for _, pod := range []*v1beta2.SparkPodSpec{&spec.Driver.SparkPodSpec, &spec.Executor.SparkPodSpec} {
		for _, containers := range [][]corev1.Container{pod.Sidecars, pod.InitContainers} {
			for i := range containers {
				for j := range containers[i].Ports {
					if port := &containers[i].Ports[j]; port.Protocol == "" {
						port.Protocol = corev1.ProtocolTCP
					}
				}
			}
		}
	}
}
