package application

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
)

// Faults returns the errors in the spec that make every launch of the application impossible.
func (d Dialect) Faults(app *v1beta2.SparkApplication, now time.Time) []*dialect.FieldError {
	return faults(d.next(app, 1, now))
}

// accountField returns the field that sets the service account of a role's pods. If no field sets it, the result is the
// typed field. For an executor, the field may be that of the driver, which also overrides the field serviceAccountName
// of the executor's template. Only the deprecated field serviceAccount of this template precedes both typed fields (see
// native.Executor).
func accountField(spec *v1beta2.SparkApplicationSpec, role string) string {
	pod, typed := podSpec(spec, role), "spec."+role+".serviceAccount"
	template := dialect.PodTemplate(pod.Template).Spec
	templated := dialect.TemplateAccountField("spec."+role+".template", &template)
	switch {
	case role == "executor" && template.DeprecatedServiceAccount != "":
		return templated
	case sparkoperator.StringValue(pod.ServiceAccount) != "":
		return typed
	case role == "executor" && sparkoperator.StringValue(spec.Driver.ServiceAccount) != "":
		return "spec.driver.serviceAccount"
	case template.ServiceAccountName+template.DeprecatedServiceAccount != "":
		return templated
	}
	return typed
}
