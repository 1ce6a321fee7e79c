package application

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// This file contains the steps of a decision for tests that judge only one step.

// app returns what an application's spec requests.
func (d Dialect) app(app *v1beta2.SparkApplication) lifecycle.App {
	return d.present(app).Attempt.wanted()
}

// encode writes a decision into the status.
func (d Dialect) encode(app *v1beta2.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan,
	seen lifecycle.Observed, now time.Time) []lifecycle.Notice {
	return d.decision(d.present(app), wanted, now).Encode(plan, seen)
}

// encodeConditions writes the conditions of a memory into the status.
func (d Dialect) encodeConditions(app *v1beta2.SparkApplication, wanted lifecycle.App, m lifecycle.Memory,
	now time.Time) {
	d.encode(app, wanted, lifecycle.Plan{Next: m}, lifecycle.Observed{}, now)
}

// problems returns the problems of the monitoring settings.
func problems(app *v1beta2.SparkApplication) []monitoring.Problem {
	l := Dialect{}.present(app)
	return monitoring.Problems(l.Attempt.app, l.Configuration)
}

// overwritten returns the texts about the fields of executors that Spark overrides.
func (d Dialect) overwritten(app *v1beta2.SparkApplication) []string {
	l := d.present(app)
	return overwritten.Advice(l.Attempt.app, d.Admission, l.Configuration)
}

// request returns the request of an attempt.
func (d Dialect) request(app *v1beta2.SparkApplication, number int32, now time.Time) (submit.Request, error) {
	l := d.next(app, number, now)

	c, err := l.Configuration()
	if err != nil {
		return submit.Request{}, err
	}

	err = l.Attempt.Request(c)
	return l.Attempt.Submit, err
}

// buildAttempt returns the objects of an attempt and, if spark-submit creates the driver pod, the reason.
func (d Dialect) buildAttempt(app *v1beta2.SparkApplication, number int32, now time.Time) (submit.Objects,
	*lifecycle.Cause, error) {
	return d.next(app, number, now).Objects()
}

// invalid returns the reason why no attempt can be launched from the spec.
func (d Dialect) invalid(app *v1beta2.SparkApplication) *lifecycle.Cause {
	return dialect.Invalid(d.Faults(app, sparkapp.T0))
}

// settings returns the Spark configuration with the field that sets each key.
func settings(app *v1beta2.SparkApplication) []dialect.Setting {
	return Dialect{}.next(app, 1, sparkapp.T0).Settings()
}
