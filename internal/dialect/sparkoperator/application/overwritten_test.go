package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestConditionOfOverwrittenFields checks the condition that reports fields that Spark overrides. TestOverwrittenIsTold
// checks which fields these are.
func TestConditionOfOverwrittenFields(t *testing.T) {
	limited := func(a *v1beta2.SparkApplication) { a.Spec.Executor.MemoryLimit = new("4g") }
	for _, c := range []struct {
		name   string
		change func(*v1beta2.SparkApplication)
		m      lifecycle.Memory
		says   string // empty: no condition
	}{
		{"a field that Spark overwrites", limited, in(lifecycle.Launched), "spec.executor.memoryLimit has no effect: "},
		{"while the application runs", limited, in(lifecycle.Running), "spec.executor.memoryLimit"},
		{"after the end", limited, in(lifecycle.Done, ended(lifecycle.Succeeded)), "spec.executor.memoryLimit"},
		{"before the launch", limited, lifecycle.Memory{}, ""},
		{"a field of the driver", func(a *v1beta2.SparkApplication) { a.Spec.Driver.MemoryLimit = new("4g") }, in(lifecycle.Running), ""},
		{"a grace period, which has a configuration key", func(a *v1beta2.SparkApplication) { a.Spec.Executor.TerminationGracePeriodSeconds = new(int64(5)) }, in(lifecycle.Running), ""},
		{"one overwritten field among others", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "SPARK_LOCAL_DIRS", Value: "/x"}, {Name: "SPARK_USER", Value: "me"}}
		}, in(lifecycle.Running), "spec.executor.env[SPARK_LOCAL_DIRS] has no effect: Spark sets this variable from the volumes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sample(c.change)
			usual.encodeConditions(app, usual.app(app), c.m, t0)

			got := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten)
			if (got != nil) != (c.says != "") {
				t.Fatalf("condition %v, want one: %v", got, c.says != "")
			}

			if got != nil && (got.Status != "True" || got.Reason != reasonSetBySpark || !strings.HasPrefix(got.Message, c.says)) {
				t.Errorf("%s %s: %s; want %s", got.Status, got.Reason, got.Message, c.says)
			}
			// A corrected spec removes the condition.
			app.Spec.Executor = sample().Spec.Executor
			usual.encodeConditions(app, usual.app(app), c.m, t0)

			if got := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten); got != nil {
				t.Errorf("still there: %s", got.Message)
			}
		})
	}
}

func TestOverwrittenIsBounded(t *testing.T) {
	app := sample(func(a *v1beta2.SparkApplication) {
		for i := range 100 {
			a.Spec.Executor.Env = append(a.Spec.Executor.Env, corev1.EnvVar{Name: fmt.Sprint("SPARK_JAVA_OPT_", i)})
		}
	})
	if got := (Dialect{}).overwritten(app); len(got) != 21 || got[20] != "and 80 more"+admissionHint {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

// TestOverwrittenFieldsAreAppliedAtAdmission checks which fields are still reported if the webhook or a policy changes
// executors at admission. The report must end with the hint how to make the remaining fields work.
func TestOverwrittenFieldsAreAppliedAtAdmission(t *testing.T) {
	const simple, whole = `{memoryLimit: 4g}`, `{memoryLimit: 4g, env: [{name: SPARK_LOCAL_DIRS, value: /x}]}`
	for _, c := range []struct {
		name      string
		admission admit.Available
		executor  string
		by        admit.Mechanism
		reported  []string
	}{
		{"no webhook and no policy", admit.Available{}, whole, admit.None, []string{"spec.executor.memoryLimit", "spec.executor.env[SPARK_LOCAL_DIRS]"}},
		{"a policy", admit.Available{Policy: true}, simple, admit.Policy, nil},
		{"a policy, which cannot apply every field", admit.Available{Policy: true}, whole, admit.Policy, []string{"spec.executor.env[SPARK_LOCAL_DIRS]"}},
		{"the webhook", admit.Available{Webhook: true}, whole, admit.Webhook, nil},
		{"a policy and the webhook", admit.Available{Policy: true, Webhook: true}, simple, admit.Policy, nil},
		{"no overwritten field", admit.Available{Policy: true, Webhook: true}, `{env: [{name: MINE, value: x}]}`, admit.None, nil},
	} {
		d, app := Dialect{Options{Admission: c.admission}}, appOf(t, "spec: {executor: "+c.executor+"}")
		var reported []string

		all := d.overwritten(app)
		for i, text := range all {
			field, _, _ := strings.Cut(text, " has no effect: ")
			reported = append(reported, field)

			if hinted := strings.HasSuffix(text, admissionHint); hinted != (i == len(all)-1) {
				t.Errorf("%s: ends with admissionHint: %v: %s", c.name, hinted, text)
			}
		}

		if !slices.Equal(reported, c.reported) {
			t.Errorf("%s: reports %q, want %q", c.name, reported, c.reported)
		}

		r, err := d.request(app, 1, t0)
		if err != nil {
			t.Fatal(err)
		}

		if r.Admitted.By != c.by {
			t.Errorf("%s: changed by %q, want %q", c.name, r.Admitted.By, c.by)
		}

		objects, _, err := d.buildAttempt(app, 1, t0)
		if err != nil {
			t.Fatal(err)
		}

		for _, warning := range objects.Warnings {
			if strings.HasPrefix(warning, submit.OverwrittenPrefix) && c.by != admit.None {
				t.Errorf("%s: warns: %s", c.name, warning)
			}
		}
	}
}

// TestConditionStaysUntilTheNextAttempt checks that a running attempt keeps the condition if the webhook is enabled in
// the meantime, because the executors of the attempt still use the old template.
func TestConditionStaysUntilTheNextAttempt(t *testing.T) {
	app := appOf(t, "spec: {executor: {memoryLimit: 4g}}")
	later := Dialect{Options{Admission: admit.Available{Webhook: true}}}
	m := in(lifecycle.Running)
	usual.encodeConditions(app, usual.app(app), m, t0)

	before := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten)
	if before == nil {
		t.Fatal("no condition")
	}

	message := before.Message

	later.encodeConditions(app, later.app(app), m, t0)

	if got := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten); got == nil || got.Message != message {
		t.Errorf("the condition is %+v", got)
	}

	later.encodeConditions(app, later.app(app), lifecycle.Memory{}, t0)
	later.encodeConditions(app, later.app(app), m, t0)

	if got := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten); got != nil {
		t.Errorf("the next attempt has the condition %+v", got)
	}
}

