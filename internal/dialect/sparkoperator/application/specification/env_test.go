package specification

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestExecutorConf checks the configuration keys for those fields of executors that Spark overrides in a template.
func TestExecutorConf(t *testing.T) {
	const grace, user, confDir, cores, mine = "spark.kubernetes.executor.terminationGracePeriodSeconds",
		"spark.executorEnv.SPARK_USER", "spark.executorEnv.SPARK_CONF_DIR",
		"spark.executorEnv.SPARK_EXECUTOR_CORES", "spark.executorEnv.MINE"

	before := map[string]string{"spark.a": "b", mine: "conf", user: "conf"}
	for piece, want := range map[string]map[string]string{
		`{}`: {},
		`executor: {env: [{name: MINE, value: x}]}`:                                       {mine: ""},
		`executor: {env: [{name: SPARK_USER, value: me}]}`:                                {user: "me"},
		`executor: {env: [{name: SPARK_USER, value: me}, {name: SPARK_USER, value: ""}]}`: {user: "-"},
		`executor: {env: [{name: SPARK_USER, valueFrom: {fieldRef: {fieldPath: a}}}]}`:    {user: ""},
		`executor: {env: [{name: SPARK_EXECUTOR_CORES, value: "3"}]}`:                     {cores: "3"},
		`sparkConfigMap: ""`: {},
		`sparkConfigMap: c`:  {confDir: "/etc/spark/conf"},
		`{sparkConfigMap: c, executor: {env: [{name: SPARK_CONF_DIR, value: /mine}]}}`: {confDir: "/etc/spark/conf"},
	} {
		expected := maps.Clone(before)
		for key, value := range want {
			switch value {
			case "": // the key is deleted
				delete(expected, key)
			case "-": // the key is set to an empty text
				expected[key] = ""
			default:
				expected[key] = value
			}
		}

		if piece[0] != '{' {
			piece = "{" + piece + "}"
		}

		spec, c := &sparkapp.Of(t, "spec: "+piece).Spec, conf.FromMap(before)
		for _, times := range []string{"once", "twice"} {
			executorEnv(c, spec)

			if diff := cmp.Diff(expected, c.Map()); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", piece, times, diff)
			}
		}
	}
}

// TestTypedVariablesOverKeys checks that a variable in a typed field removes the keys that would set the same variable
// of the same role. The keys of other variables and of the other role stay.
func TestTypedVariablesOverKeys(t *testing.T) {
	const (
		driverA, driverRefA     = "spark.kubernetes.driverEnv.A", "spark.kubernetes.driver.secretKeyRef.A"
		executorA, executorRefA = "spark.executorEnv.A", "spark.kubernetes.executor.secretKeyRef.A"
		driverB, executorB      = "spark.kubernetes.driverEnv.AB", "spark.executorEnv.AB"
		hadoop, spark           = "spark.kubernetes.driverEnv.HADOOP_CONF_DIR",
			"spark.kubernetes.driverEnv.SPARK_CONF_DIR"
		hadoopX, sparkX = "spark.executorEnv.HADOOP_CONF_DIR", "spark.executorEnv.SPARK_CONF_DIR"
	)

	all := []string{driverA, driverRefA, executorA, executorRefA, driverB, executorB, hadoop, spark, hadoopX, sparkX}
	for piece, removed := range map[string]map[string][]string{
		`{}`:                                        {},
		`driver: {env: [{name: A}]}`:                {"driver": {driverA, driverRefA}},
		`executor: {env: [{name: A}]}`:              {"executor": {executorA, executorRefA}},
		`driver: {envVars: {A: x}}`:                 {},
		`hadoopConfigMap: c`:                        {"driver": {hadoop}, "executor": {hadoopX}},
		`sparkConfigMap: c`:                         {"driver": {spark}, "executor": {sparkX}},
		`{hadoopConfigMap: "", sparkConfigMap: ""}`: {},
	} {
		if piece[0] != '{' {
			piece = "{" + piece + "}"
		}

		spec := &sparkapp.Of(t, "spec: "+piece).Spec
		for role, pod := range map[string]*v1beta2.SparkPodSpec{"driver": &spec.Driver.SparkPodSpec,
			"executor": &spec.Executor.SparkPodSpec} {
			want := map[string]string{}
			for _, key := range all {
				want[key] = "conf"
			}

			c := conf.FromMap(want)
			for _, key := range removed[role] {
				delete(want, key)
			}

			typedEnv(c, spec, role, pod.Env)

			if diff := cmp.Diff(want, c.Map()); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", piece, role, diff)
			}
		}
	}
}
