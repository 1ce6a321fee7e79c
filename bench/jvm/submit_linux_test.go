package jvm

import (
	"context"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
	"github.com/sparkoperator/spark-operator/bench/world/worldtest"
)

// asked is the environment variable that asks for what takes longer than the tests of every change may.
const asked = "BENCH_SUBMIT"

// TestMeasure submits for real, with one version: every figure is there, and nothing stays.
func TestMeasure(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running an image's files takes root")
	}
	if os.Getenv(asked) == "" {
		t.Skip(asked + " is not set: starting a control plane and Java machines takes minutes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w := worldtest.New(ctx, t, world.Options{Operator: "none"})
	var s figure.Run
	const version = "4.1.4"
	small := sizes{alone: 1, atOnce: 2}
	if err := small.measure(ctx, w, &s, t.Output(), []string{version}); err != nil {
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
	for _, atOnce := range []int{1, small.atOnce} {
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
