package dialect

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/bounds"
)

// PodTemplate reads a pod template. It returns an empty one if the template cannot be read; validation reports that.
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

// TemplateMetadata reads only the labels and annotations of a pod template, since reading all of it is expensive. It
// returns nil if the template cannot be read; validation reports that.
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

// TemplateContainer returns the name by which Spark must select its container in a template: the given name if a
// container other than the first has it, else "". Spark takes the first container by default.
func TemplateContainer(raw *runtime.RawExtension, name string) string {
	if slices.IndexFunc(PodTemplate(raw).Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) > 0 {
		return name
	}
	return ""
}

// PrivilegeEscalation returns the allowPrivilegeEscalation that a security context requires; nil if Spark's default may
// apply. It is true for a privileged container, because Kubernetes rejects such a container without it.
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
