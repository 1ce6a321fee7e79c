package application

import (
	"maps"
	"slices"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// sparkConf returns the whole Spark configuration of an application: the user's sparkConf, the keys of the typed fields
// (fields.Application), and the keys that follow from several fields.
func sparkConf(app *v1beta2.SparkApplication) (*conf.Conf, error) {
	spec := &app.Spec
	c := conf.FromMap(spec.SparkConf)
	c.Delete(confDriverPodName) // the Request has the pod's name
	fields.Application.Configure(c, app)
	// From Spark 4.1 on, the driver annotates its pod with the exception that ended it. This helps if the last lines of
	// the log contain only the stack trace of the exception. For Python and R programs it is not set, because their
	// driver does not know the exception. It would create a Kubernetes client after the program's last output, and the
	// client's log would push that output out of the termination message.
	if submit.IsJVM(spec.MainApplicationFile) {
		c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	}
	// The operator never waits in a JVM, so the value "true" of a user would be misleading in the driver's properties.
	c.Set("spark.kubernetes.submission.waitAppCompletion", "false")

	if !dynamicAllocationEnabled(spec) {
		c.SetIfMissing(instancesKey, "1") // this API's default; Spark's own would be 2
	}

	envConf(c, spec)

	if err := localVolumes(c, spec.Volumes, "driver", &spec.Driver.SparkPodSpec); err != nil {
		return nil, err
	}

	monitoringConf(c, app)
	return c, localVolumes(c, spec.Volumes, "executor", &spec.Executor.SparkPodSpec)
}

// overriddenWarnings returns a warning for each key of sparkConf that a typed field overrides, and for each typed field
// that sparkConf overrides.
func overriddenWarnings(l *launched) []string {
	c, err := l.Configuration()
	if err != nil {
		return nil // rejected elsewhere
	}

	app, merged := l.Attempt.own, l.Attempt.app
	c = c.Clone()
	c.Set(confDriverPodName, DriverPodName(merged))

	warnings := dialect.Overridden(app.Spec.SparkConf, c, func(key string) string {
		if key == confDriverPodName {
			return fields.Application.FieldOfPart("DriverPodName")
		}
		return settingField(merged, key)
	})
	for v := range fields.Application.Values(app) {
		if own, set := app.Spec.SparkConf[v.Key]; v.Precedence == table.Yields && set && own != v.Text {
			warnings = append(warnings, v.Path+": "+conf.Quote(v.Key, v.Text)+" has no effect: "+sparkConfField(v.Key)+" sets "+conf.Quote(v.Key, own)+"; remove one of them")
		}
	}
	return warnings
}

// driverOnly reports whether spec.driver.kubernetesMaster is local. Such an application has no executors: its driver
// runs all tasks itself.
func driverOnly(spec *v1beta2.SparkApplicationSpec) bool {
	return strings.HasPrefix(sparkoperator.StringValue(spec.Driver.KubernetesMaster), "local")
}

func setMap(c *conf.Conf, prefix string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.Set(prefix+key, values[key])
	}
}
