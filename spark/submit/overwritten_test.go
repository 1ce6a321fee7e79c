package submit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestOverwrittenByConf checks the rules of OverwrittenByConf one by one. The files in
// internal/dialect/sparkoperator/application/testdata/executors show which fields of a template real executors keep.
func TestOverwrittenByConf(t *testing.T) {
	env := func(name, value string) overlay.Overlay {
		return overlay.Overlay{Env: []corev1.EnvVar{{Name: name, Value: value}}}
	}
	from := func(name string) overlay.Overlay {
		return overlay.Overlay{Env: []corev1.EnvVar{{Name: name, ValueFrom: &corev1.EnvVarSource{}}}}
	}
	gpus := func(amount string) map[string]string {
		return map[string]string{"spark.executor.resource.gpu.vendor": "nvidia.com",
			"spark.executor.resource.gpu.amount": amount}
	}

	twoGPUs := overlay.Overlay{GPU: overlay.GPU{Name: "nvidia.com/gpu", Quantity: 2}}
	for _, c := range []struct {
		name string
		conf map[string]string
		o    overlay.Overlay
		want []string
	}{
		{"nothing", nil, overlay.Overlay{HostNetwork: true}, nil},
		{"a variable in the overlay only", nil, env("A", "1"), nil},
		{"a variable with another value in the configuration", map[string]string{"spark.executorEnv.A": "2"},
			env("A", "1"), []string{"Env[A]"}},
		{"a variable with the same value in the configuration", map[string]string{"spark.executorEnv.A": "1"},
			env("A", "1"), nil},
		{"a variable that the configuration reads from a Secret",
			map[string]string{"spark.kubernetes.executor.secretKeyRef.A": "s:k"}, env("A", "1"), []string{"Env[A]"}},
		{"a variable from a source that the configuration sets", map[string]string{"spark.executorEnv.A": ""},
			from("A"), []string{"Env[A]"}},
		{"two values in the overlay", map[string]string{"spark.executorEnv.A": "1"},
			overlay.Overlay{Env: []corev1.EnvVar{{Name: "A", Value: "0"}, {Name: "A", Value: "1"}}}, nil},
		{"a variable that Spark sets first", nil, env("SPARK_USER", "me"), []string{"Env[SPARK_USER]"}},
		{"a variable that Spark sets first, in the configuration",
			map[string]string{"spark.executorEnv.SPARK_USER": "me"}, env("SPARK_USER", "me"), nil},
		{"a variable that Spark sets last", map[string]string{"spark.executorEnv.SPARK_LOCAL_DIRS": "/x"},
			env("SPARK_LOCAL_DIRS", "/x"), []string{"Env[SPARK_LOCAL_DIRS]"}},
		{"a JVM option of Spark", nil, env("SPARK_JAVA_OPT_7", "-Dx"), []string{"Env[SPARK_JAVA_OPT_7]"}},
		{"a class path in the overlay only", nil, env("SPARK_CLASSPATH", "/x"), nil},
		{"a class path in the configuration too", map[string]string{"spark.executor.extraClassPath": "/y"},
			env("SPARK_CLASSPATH", "/x"), []string{"Env[SPARK_CLASSPATH]"}},
		{"Spark's configuration files", nil, overlay.Overlay{SparkConfigMap: "c"}, []string{"SparkConfigMap"}},
		{"Spark's configuration directory in the configuration",
			map[string]string{"spark.executorEnv.SPARK_CONF_DIR": overlay.SparkConfDir},
			overlay.Overlay{SparkConfigMap: "c"}, nil},
		{"Hadoop's configuration files in the overlay only", nil, overlay.Overlay{HadoopConfigMap: "c"}, nil},
		{"Hadoop's configuration files in the configuration too",
			map[string]string{"spark.kubernetes.hadoop.configMapName": "d"}, overlay.Overlay{HadoopConfigMap: "c"},
			[]string{"HadoopConfigMap"}},
		{"devices in the overlay only", nil, twoGPUs, nil},
		{"the same number of devices in the configuration", gpus("2"), twoGPUs, nil},
		{"other devices in the configuration", gpus("1"),
			overlay.Overlay{GPU: overlay.GPU{Name: "amd.com/gpu", Quantity: 2}}, nil},
		{"another number of devices in the configuration", gpus("1"), twoGPUs, []string{"GPU[nvidia.com/gpu]"}},
		{"lifecycle hooks", nil, overlay.Overlay{Lifecycle: &corev1.Lifecycle{}}, nil},
		{"lifecycle hooks and decommissioning", map[string]string{"spark.decommission.enabled": "true"},
			overlay.Overlay{Lifecycle: &corev1.Lifecycle{}}, []string{"Lifecycle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, submit.OverwrittenByConf(conf.FromMap(c.conf), c.o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
