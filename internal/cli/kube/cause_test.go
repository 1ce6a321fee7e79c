package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestReplaceCause checks that a cause from the log replaces the cause in each condition that has it, also if the
// message continues with the time of the next attempt. Other conditions stay as they are.
func TestReplaceCause(t *testing.T) {
	const how, later, found = "server container failed with exit code 255",
		"; the next server starts at 2026-03-01T12:00:10Z", ": BindException"
	for before, want := range map[string]metav1.Condition{
		how:           {Reason: "BindFailed", Message: how + found},
		how + later:   {Reason: "BindFailed", Message: how + found + later},
		"it serves":   {Reason: "Error", Message: "it serves"},
		"then " + how: {Reason: "Error", Message: "then " + how},
	} {
		conditions := []metav1.Condition{{Reason: "Error", Message: before}}
		replaceCause(conditions, &lifecycle.Cause{Reason: "Error", Message: how},
			&lifecycle.Cause{Reason: "BindFailed", Message: how + found})

		if conditions[0] != want {
			t.Errorf("%q became %+v, want %+v", before, conditions[0], want)
		}
	}
}
