package overwritten

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// advice returns the texts about the fields of executors that Spark overrides.
func advice(app *v1beta2.SparkApplication, available admit.Available) []string {
	return Advice(app, available, func() (*conf.Conf, error) { return specification.Configuration(app) })
}

func TestOverwrittenIsBounded(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		for i := range 100 {
			a.Spec.Executor.Env = append(a.Spec.Executor.Env, corev1.EnvVar{Name: fmt.Sprint("SPARK_JAVA_OPT_", i)})
		}
	})
	if got := advice(app, admit.Available{}); len(got) != 21 || got[20] != "and 80 more"+admissionHint {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

// TestOverwrittenFieldsHaveAdvice checks the whole text about each field that Spark can override. The text must be
// empty if Spark's configuration agrees with the field.
func TestOverwrittenFieldsHaveAdvice(t *testing.T) {
	const gpu = `executor: {gpu: {name: nvidia.com/gpu, quantity: 2}}, sparkConf: {spark.executor.resource.gpu.vendor: nvidia.com, spark.executor.resource.gpu.amount: `
	for piece, want := range map[string][]string{
		``:                            nil,
		`executor: {memoryLimit: 4g}`: {"spec.executor.memoryLimit has no effect: Spark limits executors to heap and overhead; set memoryOverhead instead"},
		`executor: {lifecycle: {preStop: {sleep: {seconds: 1}}}}`: nil,
		`executor: {lifecycle: {preStop: {sleep: {seconds: 1}}}}, sparkConf: {spark.decommission.enabled: "true"}`: {
			"spec.executor.lifecycle has no effect: spark.decommission.enabled adds Spark's own hook; spark.kubernetes.decommission.script sets the script that this hook runs",
		},
		`executor: {gpu: {name: nvidia.com/gpu, quantity: 2}}`: nil,
		gpu + `"2"}`: nil,
		gpu + `"1"}`: {"spec.executor.gpu has no effect: spark.executor.resource.* requests another amount of the same device; set the same amount"},
		`executor: {env: [{name: MINE, value: x}]}`:                                                {},
		`executor: {env: [{name: SPARK_USER, value: x}]}`:                                          nil,
		`executor: {env: [{name: SPARK_JAVA_OPT_0, value: x}]}`:                                    {"spec.executor.env[SPARK_JAVA_OPT_0] has no effect: Spark sets this variable last"},
		`executor: {env: [{name: SPARK_LOCAL_DIRS, value: /x}]}`:                                   {"spec.executor.env[SPARK_LOCAL_DIRS] has no effect: Spark sets this variable from the volumes whose names begin with spark-local-dir-; mount such volumes instead"},
		`executor: {env: [{name: SPARK_USER, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`: {"spec.executor.env[SPARK_USER] has no effect: Spark sets this variable last"},
		`executor: {env: [{name: SPARK_LOCAL_DIRS, value: a}, {name: SPARK_LOCAL_DIRS, value: b}], memoryLimit: 4g}`: {
			"spec.executor.memoryLimit has no effect: Spark limits executors to heap and overhead; set memoryOverhead instead",
			"spec.executor.env[SPARK_LOCAL_DIRS] has no effect: Spark sets this variable from the volumes whose names begin with spark-local-dir-; mount such volumes instead",
		},
		`hadoopConfigMap: c`: nil,
		`hadoopConfigMap: c, sparkConf: {spark.kubernetes.hadoop.configMapName: other}`: {
			"spec.hadoopConfigMap has no effect: spark.kubernetes.hadoop.configMapName sets HADOOP_CONF_DIR of executors; use one of the two",
		},
		`sparkConfigMap: c`: nil,
		`sparkConfigMap: c, sparkConf: {spark.kubernetes.executor.secretKeyRef.SPARK_CONF_DIR: "s:k"}`: {"spec.sparkConfigMap has no effect: Spark sets SPARK_CONF_DIR of executors last"},
		`driver: {memoryLimit: 4g, env: [{name: SPARK_LOCAL_DIRS, value: /x}]}`:                        nil,
		`executor: {memoryLimit: lots}`:                                               nil, // an error of the application
		`executor: {memoryLimit: 4g, volumeMounts: [{name: missing, mountPath: /v}]}`: nil,
	} {
		got := advice(sparkapp.Of(t, "spec: {"+piece+"}"), admit.Available{})
		if n := len(got); n > 0 {
			text, hinted := strings.CutSuffix(got[n-1],
				"; such fields work if webhook.enable and webhook.executors.enable are true in the values of the operator's chart")
			if !hinted {
				t.Errorf("%s: no hint in %q", piece, got[n-1])
			}

			got[n-1] = text
		}

		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", piece, got, want)
		}
	}
}

