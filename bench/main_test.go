package main

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

func TestStartRefuses(t *testing.T) {
	for _, o := range []options{{plan: "none"}, {plan: "quick", only: "burst,none"}} {
		if err := start(t.Context(), o, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "none") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestLabel(t *testing.T) {
	for want, o := range map[string]options{"full": {plan: "full"}, "quick-burst-lives": {plan: "quick", only: "burst,lives"}, "schedules": {plan: "full", schedules: 3}} {
		if got := o.label(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHold has a part of a plan be held to what it measured, and a whole one to everything.
func TestHold(t *testing.T) {
	run := &figure.Run{}
	run.Add(figure.Figure{Scenario: figure.Lives, Case: figure.Operator, Name: figure.Rate, Value: 10, Unit: "1/s"})
	for only, wrong := range map[string]bool{"": true, "burst": true} {
		var out strings.Builder
		if err := (options{plan: "quick", only: only}).hold(run, &out); (err != nil) != wrong {
			t.Errorf("only %q: %v\n%s", only, err, out.String())
		}
	}
	if err := (options{plan: "full", only: "standing"}).hold(&figure.Run{}, &strings.Builder{}); err != nil {
		t.Errorf("a run is held to what it did not measure: %v", err)
	}
	if err := (options{plan: "none"}).hold(run, &strings.Builder{}); err == nil {
		t.Error("there are ranges for no plan")
	}
}

func TestKeep(t *testing.T) {
	run := &figure.Run{Plan: "quick"}
	run.Say("lives", "said")
	dir := t.TempDir() + "/runs"
	var out strings.Builder
	if err := (options{out: dir}).keep(run, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lives: said", dir + "/0001-01-01T000000Z-quick.json"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}
