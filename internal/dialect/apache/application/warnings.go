package application

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// warnings returns the warnings about a launch whose objects were built.
func warnings(l *launched) []string {
	objects, _, _ := l.Objects()
	spec := &l.Attempt.own.Spec

	var templates [2]*runtime.RawExtension
	for i, t := range []*sparkv1.PodTemplate{spec.DriverSpec, spec.ExecutorSpec} {
		if t != nil {
			templates[i] = t.PodTemplateSpec
		}
	}
	return slices.Concat(objects.Warnings, launchWarnings(l), thresholdWarnings(spec), Sources.TemplateWarnings(templates[0], templates[1]))
}

// launchWarnings returns warnings about fields of the spec that have no effect on a launch. The warnings of
// native.Build are not among them.
func launchWarnings(l *launched) (warnings []string) {
	app := l.Attempt.own
	p, _ := programOf(&app.Spec)

	warnings = p.unused(&app.Spec)
	for _, list := range [][3]string{{"spec.jars", confJars, p.jars}, {"spec.pyFiles", confPyFiles, p.pyFiles}, {"spec.files", confFiles, app.Spec.Files}} {
		if set, listed := app.Spec.SparkConf[list[1]]; listed && list[2] != "" && list[2] != set {
			warnings = append(warnings, list[0]+": "+list[2]+" has no effect: spec.sparkConf["+list[1]+"] is "+quoted(set))
		}
	}

	warnings = append(warnings, overriddenWarnings(l)...)
	for _, version := range []struct{ field, text string }{
		{"spec.runtimeVersions.scalaVersion", app.Spec.RuntimeVersions.ScalaVersion},
		{"spec.runtimeVersions.jdkVersion", app.Spec.RuntimeVersions.JDKVersion},
	} {
		if version.text != "" && !isLabelValue(version.text) {
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
	return dialect.Overridden(own, c, func(key string) string {
		return map[string]string{confDriverTemplate: requestFields["DriverTemplate"], confExecutorTemplate: requestFields["ExecutorTemplate"]}[key]
	})
}
