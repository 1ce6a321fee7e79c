package application

import (
	"slices"
	"strings"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Review returns the faults and warnings that the operator would report if it launched the application now, and the
// pods of this launch.
func (d Dialect) Review(app *v1beta2.SparkApplication, now time.Time) dialect.Review {
	l := d.next(app, 1, now)
	if faults := faults(l); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}
	// overwritten reports the same fields by their paths, so the warnings of the package submit are left out.
	objects, _, _ := l.Objects()
	warnings := slices.DeleteFunc(slices.Clone(objects.Warnings), func(text string) bool { return strings.HasPrefix(text, submit.OverwrittenPrefix) })
	return dialect.Review{Warnings: slices.Concat(warnings, overwritten.Advice(l.Attempt.app, l.Attempt.Admission, l.Configuration), specWarnings(l), exposureWarnings(l)), Pods: l.Pods}
}

// exposureWarnings returns the problems of the Services, Ingresses and routes that the application requests. These
// problems do not prevent a launch: a pass reports them in the condition Exposed.
func exposureWarnings(l *launched) (warnings []string) {
	for _, problem := range l.Attempt.exposure().Problems {
		warnings = append(warnings, problem.Message)
	}
	return warnings
}

// specWarnings returns the warnings about a spec that the webhook and the events of a launch have in common.
func specWarnings(l *launched) []string {
	app := l.Attempt.own

	var overridden []string
	if c, err := l.Configuration(); err == nil {
		overridden = append(validate.OverriddenWarnings(app, l.Attempt.app, c), dialect.AllocatorWarnings(c, l.Attempt.StatefulSets)...)
	}
	return slices.Concat(overridden, validate.TypeWarnings(&app.Spec), l.Attempt.Batch.Warnings(app), Sources.TemplateWarnings(app.Spec.Driver.Template, app.Spec.Executor.Template))
}

// RestartWarning returns a warning if an edit stops and restarts a running application, or else an empty text.
func (d Dialect) RestartWarning(old, edited *v1beta2.SparkApplication) string {
	running := status.Memory(&old.Status).Phase.Live() && !takeover.Foreign(&old.Status)

	suspends := dialect.Suspended(edited.Spec.Suspend)
	if !running || suspends || !lifecycle.Edited(specification.Hash(&old.Spec), specification.Hash(&edited.Spec)) {
		return ""
	}
	return "the application is running, and this edit of its spec stops its driver and executors and starts a new run"
}
