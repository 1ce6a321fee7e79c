package validate

import (
	"fmt"
	"path"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// sparkConfDir is the directory at which Spark mounts its configuration into every pod
// (Constants.SPARK_CONF_DIR_INTERNAL).
const sparkConfDir = "/opt/spark/conf"

// validMounts rejects two mounts at the same path of an executor. Without this check, Kubernetes would reject every
// executor pod, and the driver would try to create executors forever. The driver's own mounts are checked when its pod
// is built.
func validMounts(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	executor := &app.Spec.Executor
	taken := map[string]string{}
	mount := func(field, at, what string) {
		at = path.Clean(at)
		if other, ok := taken[at]; ok {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: fmt.Sprintf("%q is also where %s is mounted; choose another path", at, other)})
			return
		}

		taken[at] = conf.Shorten(what) // many messages may contain it
	}

	if app.Spec.SparkConf["spark.kubernetes.executor.disableConfigMap"] != "true" {
		taken[sparkConfDir] = "Spark's own configuration"
	}

	if name := sparkoperator.StringValue(app.Spec.HadoopConfigMap); name != "" {
		taken[overlay.HadoopConfDir] = "spec.hadoopConfigMap"
	}

	if name := sparkoperator.StringValue(app.Spec.SparkConfigMap); name != "" {
		taken[overlay.SparkConfDir] = "spec.sparkConfigMap"
	}

	if directory := monitoring.MountPath(&app.Spec); directory != "" {
		taken[directory] = "spec.monitoring"
	}

	for i, c := range executor.ConfigMaps {
		mount(fmt.Sprintf("spec.executor.configMaps[%d].path", i), c.Path, "ConfigMap "+c.Name)
	}

	secrets := map[string]int{}
	for i, s := range executor.Secrets {
		secrets[s.Name] = i // the last path of a Secret wins
	}

	for i, s := range executor.Secrets {
		if secrets[s.Name] == i {
			mount(fmt.Sprintf("spec.executor.secrets[%d].path", i), s.Path, "Secret "+s.Name)
		}
	}

	for i, m := range executor.VolumeMounts {
		mount(fmt.Sprintf("spec.executor.volumeMounts[%d].mountPath", i), m.MountPath, "volume "+m.Name)
	}
	return wrong
}
