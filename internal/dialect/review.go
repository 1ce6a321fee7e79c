package dialect

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Review contains the faults and warnings of a custom resource that are known before any object is created. The
// admission webhook reports them when the custom resource is written. A pass reports the same faults with the reason
// InvalidSpec.
type Review struct {
	// Faults are the reasons why the operator would reject the spec; empty if the operator would accept it.
	Faults []*FieldError
	// Warnings name settings that have no effect or may be meant differently. If there are faults, there are no
	// warnings.
	Warnings []string
	// Pods renders the pods that the custom resource needs at its start, so that callers can compare them with quotas.
	// It is nil if there are faults. The result lacks pods that cannot be rendered.
	Pods func() []Pods
}

// TemplateWarnings returns the warnings of both pod templates of a kind (TemplateWarnings).
func (s PodSources) TemplateWarnings(driver, executor *runtime.RawExtension) []string {
	return append(TemplateWarnings(s.Driver.Template, driver), TemplateWarnings(s.Executor.Template, executor)...)
}

// TemplateWarnings returns a warning for each unknown or misplaced field of a pod template, because the API server
// drops such fields without a message. If the template cannot be parsed, it returns nil, because validation reports
// this fault.
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
