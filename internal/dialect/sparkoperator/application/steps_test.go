package application

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// This file contains the steps of a decision for tests that judge only one step.

// app returns what an application's spec requests.
func (d Dialect) app(app *v1beta2.SparkApplication) lifecycle.App {
	return d.present(app).Attempt.wanted()
}

// encode writes a decision into the status.
func (d Dialect) encode(app *v1beta2.SparkApplication, wanted lifecycle.App, plan lifecycle.Plan, seen lifecycle.Observed, now time.Time) []lifecycle.Notice {
	return encode(d.present(app), wanted, plan, seen, now)
}

// encodeConditions sets the conditions that apply now.
func (d Dialect) encodeConditions(app *v1beta2.SparkApplication, wanted lifecycle.App, m lifecycle.Memory, now time.Time) {
	encodeConditions(d.present(app), wanted, m, "", now)
}

// overwritten returns the texts about the fields of executors that Spark overrides.
func (d Dialect) overwritten(app *v1beta2.SparkApplication) []string {
	return overwritten(d.present(app))
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
func (d Dialect) buildAttempt(app *v1beta2.SparkApplication, number int32, now time.Time) (submit.Objects, *lifecycle.Cause, error) {
	return d.next(app, number, now).Objects()
}

// executor returns an executor of an attempt, even if its driver requests none.
func (d Dialect) executor(app *v1beta2.SparkApplication, number int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	r, err := d.request(app, number, now)
	if err != nil {
		return nil, err
	}
	return native.Executor(r, id, driver)
}

// invalid returns the reason why no attempt can be launched from the spec.
func (d Dialect) invalid(app *v1beta2.SparkApplication) *lifecycle.Cause {
	return dialect.Invalid(d.Faults(app, t0))
}

// settings returns the Spark configuration with the field that sets each key.
func settings(app *v1beta2.SparkApplication) []dialect.Setting {
	return Dialect{}.next(app, 1, t0).Settings()
}
