package application

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
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
		{"a field that Spark overwrites", limited, sparkapp.In(lifecycle.Launched),
			"spec.executor.memoryLimit has no effect: "},
		{"while the application runs", limited, sparkapp.In(lifecycle.Running), "spec.executor.memoryLimit"},
		{"after the end", limited, sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Succeeded)),
			"spec.executor.memoryLimit"},
		{"before the launch", limited, lifecycle.Memory{}, ""},
		{"a field of the driver", func(a *v1beta2.SparkApplication) { a.Spec.Driver.MemoryLimit = new("4g") },
			sparkapp.In(lifecycle.Running), ""},
		{"a grace period, which has a configuration key",
			func(a *v1beta2.SparkApplication) { a.Spec.Executor.TerminationGracePeriodSeconds = new(int64(5)) },
			sparkapp.In(lifecycle.Running), ""},
		{"one overwritten field among others", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "SPARK_LOCAL_DIRS", Value: "/x"},
				{Name: "SPARK_USER", Value: "me"}}
		}, sparkapp.In(lifecycle.Running),
			"spec.executor.env[SPARK_LOCAL_DIRS] has no effect: Spark sets this variable from the volumes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sparkapp.Sample(c.change)
			usual.encodeConditions(app, usual.app(app), c.m, sparkapp.T0)

			got := meta.FindStatusCondition(app.Status.Conditions, overwritten.Condition)
			if (got != nil) != (c.says != "") {
				t.Fatalf("condition %v, want one: %v", got, c.says != "")
			}

			if got != nil && (got.Status != "True" || got.Reason != overwritten.ReasonSetBySpark ||
				!strings.HasPrefix(got.Message, c.says)) {
				t.Errorf("%s %s: %s; want %s", got.Status, got.Reason, got.Message, c.says)
			}
			// A corrected spec removes the condition.
			app.Spec.Executor = sparkapp.Sample().Spec.Executor
			usual.encodeConditions(app, usual.app(app), c.m, sparkapp.T0)

			if got := meta.FindStatusCondition(app.Status.Conditions, overwritten.Condition); got != nil {
				t.Errorf("still there: %s", got.Message)
			}
		})
	}
}

// admissionHint is the end of the last text about overwritten fields.
const admissionHint = "; such fields work if webhook.enable and webhook.executors.enable are true in the values of the operator's chart"

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
		{"no webhook and no policy", admit.Available{}, whole, admit.None,
			[]string{"spec.executor.memoryLimit", "spec.executor.env[SPARK_LOCAL_DIRS]"}},
		{"a policy", admit.Available{Policy: true}, simple, admit.Policy, nil},
		{"a policy, which cannot apply every field", admit.Available{Policy: true}, whole, admit.Policy,
			[]string{"spec.executor.env[SPARK_LOCAL_DIRS]"}},
		{"the webhook", admit.Available{Webhook: true}, whole, admit.Webhook, nil},
		{"a policy and the webhook", admit.Available{Policy: true, Webhook: true}, simple, admit.Policy, nil},
		{"no overwritten field", admit.Available{Policy: true, Webhook: true}, `{env: [{name: MINE, value: x}]}`,
			admit.None, nil},
	} {
		d, app := Dialect{Options{Admission: c.admission}}, sparkapp.Of(t, "spec: {executor: "+c.executor+"}")
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

		r, err := d.request(app, 1, sparkapp.T0)
		if err != nil {
			t.Fatal(err)
		}

		if r.Admitted.By != c.by {
			t.Errorf("%s: changed by %q, want %q", c.name, r.Admitted.By, c.by)
		}

		objects, _, err := d.buildAttempt(app, 1, sparkapp.T0)
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
	app := sparkapp.Of(t, "spec: {executor: {memoryLimit: 4g}}")
	later := Dialect{Options{Admission: admit.Available{Webhook: true}}}
	m := sparkapp.In(lifecycle.Running)
	usual.encodeConditions(app, usual.app(app), m, sparkapp.T0)

	before := meta.FindStatusCondition(app.Status.Conditions, overwritten.Condition)
	if before == nil {
		t.Fatal("no condition")
	}

	message := before.Message

	later.encodeConditions(app, later.app(app), m, sparkapp.T0)

	if got := meta.FindStatusCondition(app.Status.Conditions, overwritten.Condition); got == nil ||
		got.Message != message {
		t.Errorf("the condition is %+v", got)
	}

	later.encodeConditions(app, later.app(app), lifecycle.Memory{}, sparkapp.T0)
	later.encodeConditions(app, later.app(app), m, sparkapp.T0)

	if got := meta.FindStatusCondition(app.Status.Conditions, overwritten.Condition); got != nil {
		t.Errorf("the next attempt has the condition %+v", got)
	}
}

// TestMemoryLimitBelowTheRequestIsRefused checks a memory limit of executors that is below the memory that they
// request. The limit is an error if the webhook would apply it to executors. Without the webhook it has no effect and
// is accepted.
func TestMemoryLimitBelowTheRequestIsRefused(t *testing.T) {
	for limit, refused := range map[string]bool{"1g": true, "1407m": true, "1408m": false, "4g": false} {
		app := sparkapp.Of(t, "spec: {executor: {memory: 1g, memoryLimit: "+limit+"}}")

		faults := Dialect{Options{Admission: admit.Available{Webhook: true}}}.Faults(app, sparkapp.T0)
		if (len(faults) > 0) != refused {
			t.Errorf("%s: %v", limit, faults)
		}

		for _, fault := range faults {
			if fault.Field != "spec.executor.memoryLimit" ||
				!strings.Contains(fault.Message, "is below the memory that executors request, 1408Mi") {
				t.Errorf("%s: %v", limit, fault)
			}
		}

		if faults := (Dialect{}).Faults(app, sparkapp.T0); len(faults) > 0 {
			t.Errorf("%s without admission: %v", limit, faults)
		}
	}
}
