package connect

import (
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
)

const driverAccountKey = sparkoperator.CredentialPrefix + "driver.serviceAccountName"

// serverAccountField returns the field that sets the service account of the server's pod. The server's template
// precedes the driver's key (see connect.Build).
func serverAccountField(sc *v1alpha1.SparkConnect) string {
	template := rawtemplate.Pod(sc.Spec.Server.Template).Spec
	if template.ServiceAccountName+template.DeprecatedServiceAccount == "" && sc.Spec.SparkConf[driverAccountKey] != "" {
		return connectKeyField(sc, driverAccountKey)
	}
	return rawtemplate.AccountField("spec.server.template", &template)
}

// executorAccountField returns the field that sets the service account of the executors. It may be the driver's key,
// which also overrides the field serviceAccountName of the executors' template. Only the deprecated field
// serviceAccount of this template precedes both keys (see native.Executor).
func executorAccountField(sc *v1alpha1.SparkConnect) string {
	template := rawtemplate.Pod(sc.Spec.Executor.Template).Spec
	if template.DeprecatedServiceAccount == "" {
		for _, key := range []string{sparkoperator.CredentialPrefix + "executor.serviceAccountName", driverAccountKey} {
			account, written := sc.Spec.SparkConf[key]
			if account != "" {
				return connectKeyField(sc, key)
			}

			if written {
				break // Spark does not read the driver's key if the executors' key is empty
			}
		}
	}
	return rawtemplate.AccountField("spec.executor.template", &template)
}
