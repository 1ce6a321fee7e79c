package application

import (
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
)

// Review returns the faults and warnings that the operator would report before it launches the first attempt. A fault
// makes the application, or each of its attempts, fail.
func (a Applications) Review(app *sparkv1.SparkApplication, now time.Time) dialect.Review {
	faults := validate(app)
	if app.OutOfBounds == "" {
		faults = append(faults, a.refused(app, 1)...)
	}

	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}

	l := a.next(app, 1, now)

	built := func() []*dialect.FieldError { return l.Attempt.defaults.Explain(l.BuildFaults()) }
	if faults := launch.First(built, l.PodFaults, l.RuleFaults); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	return dialect.Review{Warnings: warnings(l), Pods: l.Pods}
}
