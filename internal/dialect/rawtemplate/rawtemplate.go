// Package rawtemplate reads the pod templates of custom resources as users wrote them. The API server stores them
// without a check, so they may have unknown fields or not fit their fields.
package rawtemplate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Bytes returns the JSON text of a raw field as the user wrote it, or nil if the field is not set.
func Bytes(raw *runtime.RawExtension) []byte {
	if raw == nil {
		return nil
	}
	return raw.Raw
}

// Pod parses a pod template. If the template cannot be parsed, it returns an empty template. Validation reports
// the error elsewhere.
func Pod(raw *runtime.RawExtension) corev1.PodTemplateSpec {
	if raw == nil {
		return corev1.PodTemplateSpec{}
	}

	template, err := Read(raw)
	if err != nil {
		return corev1.PodTemplateSpec{}
	}
	return template
}

// Read parses a pod template. If the template exceeds a limit, the error is a *bounds.Fault.
func Read(raw *runtime.RawExtension) (template corev1.PodTemplateSpec, err error) {
	if fault := bounds.Check(raw.Raw, bounds.RawShape[corev1.PodTemplateSpec](), ""); fault != nil {
		return template, fault
	}

	err = utiljson.Unmarshal(raw.Raw, &template)
	return template, err
}

// Metadata returns the labels and annotations of a pod template. It parses only the metadata, because parsing
// the whole template is expensive. If the template cannot be parsed, it returns nil. Validation reports the error
// elsewhere.
func Metadata(raw *runtime.RawExtension) (labels, annotations map[string]string) {
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

// Container returns the name of Spark's container in a pod template, if Spark needs this name to find the
// container. If the template's first container has the given name, or if no container has it, the result is "". Spark
// then uses the first container.
func Container(raw *runtime.RawExtension, name string) string {
	if slices.IndexFunc(Pod(raw).Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) > 0 {
		return name
	}
	return ""
}

// HasCommand reports whether a pod template changes the command line of the Spark container of a pod.
func HasCommand(raw *runtime.RawExtension, spark *corev1.Container) bool {
	return spark != nil && slices.ContainsFunc(Pod(raw).Spec.Containers, func(c corev1.Container) bool {
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

// AccountField returns the field of a pod template that sets the service account of its pods. The argument
// `field` is the path of the template. Kubernetes reads the deprecated field serviceAccount only if serviceAccountName
// is empty.
func AccountField(field string, pod *corev1.PodSpec) string {
	if pod.ServiceAccountName == "" && pod.DeprecatedServiceAccount != "" {
		return field + ".spec.serviceAccount"
	}
	return field + ".spec.serviceAccountName"
}

// Warnings returns a warning for each unknown or misplaced field of a pod template, because the API server
// drops such fields without a message. If the template cannot be parsed, it returns nil, because validation reports
// this fault.
func Warnings(field string, raw *runtime.RawExtension) (warnings []string) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}

	template, err := podtemplate.Read(raw.Raw)
	if err != nil {
		return nil
	}

	for _, unknown := range template.Unknown() {
		text := "is not a field of a pod as this operator knows it, and has no effect unless your Kubernetes is newer and has this field; correct the name, or remove the field"
		if unknown.Place != "" {
			text = "has no effect at this place; a pod has this field at " + unknown.Place
		}

		warnings = append(warnings, fmt.Sprintf("%s.%s: %s", field, unknown.Path, text))
	}
	return warnings
}
