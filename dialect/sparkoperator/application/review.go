package application

import (
	"slices"
	"strings"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Review returns what the operator would report about the application before it launches anything.
func (d Dialect) Review(app *v1beta2.SparkApplication, now time.Time) dialect.Review {
	objects, _, faults := d.tryAttempt(app, 1, now)
	if len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	// overwritten names the executors' fields by their paths, so the same warnings of submit are left out.
	warnings := slices.DeleteFunc(objects.Warnings, func(text string) bool { return strings.HasPrefix(text, submit.OverwrittenPrefix) })
	return dialect.Review{Warnings: slices.Concat(warnings, overwritten(app), typeWarnings(&app.Spec), d.batchWarnings(app), templateWarnings(app))}
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
