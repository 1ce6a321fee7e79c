package audit

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Lines of the log of what befalls an application, each answered at a millisecond and received one before.

func app(name string, at int) string {
	return line(LoadAgent, "create", "sparkapplications", name, 201, at-1, at, `{"kind":"SparkApplication"}`)
}

func driver(pod, name string, at int) string {
	return line(operator, "create", "pods", pod, 201, at-1, at,
		`{"metadata":{"labels":{"spark-role":"driver"},"ownerReferences":[{"kind":"SparkApplication","name":"`+name+`","uid":"u"}]}}`)
}

func executorOf(driver, pod string, at int) string {
	return line(NodeAgent, "create", "pods", pod, 201, at-1, at, `{"metadata":{"labels":{"spark-role":"executor"},"ownerReferences":[{"kind":"Pod","name":"`+driver+`"}]}}`)
}

// pod is a phase of a pod, which may be long in being answered.
func pod(name, phase string, received, done int) string {
	return line(NodeAgent, "patch", "pods/status", name, 200, received, done, `{"status":{"phase":"`+phase+`"}}`)
}

func state(name, state string, at int) string {
	return line(operator, "patch", "sparkapplications/status", name, 200, at-1, at, `{"status":{"applicationState":{"state":"`+state+`"}}}`)
}

func told(name, executors string, at int) string {
	return line(operator, "patch", "sparkapplications/status", name, 200, at-1, at, `{"status":{"executorState":`+executors+`}}`)
}

// begun is an application whose driver runs, of which the status tells.
var begun = app("x", 0) + driver("p", "x", 10) + pod("p", "Running", 20, 21) + state("x", "RUNNING", 25)

func ms(all ...int) (out []time.Duration) {
	for _, n := range all {
		out = append(out, time.Duration(n)*time.Millisecond)
	}
	return out
}

// lagCase is a log and how far the operator was behind in it.
type lagCase struct {
	log  string
	want Lags
}

