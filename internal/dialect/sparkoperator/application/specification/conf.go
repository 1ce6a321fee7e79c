// Package specification converts the spec of a SparkApplication into the terms of the packages submit and lifecycle.
// conf.go has the Spark configuration, with env.go and volumes.go for keys that follow from several fields. overlays.go
// has the settings of pods that no key expresses. instances.go and limits.go have numbers of executors, restarts and
// deadlines, and hash.go the hash of a spec. errorfields.go and account.go name the field that sets a value, and
// defaults.go merges the platform's defaults into a spec. The tables of fields are in package fields.
package specification

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Configuration returns the whole Spark configuration of an application: the user's sparkConf, the keys of the typed
// fields (fields.Application), and the keys that follow from several fields.
func Configuration(app *v1beta2.SparkApplication) (*conf.Conf, error) {
	spec := &app.Spec
	c := conf.FromMap(spec.SparkConf)
	c.Delete(naming.DriverPodNameKey) // the Request has the pod's name
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

	if !DynamicAllocation(spec) {
		c.SetIfMissing(fields.PodKey("executor", "instances"), "1") // this API's default; Spark's own would be 2
	}

	envConf(c, spec)

	if err := localVolumes(c, spec.Volumes, "driver", &spec.Driver.SparkPodSpec); err != nil {
		return nil, err
	}

	monitoring.Configure(c, app)
	return c, localVolumes(c, spec.Volumes, "executor", &spec.Executor.SparkPodSpec)
}

func setMap(c *conf.Conf, prefix string, values map[string]string) {
	for _, key := range conf.SortedKeys(values) {
		c.Set(prefix+key, values[key])
	}
}
