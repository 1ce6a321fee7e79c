package status

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Encode writes a decision about an application without platform defaults into its status.
func Encode(app *v1beta2.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed,
	now time.Time) []lifecycle.Notice {
	d := Decision{
		App: app, Merged: app, Wanted: wanted, Now: now, MaxTrackedExecutors: 1000,
		Configuration: func() (*conf.Conf, error) { return specification.Configuration(app) },
	}
	return d.Encode(plan, seen)
}
