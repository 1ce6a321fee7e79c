package jvm

import (
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
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

// TestMeasure submits for real, with one version: every figure is there, and nothing stays.
func TestMeasure(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("running an image's files takes Linux and root")
	}
	if testing.Short() {
		t.Skip("-short: starts a control plane and Java machines")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w, err := world.New(ctx, world.Options{Root: "../..", Operator: "none", Local: os.Getenv("SPARKLOCAL")}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	var s figure.Run
	const version = "4.1.4"
	if err := Measure(ctx, w, &s, t.Output(), version); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Figures {
		t.Logf("%s: %.2f %s", f.ID(), f.Value, f.Unit)
		if f.Value <= 0 {
			t.Errorf("%s is %v", f.ID(), f.Value)
		}
	}
	if len(s.Figures) != 8 {
		t.Errorf("%d figures", len(s.Figures))
	}
	// A Java machine needs more than 50 MB and less than 4 GB: it is that what was looked at.
	for _, atOnce := range []int{1, AtOnce} {
		f, ok := s.Value(figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase(version, atOnce), Name: figure.SubmitMemory}.ID())
		if !ok || f.Value < 50 || f.Value > 4000 {
			t.Errorf("%+v, %t", f, ok)
		}
	}
	pods, err := w.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods are left, %v", len(pods.Items), err)
	}
}
