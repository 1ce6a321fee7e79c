package dialect

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
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

// TemplateWarnings returns the warnings of both pod templates of a kind (rawtemplate.Warnings).
func (s PodSources) TemplateWarnings(driver, executor *runtime.RawExtension) []string {
	return append(rawtemplate.Warnings(s.Driver.Template, driver), rawtemplate.Warnings(s.Executor.Template, executor)...)
}