func (c lagCase) hold(t *testing.T) {
	t.Helper()
	got, err := ReadAccount(strings.NewReader(c.log), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, got.Lags, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Lags{}, "Launched")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDriverLags(t *testing.T) {
	for name, c := range map[string]lagCase{
		"nothing":      {"", Lags{}},
		"a whole life": {begun + pod("p", "Succeeded", 40, 41) + state("x", "COMPLETED", 48), Lags{Launch: ms(10), Driver: ms(4, 7)}},
		"a failure":    {begun + pod("p", "Failed", 40, 41) + state("x", "FAILING", 42) + state("x", "FAILED", 48), Lags{Launch: ms(10), Driver: ms(4, 1)}},
		"a state that comes later reflects what was skipped": {
			app("x", 0) + driver("p", "x", 10) + pod("p", "Running", 20, 21) + pod("p", "Succeeded", 24, 25) + state("x", "COMPLETED", 30),
			Lags{Launch: ms(10), Driver: ms(9, 5)},
		},
		"what was said before does not reflect": {
			app("x", 0) + driver("p", "x", 10) + state("x", "SUBMITTED", 11) + pod("p", "Running", 20, 21),
			Lags{Launch: ms(10), Unreflected: 1},
		},
		"a phase that is said again is no event": {begun + pod("p", "Running", 30, 31), Lags{Launch: ms(10), Driver: ms(4)}},
		"answered before its cause was":          {app("x", 0) + driver("p", "x", 10) + state("x", "RUNNING", 23) + pod("p", "Running", 20, 24), Lags{Launch: ms(10), Driver: ms(0)}},
		"a pod that is only waited for":          {begun + pod("p", "Pending", 30, 31), Lags{Launch: ms(10), Driver: ms(4)}},
		"an application of before":               {driver("p", "x", 10) + pod("p", "Running", 20, 21) + state("x", "RUNNING", 25) + executorOf("p", "e", 31) + pod("e", "Running", 40, 41), Lags{}},
		"no driver":                              {app("x", 0) + app("y", 1) + driver("p", "y", 3), Lags{Launch: ms(2), Unlaunched: 1}},
		"a driver again": {
			begun + pod("p", "Failed", 30, 31) + state("x", "PENDING_RERUN", 32) + driver("p", "x", 40) + pod("p", "Running", 50, 50) + state("x", "RUNNING", 53),
			Lags{Launch: ms(10), Driver: ms(4, 1, 3)},
		},
		"the other API": {
			app("x", 0) + driver("p", "x", 5) + pod("p", "Running", 9, 10) +
				line(operator, "patch", "sparkapplications/status", "x", 200, 11, 12, `{"status":{"currentState":{"currentStateSummary":"DriverStarted"}}}`),
			Lags{Launch: ms(5), Driver: ms(2)},
		},
		"a refused write is none":      {app("x", 0) + strings.Replace(driver("p", "x", 5), `"code":201`, `"code":409`, 1) + driver("p", "x", 9), Lags{Launch: ms(9)}},
		"only the operator's status":   {begun + strings.Replace(state("x", "COMPLETED", 30), operator, "somebody", 1) + pod("p", "Succeeded", 29, 30), Lags{Launch: ms(10), Driver: ms(4), Unreflected: 1}},
		"a pod that cannot be read is": {app("x", 0) + line(operator, "create", "pods", "p", 201, 1, 2, `[]`), Lags{Unlaunched: 1}},
	} {
		t.Run(name, c.hold)
	}
}

func TestExecutorLags(t *testing.T) {
	for name, c := range map[string]lagCase{
		"an executor": {
			begun + executorOf("p", "e", 31) + told("x", `{"e":"PENDING"}`, 32) + pod("e", "Running", 40, 41) + told("x", `{"e":"RUNNING"}`, 43) + pod("e", "Succeeded", 50, 51) + told("x", `{"e":"COMPLETED"}`, 56),
			Lags{Launch: ms(10), Driver: ms(4), Executor: ms(2, 5)},
		},
		"one of two executors is told of": {
			begun + executorOf("p", "e", 31) + executorOf("p", "f", 32) + pod("e", "Running", 40, 41) + pod("f", "Running", 41, 42) + told("x", `{"f":"RUNNING","g":"RUNNING"}`, 50),
			Lags{Launch: ms(10), Driver: ms(4), Executor: ms(8), Untold: 1},
		},
		"an executor that was over before it was told of": {
			begun + executorOf("p", "e", 31) + pod("e", "Running", 40, 41) + pod("e", "Failed", 42, 43) + told("x", `{"e":"FAILED"}`, 44), Lags{Launch: ms(10), Driver: ms(4), Executor: ms(3, 1)},
		},
		"an executor whose end was told of with its driver's": {
			begun + executorOf("p", "e", 31) + pod("e", "Running", 32, 33) + told("x", `{"e":"COMPLETED"}`, 40) + pod("e", "Succeeded", 50, 51), Lags{Launch: ms(10), Driver: ms(4), Executor: ms(7, 0)},
		},
		"an executor of an earlier attempt is forgotten": {begun + executorOf("p", "e", 31) + told("x", `{"e":null}`, 32), Lags{Launch: ms(10), Driver: ms(4)}},
		"a stranger's pod": {begun + executorOf("q", "e", 31) + pod("e", "Running", 40, 41), Lags{Launch: ms(10), Driver: ms(4)}},
	} {
		t.Run(name, c.hold)
	}
}

func TestLagFigures(t *testing.T) {
	lags := Lags{Launch: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, Driver: []time.Duration{time.Millisecond}, Launched: 6 * time.Second}
	want := map[string]float64{
		figure.Launch50: 2, figure.Launch99: 4, "creation to driver pod, most": 4, figure.Launches: 0.5,
		figure.DriverLag50: 0.001, figure.DriverLag99: 0.001, "driver event to status, most": 0.001,
		figure.NoDriver: 0, figure.NoStatus: 0, "executor events without a status": 0,
	}
	if diff := cmp.Diff(want, byName(lags.Figures("lives", "operator"))); diff != "" {
		t.Error(diff)
	}
	lags.Unreflected, lags.Unlaunched, lags.Untold, lags.Executor = 1, 2, 3, []time.Duration{time.Second, 3 * time.Second}
	maps.Copy(want, map[string]float64{
		figure.NoDriver: 2, figure.NoStatus: 1, "executor events without a status": 3,
		figure.ExecutorLag50: 3, figure.ExecutorLag99: 3, "executor event to status, most": 3,
	})
	if diff := cmp.Diff(want, byName(lags.Figures("lives", "operator"))); diff != "" {
		t.Error(diff)
	}
}