// TestEveryOverwrittenFieldIsNamed checks that each advice names a field and says what to do, and that no key of the
// table has the brackets of an entry that is not itself in the table.
func TestEveryOverwrittenFieldIsNamed(t *testing.T) {
	for name, way := range ways {
		if !strings.HasPrefix(way.field, "spec.") || way.way == "" || strings.HasSuffix(way.way, ".") {
			t.Errorf("%s: %+v", name, way)
		}

		if base, _, listed := strings.Cut(name, "["); listed && ways[base].field != way.field {
			t.Errorf("%s: the field is %s, that of %s is %s", name, way.field, base, ways[base].field)
		}
	}
}

// TestSettingsAppliedAtAdmission checks which part of an executor's overlay the operator applies at admission. It is
// exactly the part that Spark overrides; of ConfigMaps it is the variable with their directory.
func TestSettingsAppliedAtAdmission(t *testing.T) {
	whole := sparkapp.Of(t, `
spec:
  hadoopConfigMap: h
  sparkConf: {spark.kubernetes.hadoop.configMapName: other, spark.decommission.enabled: "true", spark.executor.resource.gpu.vendor: nvidia.com, spark.executor.resource.gpu.amount: "1"}
  executor:
    memoryLimit: 4g
    lifecycle: {preStop: {sleep: {seconds: 1}}}
    gpu: {name: nvidia.com/gpu, quantity: 2}
    env: [{name: SPARK_LOCAL_DIRS, value: a}, {name: MINE, value: b}, {name: SPARK_LOCAL_DIRS, value: c}]`)

	all := []string{"MemoryLimit", "Env[SPARK_LOCAL_DIRS]", "HadoopConfigMap", "GPU[nvidia.com/gpu]", "Lifecycle"}
	for name, test := range map[string]struct {
		available admit.Available
		by        admit.Mechanism
		env       []corev1.EnvVar
		lost      []string
	}{
		"nothing": {admit.Available{}, admit.None, nil, all},
		"a policy": {admit.Available{Policy: true}, admit.Policy, nil,
			[]string{"Env[SPARK_LOCAL_DIRS]", "HadoopConfigMap", "Lifecycle"}},
		"a webhook": {admit.Available{Webhook: true}, admit.Webhook,
			[]corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS", Value: "c"},
				{Name: "HADOOP_CONF_DIR", Value: "/etc/hadoop/conf"}}, nil},
	} {
		c, err := specification.Configuration(whole)
		if err != nil {
			t.Fatal(err)
		}

		o, err := specification.ExecutorOverlay(whole)
		if err != nil {
			t.Fatal(err)
		}

		settings, lost := Settings(whole, test.available, c, o)
		if settings.By != test.by || !slices.Equal(lost, test.lost) {
			t.Errorf("%s: by %q, lost %q; want %q, %q", name, settings.By, lost, test.by, test.lost)
		}

		if test.by == admit.None {
			continue
		}

		got := settings.Overlay
		if got.MemoryLimit == nil || got.MemoryLimit.String() != "4Gi" || got.GPU.Quantity != 2 ||
			(got.Lifecycle != nil) != (test.by == admit.Webhook) {
			t.Errorf("%s: the overlay is %+v", name, got)
		}

		if diff := cmp.Diff(test.env, got.Env); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", name, diff)
		}

		if got.HadoopConfigMap != "" || len(got.OwnerReferences) > 0 || got.EnableServiceLinks != nil {
			t.Errorf("%s: the overlay has more than Spark overrides: %+v", name, got)
		}
	}
}

// TestLargeSettingsAreReportedWithoutAHint checks that fields that are too large for the webhook are still reported.
// The report does not advise to enable the webhook, because it is enabled.
func TestLargeSettingsAreReportedWithoutAHint(t *testing.T) {
	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) {
		a.Spec.Executor.MemoryLimit = new("4g")
		a.Spec.Executor.Env = []corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS", Value: strings.Repeat("x", 1<<20)}}
	})

	got := advice(app, admit.Available{Webhook: true})
	if len(got) != 1 || !strings.HasPrefix(got[0], "spec.executor.env[SPARK_LOCAL_DIRS] has no effect: ") ||
		strings.HasSuffix(got[0], admissionHint) {
		t.Errorf("reported %.300q", got)
	}
}
