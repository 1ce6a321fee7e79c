package application

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	objects, submitter, err := a.submission(app, 1, now)
	if err != nil {
		return dialect.Review{Faults: dialect.AsFaults(err)}
	}
	if faults := a.ruleFaults(app, 1, now, objects, submitter); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	return dialect.Review{
		Warnings: slices.Concat(objects.Warnings, launchWarnings(app), thresholdWarnings(&app.Spec), templateWarnings(app)),
		Pods: func() []dialect.Pods {
			driver := objects.Driver
			if submitter != nil {
				driver = nil // this pod only submits the driver
			}
			return a.pods(app, driver, now)
		},
	}
}

// pods returns the driver and the executors with which the application starts. If driver is nil, pods renders the
// driver as well.
func (a Applications) pods(app *sparkv1.SparkApplication, driver *corev1.Pod, now time.Time) []dialect.Pods {
	a, app = a.launching(app)
	r, err := a.request(app, 1, now)
	if err != nil {
		return nil // a fault reports it
	}
	executors, _ := executorsOf(&app.Spec)
	return dialect.DriverAndExecutors(r, driver, executors)
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
