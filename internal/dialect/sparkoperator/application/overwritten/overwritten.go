// Package overwritten handles the settings of executors that Spark overrides after it has read their pod template.
// It selects the settings that the operator applies when an executor is admitted, and explains the others.
package overwritten

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Condition is True if an attempt has been submitted and Spark overrides fields of spec.executor on
// every executor. The condition's message names these fields and what to do. Otherwise the condition is absent.
const Condition = "FieldsOverwritten"

// ReasonSetBySpark is the reason of the condition FieldsOverwritten.
const ReasonSetBySpark = "SetBySpark"

// ways contains the advice for each part of the executors' overlay that Spark overrides. The keys are the
// names that submit.Overwritten and submit.OverwrittenByConf return. The values are the field of the custom resource
// that sets this part, and the text that says what to do instead.
var ways = map[string]struct{ field, way string }{
	"MemoryLimit":     {"spec.executor.memoryLimit", "Spark limits executors to heap and overhead; set memoryOverhead instead"},
	"Lifecycle":       {"spec.executor.lifecycle", "spark.decommission.enabled adds Spark's own hook; spark.kubernetes.decommission.script sets the script that this hook runs"},
	"GPU":             {"spec.executor.gpu", "spark.executor.resource.* requests another amount of the same device; set the same amount"},
	"Env":             {"spec.executor.env", "Spark sets this variable last"},
	"SparkConfigMap":  {"spec.sparkConfigMap", "Spark sets SPARK_CONF_DIR of executors last"},
	"HadoopConfigMap": {"spec.hadoopConfigMap", "spark.kubernetes.hadoop.configMapName sets HADOOP_CONF_DIR of executors; use one of the two"},
	// If the field has a configuration key, fields.Application sets the key, so the field is not overridden.
	"TerminationGracePeriodSeconds": {"spec.executor.terminationGracePeriodSeconds", "set spark.kubernetes.executor.terminationGracePeriodSeconds"},
	"Env[SPARK_LOCAL_DIRS]":         {"spec.executor.env", "Spark sets this variable from the volumes whose names begin with " + specification.LocalVolumePrefix + "; mount such volumes instead"},
}

// admissionHint says how to make the operator apply fields that Spark overwrites.
const admissionHint = "; such fields work if webhook.enable and webhook.executors.enable are true in the values of the operator's chart"

// Advice returns a text for each field of an application's executors that has no effect, because Spark overrides
// it. The text says what to do instead. If the webhook for executors is disabled, the last text ends with
// admissionHint. There is no text for fields that the operator applies when an executor is admitted
// (Settings), because these fields have an effect.
func Advice(app *v1beta2.SparkApplication, available admit.Available, configuration func() (*conf.Conf, error)) (reported []string) {
	const most = 20 // because the length of a condition's message is limited

	if !mayBeOverwritten(app) {
		return nil // the common case, and every pass comes here
	}

	o, err := specification.ExecutorOverlay(app)

	c, confErr := configuration()
	if err != nil || confErr != nil {
		return nil // rejected elsewhere
	}

	_, all := Settings(app, available, c, o)
	if len(all) == 0 {
		return nil
	}

	for _, lost := range all[:min(len(all), most)] {
		name, entry, listed := strings.Cut(strings.TrimSuffix(lost, "]"), "[")

		way, ok := ways[lost]
		if !ok {
			way = ways[name]
		}

		if listed && name == "Env" {
			way.field += "[" + entry + "]"
		}

		reported = append(reported, way.field+" has no effect: "+way.way)
	}

	if more := len(all) - most; more > 0 {
		reported = append(reported, fmt.Sprintf("and %d more", more))
	}

	if available.Webhook {
		return reported // they are too large for it
	}

	reported[len(reported)-1] += admissionHint
	return reported
}

// Message returns the message of the condition FieldsOverwritten, or "" if the application does not
// have the condition. If an administrator enables the webhook or the policy while an attempt runs, the attempt keeps
// the condition, because its executors' template does not change.
func Message(app *v1beta2.SparkApplication, before []metav1.Condition, available admit.Available, configuration func() (*conf.Conf, error)) string {
	message := strings.Join(Advice(app, available, configuration), "; ")
	if message != "" || available == (admit.Available{}) || !mayBeOverwritten(app) {
		return message
	}

	if old := meta.FindStatusCondition(before, Condition); old != nil {
		return old.Message
	}
	return ""
}

// mayBeOverwritten reports whether an application has fields that Spark can overwrite. Whether Spark does so depends on
// the configuration.
func mayBeOverwritten(app *v1beta2.SparkApplication) bool {
	executor := &app.Spec.Executor
	return executor.MemoryLimit != nil || executor.Lifecycle != nil || executor.GPU != nil || len(executor.Env) > 0 ||
		app.Spec.HadoopConfigMap != nil || app.Spec.SparkConfigMap != nil
}

// Settings returns those settings of the executors that Spark overrides and that the operator therefore
// applies when an executor is admitted. The result lost contains the names (submit.Overwritten) of the overridden
// fields that cannot be applied at admission either. The argument c is the application's configuration, and the
// argument o is the overlay of its executors.
func Settings(app *v1beta2.SparkApplication, available admit.Available, c *conf.Conf, o overlay.Overlay) (settings admit.Settings, lost []string) {
	if !mayBeOverwritten(app) {
		return admit.Settings{}, nil
	}

	lost = append(submit.Overwritten(app.Spec.SparkVersion, o), submit.OverwrittenByConf(c, o)...)

	settings = available.Choose(overwrittenPart(o, lost))
	if settings.By == admit.None {
		return settings, lost
	}
	return settings, slices.DeleteFunc(lost, func(field string) bool {
		name, _, _ := strings.Cut(field, "[")
		switch name {
		case "MemoryLimit":
			return settings.Overlay.MemoryLimit != nil
		case "GPU":
			return settings.Overlay.GPU == o.GPU
		case "Lifecycle":
			return settings.Overlay.Lifecycle != nil
		case "Env", "SparkConfigMap", "HadoopConfigMap":
			return len(settings.Overlay.Env) > 0
		}
		return false
	})
}

// overwrittenPart returns an overlay that contains only the given fields of o. For spec.sparkConfigMap and
// spec.hadoopConfigMap it contains only the environment variables that name their directories, because the template
// already mounts these ConfigMaps.
func overwrittenPart(o overlay.Overlay, fields []string) (part overlay.Overlay) {
	last := make(map[string]corev1.EnvVar, len(o.Env))
	for _, v := range o.Env {
		last[v.Name] = v
	}

	for _, field := range fields {
		name, entry, _ := strings.Cut(strings.TrimSuffix(field, "]"), "[")
		switch name {
		case "MemoryLimit":
			part.MemoryLimit = o.MemoryLimit
		case "GPU":
			part.GPU = o.GPU
		case "Lifecycle":
			part.Lifecycle = o.Lifecycle
		case "Env":
			part.Env = append(part.Env, last[entry])
		case "SparkConfigMap":
			part.Env = append(part.Env, corev1.EnvVar{Name: "SPARK_CONF_DIR", Value: overlay.SparkConfDir})
		case "HadoopConfigMap":
			part.Env = append(part.Env, corev1.EnvVar{Name: "HADOOP_CONF_DIR", Value: overlay.HadoopConfDir})
		}
	}
	return part
}
