package application

import (
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
)

// Review returns what the operator would report about the application before it launches anything. The faults are those
// that end the application permanently and those that reject each of its attempts.
func (a Applications) Review(app *sparkv1.SparkApplication, now time.Time) dialect.Review {
	faults := Validate(app)
	if app.OutOfBounds == "" {
		faults = append(faults, a.refused(app, 1)...)
	}
	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	objects, _, err := a.submission(app, 1, now)
	if err != nil {
		return dialect.Review{Faults: dialect.AsFaults(err)}
	}
	return dialect.Review{Warnings: slices.Concat(objects.Warnings, launchWarnings(app), thresholdWarnings(&app.Spec), templateWarnings(app))}
}

func templateWarnings(app *sparkv1.SparkApplication) (warnings []string) {
	if t := app.Spec.DriverSpec; t != nil {
		warnings = dialect.TemplateWarnings("spec.driverSpec.podTemplateSpec", t.PodTemplateSpec)
	}
	if t := app.Spec.ExecutorSpec; t != nil {
		warnings = append(warnings, dialect.TemplateWarnings("spec.executorSpec.podTemplateSpec", t.PodTemplateSpec)...)
	}
	return warnings
}
