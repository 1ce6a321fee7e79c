package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/scenario"
	"github.com/sparkoperator/spark-operator/bench/world"
)

func TestStartRefuses(t *testing.T) {
	for _, o := range []options{{plan: "none"}, {plan: "quick", only: "burst,none"}} {
		if err := start(t.Context(), o, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "none") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestSteps has a load that is described be carried, and nothing of a plan with it.
func TestSteps(t *testing.T) {
	steps, err := options{plan: "full", load: "loads/day.yaml"}.steps()
	if err != nil || len(steps) != 1 || steps[0].Name != "load" || !strings.Contains(steps[0].About, "2,550") {
		t.Errorf("%+v, %v", steps, err)
	}
	for load, want := range map[string]string{"none.yaml": "none.yaml", "main.go": "load:"} {
		if _, err := (options{load: load}).steps(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", load, err)
		}
	}
}

func TestLabel(t *testing.T) {
	for want, o := range map[string]options{"full": {plan: "full"}, "quick-burst-lives": {plan: "quick", only: "burst,lives"}, "schedules": {plan: "full", schedules: 3}, "load": {plan: "full", load: "x.yaml"}} {
		if got := o.label(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHold has a part of a plan be held to all that it should have measured, and a whole one to everything.
func TestHold(t *testing.T) {
	run := &figure.Run{}
	for _, name := range []string{figure.NoDriver, figure.NoStatus, figure.Launches, figure.Rate, figure.Launch50, figure.Launch99, figure.CPU, figure.Peak,
		figure.MostObjects, figure.MostStatusWrites, figure.MostEventWrites, figure.MostOtherWrites, figure.Astray, figure.Elsewhere, figure.Conflicts} {
		run.Add(figure.Figure{Scenario: figure.Burst, Name: name})
	}
	run.Add(figure.Figure{Scenario: figure.Burst, Name: figure.Objects, Value: 5})
	for _, c := range []struct {
		plan, only string
		run        *figure.Run
		says       string // empty where it holds
	}{
		{"full", "", run, "ranges do not hold"},
		{"full", "burst", run, ""},
		{"full", "burst", &figure.Run{}, "ranges do not hold"},
		{"full", "spark-submit", run, "ranges do not hold"},
		{"quick", "burst", &figure.Run{}, ""}, // quick demands nothing of it
		{"none", "", run, "none"},
	} {
		var out strings.Builder
		err := (options{plan: c.plan, only: c.only, world: world.Options{Root: ".."}}).hold(c.run, &out)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s, only %q: %v, want %q\n%s", c.plan, c.only, err, c.says, out.String())
		}
	}
}

// TestMeasures: a scenario of several steps is measured by all of them only.
func TestMeasures(t *testing.T) {
	all := []scenario.Step{{Name: "coldstart-live"}, {Name: "coldstart-finished"}, {Name: "cold"}, {Name: "lives"}}
	for _, c := range []struct {
		only, id string
		want     bool
	}{
		{"lives", "lives/operator/x", true}, {"cold", "lives/operator/x", false}, {"coldstart-live", "coldstart/a/x", false},
		{"coldstart-live,coldstart-finished", "coldstart/a/x", true}, {"lives,cold", "cold//x", true},
	} {
		if got := (options{only: c.only}).measures(all, c.id); got != c.want {
			t.Errorf("only %s measures %s: %t", c.only, c.id, got)
		}
	}
}

func TestTogether(t *testing.T) {
	steps := []scenario.Step{{Name: "a"}, {Name: "b"}, {Name: "c", World: "x"}, {Name: "d", World: "x"}, {Name: "e", World: "y"}, {Name: "f", World: "z"}, {Name: "g", World: "z"}}
	if diff := cmp.Diff([][]string{{"c", "d"}, {"f", "g"}}, together(steps)); diff != "" {
		t.Error(diff)
	}
}

// TestCheckIsRefusedBefore: who has figures held to ranges that are not there learns of it before the measurement.
func TestCheckIsRefusedBefore(t *testing.T) {
	if err := start(t.Context(), options{plan: "tiny", check: true}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "no ranges") {
		t.Error(err)
	}
}

func TestRecord(t *testing.T) {
	if err := start(t.Context(), options{plan: "full", keeps: "none.json"}, &strings.Builder{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no run: %v", err)
	}
}

func TestKeep(t *testing.T) {
	run := &figure.Run{Plan: "quick"}
	run.Say("lives", "said")
	run.Name(figure.Outlier{Scenario: "burst", Application: "a/x", Why: "5 events", Story: []string{"0.1 s: a write", "0.2 s: another"}})
	dir := t.TempDir() + "/runs"
	var out strings.Builder
	if err := (options{out: dir}).keep(run, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lives: said", "burst: a/x: 5 events\n\t0.1 s: a write\n\t0.2 s: another\n", dir + "/0001-01-01T000000Z-quick.json"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}
