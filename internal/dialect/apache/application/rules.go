package application

import (
	"cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
)

// Sources are the fields with the pods of an application.
var Sources = dialect.Sources("spec.driverSpec", "spec.executorSpec", "podTemplateSpec")

// imageField returns the field that sets the image of a role's Spark container.
func imageField(app *sparkv1.SparkApplication, role string) string {
	return cmp.Or(firstWritten(app, fields.Images(role)...), "spec."+role+"Spec.podTemplateSpec")
}

// accountField returns the field that sets the service account of a role's pods. For an executor, this may be the
// driver's key, which also overrides the field serviceAccountName of the executor's template. Only the deprecated field
// serviceAccount of this template precedes both keys (see native.Executor).
func accountField(app *sparkv1.SparkApplication, role string) string {
	keys, template := []string{fields.Account(role)}, rawtemplate.Pod(fields.Template(&app.Spec, role)).Spec
	templated := rawtemplate.AccountField("spec."+role+"Spec.podTemplateSpec", &template)

	if role == launch.RoleExecutor {
		if template.DeprecatedServiceAccount != "" {
			return templated
		}

		keys = append(keys, fields.Account(launch.RoleDriver))
	}
	return cmp.Or(firstWritten(app, keys...), templated)
}

// firstWritten returns the field of the first of the given keys that sparkConf contains, or "".
func firstWritten(app *sparkv1.SparkApplication, keys ...string) string {
	for _, key := range keys {
		if _, written := app.Spec.SparkConf[key]; written {
			return fields.InConf(key)
		}
	}
	return ""
}
