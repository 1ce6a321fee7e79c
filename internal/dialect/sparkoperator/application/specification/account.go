package specification

import (
	"cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// AccountField returns the field that sets the service account of a role's pods. If no field sets it, the result is the
// typed field. For an executor, the field may be that of the driver, which also overrides the field serviceAccountName
// of the executor's template. Only the deprecated field serviceAccount of this template precedes both typed fields (see
// native.Executor).
func AccountField(app *v1beta2.SparkApplication, role string) string {
	typed, template := "spec."+role+".serviceAccount", rawtemplate.Pod(sparkoperator.PodSpec(&app.Spec, role).Template).Spec
	templated := rawtemplate.AccountField("spec."+role+".template", &template)

	set := fields.Application.FirstSet(app, typed, "spec.driver.serviceAccount")
	switch {
	case role == "executor" && template.DeprecatedServiceAccount != "":
		return templated
	case set == "" && template.ServiceAccountName+template.DeprecatedServiceAccount != "":
		return templated
	}
	return cmp.Or(set, typed)
}
