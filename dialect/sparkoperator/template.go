package sparkoperator

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// podTemplate reads a pod template, as far as it can be read; validTemplates refuses one that cannot.
func podTemplate(raw *runtime.RawExtension) (template corev1.PodTemplateSpec) {
	if raw != nil && json.Unmarshal(raw.Raw, &template) != nil {
		return corev1.PodTemplateSpec{}
	}
	return template
}

// templateContainer is the name to choose the template's Spark container by: the one of Spark's name, where it is not the first, which Spark
// would take. Users of this API have always been free to put it anywhere.
func templateContainer(raw *runtime.RawExtension, role string) string {
	name := DriverContainer
	if role == "executor" {
		name = ExecutorContainer
	}
	if slices.IndexFunc(podTemplate(raw).Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) > 0 {
		return name
	}
	return ""
}

// templateHasVolume reports whether a template brings a volume of its own.
func templateHasVolume(raw *runtime.RawExtension, name string) bool {
	return slices.ContainsFunc(podTemplate(raw).Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}
