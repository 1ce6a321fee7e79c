package application

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// Review returns the faults and warnings that the operator would report before it launches the first attempt. A fault
// makes the application, or each of its attempts, fail.
func (a Applications) Review(app *sparkv1.SparkApplication, now time.Time) dialect.Review {
	faults := Validate(app)
	if app.OutOfBounds == "" {
		faults = append(faults, a.refused(app, 1)...)
	}
	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	a, launched := a.launching(app)
	r, err := a.request(launched, 1, now)
	if err != nil {
		return dialect.Review{Faults: dialect.AsFaults(a.explained(err))}
	}
	objects, submitter, err := a.submissionOf(launched, 1, r)
	if err != nil {
		return dialect.Review{Faults: dialect.AsFaults(err)}
	}
	executor := dialect.Once(func() (*corev1.Pod, error) { return executorOf(launched, r, 1, "") })
	if faults := a.ruleFaults(launched, 1, now, objects, submitter, executor); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	return dialect.Review{
		Warnings: slices.Concat(objects.Warnings, launchWarnings(app), thresholdWarnings(&app.Spec), templateWarnings(app), apache.SuspendWarnings(app.Spec.Suspend)),
		Pods: func() []dialect.Pods {
			driver := objects.Driver
			if submitter != nil { // objects.Driver is the pod that runs spark-submit
				driver, _ = native.Driver(r)
			}
			executors, _ := executorsOf(&launched.Spec)
			return dialect.DriverAndExecutors(driver, executor, executors)
		},
	}
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