// TestMemoryLimitBelowTheRequestIsRefused checks a memory limit of executors that is below the memory that they
// request. The limit is an error if the webhook would apply it to executors. Without the webhook it has no effect and
// is accepted.
func TestMemoryLimitBelowTheRequestIsRefused(t *testing.T) {
	for limit, refused := range map[string]bool{"1g": true, "1407m": true, "1408m": false, "4g": false} {
		app := appOf(t, "spec: {executor: {memory: 1g, memoryLimit: "+limit+"}}")

		faults := Dialect{Options{Admission: admit.Available{Webhook: true}}}.Faults(app, t0)
		if (len(faults) > 0) != refused {
			t.Errorf("%s: %v", limit, faults)
		}

		for _, fault := range faults {
			if fault.Field != "spec.executor.memoryLimit" || !strings.Contains(fault.Message, "is below the memory that executors request, 1408Mi") {
				t.Errorf("%s: %v", limit, fault)
			}
		}

		if faults := (Dialect{}).Faults(app, t0); len(faults) > 0 {
			t.Errorf("%s without admission: %v", limit, faults)
		}
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
		got := Dialect{}.overwritten(appOf(t, "spec: {"+piece+"}"))
		if n := len(got); n > 0 {
			text, hinted := strings.CutSuffix(got[n-1], "; such fields work if webhook.enable and webhook.executors.enable are true in the values of the operator's chart")
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
	for name, way := range overwrittenWays {
		if !strings.HasPrefix(way.field, "spec.") || way.way == "" || strings.HasSuffix(way.way, ".") {
			t.Errorf("%s: %+v", name, way)
		}

		if base, _, listed := strings.Cut(name, "["); listed && overwrittenWays[base].field != way.field {
			t.Errorf("%s: the field is %s, that of %s is %s", name, way.field, base, overwrittenWays[base].field)
		}
	}
}

// TestSettingsAppliedAtAdmission checks which part of an executor's overlay the operator applies at admission. It is
// exactly the part that Spark overrides; of ConfigMaps it is the variable with their directory.
func TestSettingsAppliedAtAdmission(t *testing.T) {
	whole := appOf(t, `
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
		"nothing":   {admit.Available{}, admit.None, nil, all},
		"a policy":  {admit.Available{Policy: true}, admit.Policy, nil, []string{"Env[SPARK_LOCAL_DIRS]", "HadoopConfigMap", "Lifecycle"}},
		"a webhook": {admit.Available{Webhook: true}, admit.Webhook, []corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS", Value: "c"}, {Name: "HADOOP_CONF_DIR", Value: "/etc/hadoop/conf"}}, nil},
	} {
		d := Dialect{Options{Admission: test.available}}

		c, err := sparkConf(whole)
		if err != nil {
			t.Fatal(err)
		}

		o, err := executorOverlay(whole)
		if err != nil {
			t.Fatal(err)
		}

		settings, lost := d.admissionSettings(whole, c, o)
		if settings.By != test.by || !slices.Equal(lost, test.lost) {
			t.Errorf("%s: by %q, lost %q; want %q, %q", name, settings.By, lost, test.by, test.lost)
		}

		if test.by == admit.None {
			continue
		}

		got := settings.Overlay
		if got.MemoryLimit == nil || got.MemoryLimit.String() != "4Gi" || got.GPU.Quantity != 2 || (got.Lifecycle != nil) != (test.by == admit.Webhook) {
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
	app := sample(func(a *v1beta2.SparkApplication) {
		a.Spec.Executor.MemoryLimit = new("4g")
		a.Spec.Executor.Env = []corev1.EnvVar{{Name: "SPARK_LOCAL_DIRS", Value: strings.Repeat("x", 1<<20)}}
	})

	got := Dialect{Options{Admission: admit.Available{Webhook: true}}}.overwritten(app)
	if len(got) != 1 || !strings.HasPrefix(got[0], "spec.executor.env[SPARK_LOCAL_DIRS] has no effect: ") || strings.HasSuffix(got[0], admissionHint) {
		t.Errorf("reported %.300q", got)
	}
}
