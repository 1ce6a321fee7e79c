package scenario

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/jvm"
)

func TestBesides(t *testing.T) {
	var s Sink
	s.Add(
		figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase("4.1.4", 1), Name: figure.SubmitCPU, Value: 5, Unit: "s"},
		figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase("4.1.4", jvm.AtOnce), Name: "submissions a second", Value: 0.5, Unit: "1/s"},
	)
	want := []figure.Figure{
		{Scenario: figure.Lives, Case: "spark-submit 4.1.4", Name: figure.Rate, Value: 0.5, Unit: "1/s"},
		{Scenario: figure.Lives, Case: "spark-submit 4.1.4", Name: figure.CPU, Value: 5000, Unit: "ms"},
	}
	if diff := cmp.Diff(want, besides(&s, []string{"4.1.4", "3.5.9"})); diff != "" {
		t.Error(diff)
	}
}
