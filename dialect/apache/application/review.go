package application

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
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
	objects, submitter, err := a.submission(app, 1, now)
	if err != nil {
		return dialect.Review{Faults: dialect.AsFaults(err)}
	}
	if faults := a.ruleFaults(app, 1, now, objects, submitter); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	return dialect.Review{
		Warnings: slices.Concat(objects.Warnings, launchWarnings(app), thresholdWarnings(&app.Spec), templateWarnings(app), apache.SuspendWarnings(app.Spec.Suspend)),
		Pods: func() []dialect.Pods {
			driver := objects.Driver
			if submitter != nil {
				driver = nil // objects.Driver is the pod that runs spark-submit
			}
			return a.pods(app, driver, now)
		},
	}
}

// pods returns the pods with which the application starts, for the check of quotas: the driver pod and the executor
// pods. The argument driver is the rendered driver pod; if it is nil, pods renders the driver pod itself.
func (a Applications) pods(app *sparkv1.SparkApplication, driver *corev1.Pod, now time.Time) []dialect.Pods {
	a, app = a.launching(app)
	r, err := a.request(app, 1, now)
	if err != nil {
		return nil // Review reports the fault
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
