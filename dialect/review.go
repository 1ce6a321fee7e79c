package dialect

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Review is what the operator would report about a custom resource before anything is created for it. The admission
// webhook reports the review when the custom resource is written. A pass reports the same faults with the reason
// InvalidSpec.
type Review struct {
	// Faults are the reasons why the operator would reject the spec; empty if the operator would accept it.
	Faults []*FieldError
	// Warnings name settings that have no effect or may be meant differently. If there are faults, there are no
	// warnings.
	Warnings []string
	// Pods renders the pods that must fit into the namespace at the same time before everything runs that the spec
	// requests at the start. It is nil if there are faults. The result lacks the pods that cannot be rendered.
	Pods func() []Pods
}

// TemplateWarnings returns a warning for each field of a pod template that does not exist in a pod at that place. The
// API server drops such a field without a message. For a template that cannot be parsed the result is empty, because
// validation reports that fault.
func TemplateWarnings(field string, raw *runtime.RawExtension) (warnings []string) {
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
