package sparkoperator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/dialect"
)

// templateContainer is the name to choose the Spark container of a role's template by (dialect.TemplateContainer).
func templateContainer(raw *runtime.RawExtension, role string) string {
	if role == "executor" {
		return dialect.TemplateContainer(raw, ExecutorContainer)
	}
	return dialect.TemplateContainer(raw, DriverContainer)
}

// templateHasVolume reports whether a template brings a volume of its own.
func templateHasVolume(raw *runtime.RawExtension, name string) bool {
	return slices.ContainsFunc(dialect.PodTemplate(raw).Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}
