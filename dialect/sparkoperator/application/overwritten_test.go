package application

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
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
		{"later", limited, in(lifecycle.Running), "spec.executor.memoryLimit"},
		{"when it is over", limited, in(lifecycle.Done, ended(lifecycle.Succeeded)), "spec.executor.memoryLimit"},
		{"before anything is launched", limited, lifecycle.Memory{}, ""},
		{"of the driver, which nobody overwrites", func(a *v1beta2.SparkApplication) { a.Spec.Driver.MemoryLimit = new("4g") }, in(lifecycle.Running), ""},
		{"a grace period, which goes by configuration", func(a *v1beta2.SparkApplication) { a.Spec.Executor.TerminationGracePeriodSeconds = new(int64(5)) }, in(lifecycle.Running), ""},
		{"one among others that work", func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "SPARK_LOCAL_DIRS", Value: "/x"}, {Name: "SPARK_USER", Value: "me"}}
		}, in(lifecycle.Running), "spec.executor.env[SPARK_LOCAL_DIRS] has no effect: Spark sets it from the volumes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := sample(c.change)
			encodeConditions(app, usual.app(app), c.m, "", t0)
			got := meta.FindStatusCondition(app.Status.Conditions, ConditionFieldsOverwritten)
			if (got != nil) != (c.says != "") {
				t.Fatalf("condition %v, want one: %v", got, c.says != "")
			}
			if got != nil && (got.Status != "True" || got.Reason != reasonSetBySpark || !strings.HasPrefix(got.Message, c.says)) {
				t.Errorf("%s %s: %s; want %s", got.Status, got.Reason, got.Message, c.says)
			}
			// A corrected spec removes the condition.
			app.Spec.Executor = sample().Spec.Executor
			encodeConditions(app, usual.app(app), c.m, "", t0)
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
	if got := overwritten(app); len(got) != 21 || got[20] != "and 80 more" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}
