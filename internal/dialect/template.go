package dialect

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// RawBytes returns the JSON text of a raw field as the user wrote it, or nil if the field is not set.
func RawBytes(raw *runtime.RawExtension) []byte {
	if raw == nil {
		return nil
	}
	return raw.Raw
}

// PodTemplate parses a pod template. If the template cannot be parsed, it returns an empty template. Validation reports
// the error elsewhere.
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

// ReadPodTemplate parses a pod template. If the template exceeds a limit, the error is a *bounds.Fault.
func ReadPodTemplate(raw *runtime.RawExtension) (template corev1.PodTemplateSpec, err error) {
	if fault := bounds.Check(raw.Raw, bounds.RawShape[corev1.PodTemplateSpec](), ""); fault != nil {
		return template, fault
	}

	err = utiljson.Unmarshal(raw.Raw, &template)
	return template, err
}

// TemplateMetadata returns the labels and annotations of a pod template. It parses only the metadata, because parsing
// the whole template is expensive. If the template cannot be parsed, it returns nil. Validation reports the error
// elsewhere.
func TemplateMetadata(raw *runtime.RawExtension) (labels, annotations map[string]string) {
	var template struct {
		Metadata struct {
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if raw == nil || utiljson.Unmarshal(raw.Raw, &template) != nil {
		return nil, nil
	}
	return template.Metadata.Labels, template.Metadata.Annotations
}

// TemplateContainer returns the name of Spark's container in a pod template, if Spark needs this name to find the
// container. If the template's first container has the given name, or if no container has it, the result is "". Spark
// then uses the first container.
func TemplateContainer(raw *runtime.RawExtension, name string) string {
	if slices.IndexFunc(PodTemplate(raw).Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) > 0 {
		return name
	}
	return ""
}

// TemplateCommand reports whether a pod template changes the command line of the Spark container of a pod.
func TemplateCommand(raw *runtime.RawExtension, spark *corev1.Container) bool {
	return spark != nil && slices.ContainsFunc(PodTemplate(raw).Spec.Containers, func(c corev1.Container) bool {
		return (c.Name == spark.Name || c.Name == "") && len(c.Command)+len(c.Args) > 0
	})
}

// PrivilegeEscalation returns the value of allowPrivilegeEscalation that a container needs with a security context. If
// the context sets the value, this value is returned. For a privileged container and for a container with
// CAP_SYS_ADMIN, the value is true, because Kubernetes rejects false for them. Otherwise the result is nil, and Spark's
// default applies.
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
