package application

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestOwnAccountIsRefused checks that no pod in the operator's namespace may use the operator's service account.
func TestOwnAccountIsRefused(t *testing.T) {
	a := Applications{Options{Own: dialect.ServiceAccount{Namespace: "jobs", Name: "operator"}}}
	for _, key := range []string{"driver", "executor", "submission"} {
		app := inPhase(lifecycle.Running, written(t))

		app.Spec.SparkConf["spark.kubernetes.authenticate."+key+".serviceAccountName"] = "operator"
		if _, err := a.Render(app, launchOf(1), noon); err == nil ||
			!strings.Contains(err.Error(), `"operator" is the operator's own`) {
			t.Errorf("%s: %v", key, err)
		}

		if _, err := (Applications{}).Render(app, launchOf(1), noon); err != nil {
			t.Errorf("%s, of an operator without a name: %v", key, err)
		}
	}
}
