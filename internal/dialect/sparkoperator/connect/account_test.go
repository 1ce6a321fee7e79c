package connect

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// TestOwnAccountIsRefused checks that no server pod in the operator's namespace may use the operator's service account.
// In other namespaces, an account with that name belongs to somebody else and is accepted.
func TestOwnAccountIsRefused(t *testing.T) {
	c := Connects{Options{Own: dialect.ServiceAccount{Namespace: "team", Name: "operator"}}}
	for _, key := range []string{"driver", "executor"} {
		sc := aConnect(func(sc *v1alpha1.SparkConnect) {
			sc.Spec.SparkConf = map[string]string{
				"spark.kubernetes.authenticate.driver.serviceAccountName":      "spark",
				"spark.kubernetes.authenticate." + key + ".serviceAccountName": "operator",
			}
		})
		if invalid := c.invalid(sc); invalid == nil ||
			!strings.Contains(invalid.Message, `"operator" is the operator's own`) ||
			!strings.HasPrefix(invalid.Message,
				"spec.sparkConf[spark.kubernetes.authenticate."+key+".serviceAccountName]: ") {
			t.Errorf("a server, %s: %+v", key, invalid)
		}

		if invalid := (Connects{}).invalid(sc); invalid != nil {
			t.Errorf("a server of an operator without a name, %s: %+v", key, invalid)
		}
	}
}
