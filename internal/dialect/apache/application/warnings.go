package application

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
)

// warnings returns the warnings about a launch whose objects were built.
func warnings(l *launched) []string {
	objects, _, _ := l.Objects()
	spec := &l.Attempt.own.Spec

	var allocator []string
	if c, err := l.Configuration(); err == nil {
		allocator = dialect.AllocatorWarnings(c, l.Attempt.StatefulSets)
	}
	return slices.Concat(objects.Warnings, launchWarnings(l), allocator, tolerationWarnings(spec), Sources.TemplateWarnings(fields.Template(spec, launch.RoleDriver), fields.Template(spec, launch.RoleExecutor)))
}

// launchWarnings returns warnings about fields of the spec that have no effect on a launch. The warnings of
// native.Build are not among them.
func launchWarnings(l *launched) (warnings []string) {
	app := l.Attempt.own
	p, _ := fields.ProgramOf(&app.Spec)

	warnings = p.Unused(&app.Spec)
	for v := range fields.Application.Values(app, func(r *table.Row) bool { return r.Precedence == table.Yields }) {
		if set, listed := app.Spec.SparkConf[v.Key]; listed && set != v.Text {
			warnings = append(warnings, v.Path+": "+v.Text+" has no effect: "+fields.InConf(v.Key)+" is "+quoted(set))
		}
	}

	warnings = append(warnings, overriddenWarnings(l)...)
	for _, version := range []struct{ field, text string }{
		{"spec.runtimeVersions.scalaVersion", app.Spec.RuntimeVersions.ScalaVersion},
		{"spec.runtimeVersions.jdkVersion", app.Spec.RuntimeVersions.JDKVersion},
	} {
		if version.text != "" && !fields.IsLabelValue(version.text) {
			warnings = append(warnings, version.field+": "+quoted(version.text)+" is not a valid label value, and the field has no other use")
		}
	}
	return warnings
}

// overriddenWarnings returns a warning for each key of sparkConf that another field overrides. The images may differ
// from sparkConf, because they may have a placeholder for the version.
func overriddenWarnings(l *launched) []string {
	effective, err := l.Configuration()
	if err != nil {
		return nil // rejected elsewhere
	}

	own, c := l.Attempt.own.Spec.SparkConf, effective.Clone()
	for key, image := range own {
		if strings.HasSuffix(key, "container.image") {
			c.Set(key, image)
		}
	}
	return dialect.Overridden(own, c, func(key string) string { return fields.Replacing(l.Attempt.own, key) })
}
