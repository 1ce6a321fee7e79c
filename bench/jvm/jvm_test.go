package jvm

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

func TestFigures(t *testing.T) {
	got := figures("4.1.4", 4, []cost{{2 * time.Second, time.Second, 3e6}, {4 * time.Second, 2 * time.Second, 1e6}}, 5*time.Second)
	of := "Spark 4.1.4, 4 at once"
	want := []figure.Figure{
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitWall, Value: 3, Unit: "s"},
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitCPU, Value: 1.5, Unit: "s"},
		{Scenario: figure.Submit, Case: of, Name: figure.SubmitMemory, Value: 3, Unit: "MB"},
		{Scenario: figure.Submit, Case: of, Name: "submissions a second", Value: 0.4, Unit: "1/s"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArguments(t *testing.T) {
	args := arguments("https://127.0.0.1:6443", "4.1.4", "x")
	for _, want := range []string{
		"k8s://https://127.0.0.1:6443", "spark.kubernetes.submission.waitAppCompletion=false", "spark.kubernetes.container.image=docker.io/apache/spark:4.1.4",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s", want)
		}
	}
}
