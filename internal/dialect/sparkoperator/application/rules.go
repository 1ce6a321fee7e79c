package application

import (
	"cmp"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// Faults returns the errors in the spec that make every launch of the application impossible.
func (d Dialect) Faults(app *v1beta2.SparkApplication, now time.Time) []*dialect.FieldError {
	return faults(d.next(app, 1, now))
}

// accountField returns the field that sets the service account of a role's pods. If no field sets it, the result is the
// typed field. For an executor, the field may be that of the driver, which also overrides the field serviceAccountName
// of the executor's template. Only the deprecated field serviceAccount of this template precedes both typed fields (see
// native.Executor).
func accountField(app *v1beta2.SparkApplication, role string) string {
	typed, template := "spec."+role+".serviceAccount", dialect.PodTemplate(podSpec(&app.Spec, role).Template).Spec
	templated := dialect.TemplateAccountField("spec."+role+".template", &template)

	set := fields.Application.FirstSet(app, typed, "spec.driver.serviceAccount")
	switch {
	case role == "executor" && template.DeprecatedServiceAccount != "":
		return templated
	case set == "" && template.ServiceAccountName+template.DeprecatedServiceAccount != "":
		return templated
	}
	return cmp.Or(set, typed)
}
