package application

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Review returns what the operator would report about the application before it launches anything.
func (d Dialect) Review(app *v1beta2.SparkApplication, now time.Time) dialect.Review {
	objects, submitter, faults := d.tryAttempt(app, 1, now)
	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	// overwritten names the executors' fields by their paths, so the same warnings of submit are left out.
	warnings := slices.DeleteFunc(objects.Warnings, func(text string) bool { return strings.HasPrefix(text, submit.OverwrittenPrefix) })
	return dialect.Review{
		Warnings: slices.Concat(warnings, d.overwritten(app), typeWarnings(&app.Spec), d.batchWarnings(app), templateWarnings(app), d.exposureWarnings(app)),
		Pods: func() []dialect.Pods {
			driver := objects.Driver
			if submitter != nil {
				driver = nil // this pod only submits the driver
			}
			return d.pods(app, driver, now)
		},
	}
}

// pods returns the driver and the executors with which the application starts. If driver is nil, pods renders the
// driver as well.
func (d Dialect) pods(app *v1beta2.SparkApplication, driver *corev1.Pod, now time.Time) []dialect.Pods {
	d, app = d.launching(app)
	r, err := d.request(app, 1, now)
	if err != nil {
		return nil // a fault reports it
	}
	return dialect.DriverAndExecutors(r, driver, initialExecutors(&app.Spec))
}

// exposureWarnings returns the problems of the Services, Ingresses and routes that the application requests. They keep
// no application from running, so a pass reports them in the condition Exposed.
func (d Dialect) exposureWarnings(app *v1beta2.SparkApplication) (warnings []string) {
	e := d.exposure(app, lifecycle.Memory{Attempt: 1})
	for _, problem := range e.Problems {
		warnings = append(warnings, problem.Message)
	}
	return warnings
}

func templateWarnings(app *v1beta2.SparkApplication) []string {
	return slices.Concat(dialect.TemplateWarnings("spec.driver.template", app.Spec.Driver.Template),
		dialect.TemplateWarnings("spec.executor.template", app.Spec.Executor.Template))
}

// RestartWarning returns a warning if an edit replaces a running application; otherwise it returns an empty text.
func (d Dialect) RestartWarning(old, edited *v1beta2.SparkApplication) string {
	running := decodeMemory(&old.Status).Phase.Live() && !foreign(&old.Status)
	suspends := edited.Spec.Suspend != nil && *edited.Spec.Suspend
	if !running || suspends || !lifecycle.Edited(Hash(&old.Spec), Hash(&edited.Spec)) {
		return ""
	}
	return "the application is running, and this edit of its spec stops its driver and executors and starts a new run"
}
