package fields

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// elsewhere lists the fields of a SparkApplication that belong to no configuration key and appear in no error of the
// package submit, by the file or package below the dialect that reads them. If a path ends with a dot, it stands for
// all fields below it.
var elsewhere = map[string][]string{
	"wanted.go": {"spec.suspend", "spec.restartPolicy.", "spec.timeouts.", "spec.timeToLiveSeconds"},
	"specification/overlays.go": {
		"spec.ROLE.gpu", "spec.ROLE.env", "spec.ROLE.envFrom", "spec.ROLE.affinity", "spec.ROLE.tolerations",
		"spec.ROLE.podSecurityContext",
		"spec.ROLE.securityContext", "spec.ROLE.hostNetwork", "spec.ROLE.dnsConfig",
		"spec.driver.terminationGracePeriodSeconds",
		"spec.ROLE.hostAliases", "spec.ROLE.shareProcessNamespace", "spec.ROLE.lifecycle",
		"spec.ROLE.priorityClassName",
	},
	"monitoring":                 {"spec.monitoring."},
	"batch":                      {"spec.batchScheduler", "spec.batchSchedulerOptions"},
	"exposure":                   {"spec.sparkUIOptions", "spec.driverIngressOptions"},
	"budget.go":                  {"spec.driverPodDisruptionBudget"},
	"submission.go":              {"spec.submission."},
	"nothing, or only a warning": {"spec.type", "spec.mode", "spec.failureRetries", "spec.retryInterval"},
}

// elsewhereOfConnect is the same for a SparkConnect.
var elsewhereOfConnect = map[string][]string{
	"conf.go":      {"spec.hadoopConf", "spec.executor.gpu"},
	"auxiliary.go": {"spec.ui."},
	"connect.go":   {"spec.suspend"},
}

// opaque lists the fields below which Kubernetes' types begin.
var opaque = []string{"spec.driver.template", "spec.executor.template", "spec.server.template", "spec.server.service"}

// TestEveryFieldHasARow walks the definitions. It fails for a field that has neither a row in the kind's table nor an
// exception, and for an exception that is not needed.
func TestEveryFieldHasARow(t *testing.T) {
	fieldtable.EveryFieldHasARow(t, "sparkoperator.k8s.io_sparkapplications.yaml", slices.Collect(Application.Rows()),
		elsewhere, opaque...)
	fieldtable.EveryFieldHasARow(t, "sparkoperator.k8s.io_sparkconnects.yaml", slices.Collect(Connect.Rows()),
		elsewhereOfConnect, opaque...)
}

// readers are the folders with the code that reads each table.
var readers = map[string][]string{
	"Application": {"internal/dialect/sparkoperator/application", "internal/dialect/sparkoperator/application/*",
		"internal/dialect/sparkoperator/schedule", "internal/cli/manifest", "internal/cli/doctor"},
	"Connect": {"internal/dialect/sparkoperator/connect"},
}

// keysOfCode are keys that code names although a row has them, because it does not mean the field.
var keysOfCode = map[string]string{
	"spark.master": "submission removes it: the operator sets it",
	"spark.kubernetes.driver.container.image":   "a default image must not replace these keys of sparkConf",
	"spark.kubernetes.executor.container.image": "a default image must not replace these keys of sparkConf",
}

// TestKeysHaveOneHome checks that no code but the tables names the key of a field. A part of a key counts too, if it
// follows the name of a role.
func TestKeysHaveOneHome(t *testing.T) {
	fieldtable.KeysHaveOneHome(t, slices.Collect(Application.Rows()), keysOfCode, readers["Application"]...)
	fieldtable.KeysHaveOneHome(t, slices.Collect(Connect.Rows()), keysOfCode, readers["Connect"]...)
}

// TestDefinitionDeniesReservedKeys checks that the definition denies exactly the reserved keys of the table, with the
// same advice.
func TestDefinitionDeniesReservedKeys(t *testing.T) {
	spec := crd.Ours(t, "sparkoperator.k8s.io_sparkapplications.yaml").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]

	denied := map[string]string{}
	for _, rule := range spec.Properties["sparkConf"].XValidations {
		key, _, isKey := strings.Cut(strings.TrimPrefix(rule.Rule, "!('"), "' in self)")
		if isKey && rule.Rule == "!('"+key+"' in self)" {
			denied[key] = rule.Message
		}
	}

	want := map[string]string{}
	for key, advice := range Application.Reserved() {
		want[key] = "is not allowed: " + strings.ReplaceAll(advice, "use spec.", "use ")
	}

	if diff := cmp.Diff(want, denied); diff != "" {
		t.Errorf("(-table +definition):\n%s", diff)
	}
}
