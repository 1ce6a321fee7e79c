package application

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestOwnAccountIsRefused checks that an application in the operator's namespace may not run its pods with the
// operator's own service account. In other namespaces, an account with the same name is another account, which is
// accepted.
func TestOwnAccountIsRefused(t *testing.T) {
	own := dialect.ServiceAccount{Namespace: "jobs", Name: "operator"}

	d := Dialect{Options{Own: own}}
	for _, role := range []string{"driver", "executor"} {
		app := sparkapp.Of(t, "spec: {"+role+": {serviceAccount: operator}}")
		app.Namespace = "jobs"

		invalid := d.invalid(app)
		if invalid == nil || invalid.Reason != lifecycle.ReasonInvalid ||
			!strings.Contains(invalid.Message, "spec."+role+".serviceAccount: ") ||
			!strings.Contains(invalid.Message, `"operator" is the operator's own`) {
			t.Errorf("%s: %+v", role, invalid)
		}

		app.Namespace = "elsewhere"
		if invalid := d.invalid(app); invalid != nil {
			t.Errorf("%s in another namespace: %+v", role, invalid)
		}
	}
}
