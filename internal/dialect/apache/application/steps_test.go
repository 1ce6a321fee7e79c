package application

import (
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file contains the steps of a decision for tests that judge only one step.

// app returns what an application's spec requests.
func (a Applications) app(app *sparkv1.SparkApplication) lifecycle.App {
	return a.present(app).wanted()
}

// causes returns the reason if spark-submit has to create the driver pod, and the fault of the spec that no restart can
// fix.
func (a Applications) causes(app *sparkv1.SparkApplication, now time.Time) (submitter, invalid *lifecycle.Cause) {
	return causes(a.next(app, 1, now))
}
