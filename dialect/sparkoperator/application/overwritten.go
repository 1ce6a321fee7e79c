package application

import (
	"fmt"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ConditionFieldsOverwritten is True if an attempt has been submitted and spec.executor has fields that Spark overrides
// on every executor. The message of the condition names these fields and what to do. Otherwise the condition is absent.
const ConditionFieldsOverwritten = "FieldsOverwritten"

// reasonSetBySpark is the reason of the condition ConditionFieldsOverwritten.
const reasonSetBySpark = "SetBySpark"

// overwrittenWays maps each field in submit.Overwritten and submit.OverwrittenByConf to the field of the custom
// resource and the advice what to do instead.
var overwrittenWays = map[string]struct{ field, way string }{
	"MemoryLimit":     {"spec.executor.memoryLimit", "Spark limits executors to heap and overhead; set memoryOverhead instead"},
	"Lifecycle":       {"spec.executor.lifecycle", "spark.decommission.enabled adds Spark's own hook; spark.kubernetes.decommission.script names what it runs"},
	"GPU":             {"spec.executor.gpu", "spark.executor.resource.* requests another amount of the same device; set the same amount"},
	"Env":             {"spec.executor.env", "Spark sets this variable last"},
	"SparkConfigMap":  {"spec.sparkConfigMap", "Spark sets SPARK_CONF_DIR of executors last"},
	"HadoopConfigMap": {"spec.hadoopConfigMap", "spark.kubernetes.hadoop.configMapName sets HADOOP_CONF_DIR of executors; use one of the two"},
	// If the field has a configuration key, executorConf sets the key, so the field is not overridden.
	"TerminationGracePeriodSeconds": {"spec.executor.terminationGracePeriodSeconds", "set spark.kubernetes.executor.terminationGracePeriodSeconds"},
	"Env[SPARK_LOCAL_DIRS]":         {"spec.executor.env", "Spark sets it from the volumes whose names begin with " + localVolumePrefix + "; mount such volumes instead"},
}

// overwritten returns the fields of an application's executors that have no effect, each with what to do instead.
// Kubeflow's operator sets these fields with a webhook, which changes the pods after Spark has built them.
func overwritten(app *v1beta2.SparkApplication) (reported []string) {
	const most = 20 // a condition's message is limited
	executor := &app.Spec.Executor
	if executor.MemoryLimit == nil && executor.Lifecycle == nil && executor.GPU == nil && len(executor.Env) == 0 && app.Spec.HadoopConfigMap == nil {
		return nil // the common case, and every pass comes here
	}
	o, err := executorOverlay(app)
	c, confErr := sparkConf(app)
	if err != nil || confErr != nil {
		return nil // rejected elsewhere
	}
	all := append(submit.Overwritten(app.Spec.SparkVersion, o), submit.OverwrittenByConf(c, o)...)
	for _, lost := range all[:min(len(all), most)] {
		name, entry, listed := strings.Cut(strings.TrimSuffix(lost, "]"), "[")
		way, ok := overwrittenWays[lost]
		if !ok {
			way = overwrittenWays[name]
		}
		if listed && name == "Env" {
			way.field += "[" + entry + "]"
		}
		reported = append(reported, way.field+" has no effect: "+way.way)
	}
	if more := len(all) - most; more > 0 {
		reported = append(reported, fmt.Sprintf("and %d more", more))
	}
	return reported
}
