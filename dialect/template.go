package dialect

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/bounds"
)

// PodTemplate reads a pod template, as far as it can be read; one that cannot is refused elsewhere.
func PodTemplate(raw *runtime.RawExtension) corev1.PodTemplateSpec {
	if raw == nil {
		return corev1.PodTemplateSpec{}
	}
	template, err := ReadPodTemplate(raw)
	if err != nil {
		return corev1.PodTemplateSpec{}
	}
	return template
}

// ReadPodTemplate reads a pod template. The error is a *bounds.Fault where it exceeds a limit.
func ReadPodTemplate(raw *runtime.RawExtension) (template corev1.PodTemplateSpec, err error) {
	if fault := bounds.Check(raw.Raw, bounds.RawShape[corev1.PodTemplateSpec](), ""); fault != nil {
		return template, fault
	}
	err = json.Unmarshal(raw.Raw, &template)
	return template, err
}

// TemplateMetadata reads the labels and annotations of a pod template, and nothing else of it, which costs much. A template that
// cannot be read is refused elsewhere.
func TemplateMetadata(raw *runtime.RawExtension) (labels, annotations map[string]string) {
	var template struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if raw == nil || json.Unmarshal(raw.Raw, &template) != nil {
		return nil, nil
	}
	return template.Metadata.Labels, template.Metadata.Annotations
}

// TemplateContainer is the name to choose the template's Spark container by: the one of Spark's name, where it is not the first, which Spark
// would take. Users have always been free to put it anywhere.
func TemplateContainer(raw *runtime.RawExtension, name string) string {
	if slices.IndexFunc(PodTemplate(raw).Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) > 0 {
		return name
	}
	return ""
}

// PrivilegeEscalation is what a security context asks for, nil where it leaves that to Spark. A privileged container cannot be without it:
// Kubernetes refuses the pod.
func PrivilegeEscalation(s *corev1.SecurityContext) *bool {
	switch {
	case s == nil:
		return nil
	case s.AllowPrivilegeEscalation != nil:
		return s.AllowPrivilegeEscalation
	case s.Privileged != nil && *s.Privileged,
		s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "CAP_SYS_ADMIN"):
		return new(true)
	}
	return nil
}
