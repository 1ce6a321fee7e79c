package fields

import (
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// elsewhere lists the fields of a SparkApplication that belong to no configuration key and appear in no error of the
// package submit, by the file that reads them.
var elsewhere = map[string][]string{
	"application/decode.go": {
		"spec.applicationTolerations.restartConfig.maxRestartAttempts",
		"spec.applicationTolerations.restartConfig.maxRestartOnFailure",
		"spec.applicationTolerations.restartConfig.maxRestartOnSchedulingFailure",
		"spec.applicationTolerations.restartConfig.restartBackoffMillis",
		"spec.applicationTolerations.restartConfig.restartBackoffMillisForFailure",
		"spec.applicationTolerations.restartConfig.restartBackoffMillisForSchedulingFailure",
		"spec.applicationTolerations.restartConfig.restartCounterResetMillis",
		"spec.applicationTolerations.applicationTimeoutConfig.", "spec.applicationTolerations.instanceConfig.",
		"spec.applicationTolerations.resourceRetainDurationMillis", "spec.applicationTolerations.ttlAfterStopMillis",
	},
	"program.go": {"spec.sparkRFiles"},
	"application/exposure/entries.go": {"spec.driverServiceIngressList",
		"spec.driverHttpRouteList", "spec.driverGrpcRouteList"},
	"application/configmaps.go":                                 {"spec.configMapSpecs"},
	"application/status/memory.go":                              {"spec.suspend"},
	"nothing: application/validate.go refuses all other values": {"spec.deploymentMode"},
}

// TestEveryFieldHasARow walks the definition of a SparkApplication. It fails for a field that has neither a row in the
// table nor an exception, and for an exception that is not needed.
func TestEveryFieldHasARow(t *testing.T) {
	fieldtable.EveryFieldHasARow(t, "spark.apache.org_sparkapplications.yaml", slices.Collect(Application.Rows()),
		elsewhere,
		"spec.driverSpec.podTemplateSpec", "spec.executorSpec.podTemplateSpec")
}

// TestKeysHaveOneHome checks that no code but the table names the key of a field.
func TestKeysHaveOneHome(t *testing.T) {
	fieldtable.KeysHaveOneHome(t, slices.Collect(Application.Rows()), nil, "internal/dialect/apache",
		"internal/dialect/apache/application", "internal/dialect/apache/application/naming",
		"internal/dialect/apache/application/status", "internal/dialect/apache/application/takeover",
		"internal/dialect/apache/application/exposure",
		"internal/dialect/apache/cluster", "internal/dialect/apache/cluster/status", "internal/cli/convert")
}
