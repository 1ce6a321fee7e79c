package audit

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

const operator = "spark-operator/v0.1 (linux/amd64)"

// line is a line of the log: agent, verb, resource[/subresource], name, status code, when it was received and answered (milliseconds), and the body.
func line(agent, verb, resource, name string, code, received, done int, body string) string {
	resource, sub, _ := strings.Cut(resource, "/")
	stage := complete
	if verb == "watch" {
		stage = started
	}
	if body != "" {
		body = `,"requestObject":` + body
	}
	at := func(ms int) string {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000000Z")
	}
	return fmt.Sprintf(`{"stage":%q,"verb":%q,"requestURI":"/x","userAgent":%q,"objectRef":{"resource":%q,"subresource":%q,"namespace":"a","name":%q},`+
		`"responseStatus":{"code":%d},"requestReceivedTimestamp":%q,"stageTimestamp":%q%s}`, stage, verb, agent, resource, sub, name, code, at(received), at(done), body) + "\n"
}

func moment0(ms int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

func TestWrites(t *testing.T) {
	log := strings.Join([]string{
		line(LoadAgent, "create", "sparkapplications", "x", 201, 1, 2, `{"a":1}`),
		line(operator, "create", "pods", "x-driver", 201, 3, 4, `{"b":22}`),
		line(operator, "create", "pods", "y-driver", 409, 3, 4, `{"b":22}`),
		line(operator, "create", "pods", "z-driver", 403, 3, 4, `{"b":22}`),
		line(operator, "get", "pods", "x-driver", 200, 3, 4, ""),
		line(operator, "watch", "pods", "", 200, 3, 4, ""),
		line(operator, "patch", "sparkapplications/status", "x", 200, 5, 6, `{"c":3}`),
		line(operator, "patch", "sparkapplications/status", "x", 200, 7, 8, `{"c":4}`),
		line(NodeAgent, "patch", "pods/status", "x-driver", 200, 5, 6, ""),
		line("kube-scheduler/v1", "create", "pods/binding", "x-driver", 201, 5, 6, ""),
		strings.Replace(line(operator, "create", "pods", "try", 201, 9, 9, `{}`), `"/x"`, `"/x?dryRun=All"`, 1),
		strings.Replace(line(operator, "create", "localsubjectaccessreviews", "", 201, 9, 9, `{}`), `"objectRef":{`, `"objectRef":{"apiGroup":"authorization.k8s.io",`, 1),
		`{"stage":"ResponseComplete","verb":"cre`,
	}, "")
	all := Tally{
		Load:      {"create sparkapplications": {Writes: 1, Bytes: 7}},
		Operator:  {"create pods": {Writes: 1, Bytes: 8, Conflicts: 1, Refused: 1}, "patch sparkapplications/status": {Writes: 2, Bytes: 14}},
		Node:      {"patch pods/status": {Writes: 1}},
		Scheduler: {"create pods/binding": {Writes: 1}},
	}
	for name, tt := range map[string]struct {
		scope Scope
		want  Tally
	}{
		"all":             {Scope{}, all},
		"its namespace":   {Scope{Namespace: func(n string) bool { return n == "a" }}, all},
		"another":         {Scope{Namespace: func(n string) bool { return n == "b" }}, Tally{}},
		"from":            {Scope{From: moment0(7)}, Tally{Operator: {"patch sparkapplications/status": {Writes: 1, Bytes: 7}}}},
		"to":              {Scope{To: moment0(2)}, Tally{Load: all[Load]}},
		"a moment's only": {Scope{From: moment0(8), To: moment0(8)}, Tally{Operator: {"patch sparkapplications/status": {Writes: 1, Bytes: 7}}}},
	} {
		got, err := Writes(strings.NewReader(log), tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got, want := all.Sum(nil, Everybody()...), (Count{Writes: 6, Bytes: 29, Conflicts: 1, Refused: 1}); got != want {
		t.Errorf("the sum is %+v", got)
	}
}

func TestReadTellsWhichLineIsBroken(t *testing.T) {
	err := Read(strings.NewReader(line(operator, "create", "pods", "x", 201, 1, 1, "")+"{\n"), func(*Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

func TestWatchesAreTold(t *testing.T) {
	var watches []string
	log := line(operator, "watch", "pods", "", 200, 1, 1, "") + line(operator, "patch", "pods", "x", 200, 1, 1, "")
	err := Read(strings.NewReader(log), func(e *Event) error {
		if e.Watch() {
			watches = append(watches, e.Kind())
		}
		return nil
	})
	if diff := cmp.Diff([]string{"watch pods"}, watches); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// The figures that ranges speak of are all there, and each write counts to one of them.
func TestTallyFigures(t *testing.T) {
	tally := Tally{
		Operator: {
			"create pods": {Writes: 4}, "create services": {Writes: 8}, "create configmaps": {Writes: 8}, "patch sparkapplications/status": {Writes: 12, Bytes: 400},
			"create events": {Writes: 8}, "patch events": {Writes: 4}, "delete pods": {Writes: 2, Conflicts: 4, Refused: 2}, "update leases": {Writes: 40, Conflicts: 4},
		},
		Node: {"create pods": {Writes: 20}, "patch pods/status": {Writes: 4, Failed: 8}},
	}
	got := map[string]float64{}
	for _, f := range tally.Figures("lives", "operator", 4) {
		if f.Scenario != "lives" || f.Case != "operator" {
			t.Errorf("%+v", f)
		}
		got[f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		figure.Objects: 5, figure.StatusWrites: 3, figure.EventWrites: 3, figure.OtherWrites: 0.5, figure.Conflicts: 1.5, figure.Writes: 27.5, figure.WriteBytes: 100,
		"operator: delete pods": 0.5, "operator: delete pods, conflicts": 1, "operator: delete pods, refused": 0.5, "operator: update leases": 10, "node: create pods": 5, "node: patch pods/status, failed": 2,
		"operator: patch sparkapplications/status, bytes": 100,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, %t; want %v", name, v, ok, want)
		}
	}
}

func TestLags(t *testing.T) {
	app := func(name string, at int) string {
		return line(LoadAgent, "create", "sparkapplications", name, 201, at-1, at, `{"kind":"SparkApplication"}`)
	}
	driver := func(pod, name string, at int) string {
		return line(operator, "create", "pods", pod, 201, at-1, at,
			`{"metadata":{"labels":{"spark-role":"driver"},"ownerReferences":[{"kind":"SparkApplication","name":"`+name+`","uid":"u"}]}}`)
	}
	pod := func(name, phase string, received, done int) string {
		return line(NodeAgent, "patch", "pods/status", name, 200, received, done, `{"status":{"phase":"`+phase+`"}}`)
	}
	state := func(name, state string, at int) string {
		return line(operator, "patch", "sparkapplications/status", name, 200, at-1, at, `{"status":{"applicationState":{"state":"`+state+`"}}}`)
	}
	executor := func(pod, driver string, at int) string {
		return line(NodeAgent, "create", "pods", pod, 201, at-1, at, `{"metadata":{"labels":{"spark-role":"executor"},"ownerReferences":[{"kind":"Pod","name":"`+driver+`"}]}}`)
	}
	told := func(name, executors string, at int) string {
		return line(operator, "patch", "sparkapplications/status", name, 200, at-1, at, `{"status":{"executorState":`+executors+`}}`)
	}
	ms := func(n ...int) (out []time.Duration) {
		for _, n := range n {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	life := app("x", 0) + driver("p", "x", 10) + pod("p", "Running", 20, 21) + state("x", "RUNNING", 25)
	for name, tt := range map[string]struct {
		log  string
		want Lags
	}{
		"nothing":      {"", Lags{}},
		"a whole life": {life + pod("p", "Succeeded", 40, 41) + state("x", "COMPLETED", 48), Lags{Launch: ms(10), Driver: ms(4, 7)}},
		"a failure":    {life + pod("p", "Failed", 40, 41) + state("x", "FAILING", 42) + state("x", "FAILED", 48), Lags{Launch: ms(10), Driver: ms(4, 1)}},
		"a state that comes later reflects what was skipped": {
			app("x", 0) + driver("p", "x", 10) + pod("p", "Running", 20, 21) + pod("p", "Succeeded", 24, 25) + state("x", "COMPLETED", 30),
			Lags{Launch: ms(10), Driver: ms(9, 5)},
		},
		"what was said before does not reflect": {
			app("x", 0) + driver("p", "x", 10) + state("x", "SUBMITTED", 11) + pod("p", "Running", 20, 21),
			Lags{Launch: ms(10), Unreflected: 1},
		},
		"a phase that is said again is no event": {life + pod("p", "Running", 30, 31), Lags{Launch: ms(10), Driver: ms(4)}},
		"answered before its cause was":          {app("x", 0) + driver("p", "x", 10) + state("x", "RUNNING", 23) + pod("p", "Running", 20, 24), Lags{Launch: ms(10), Driver: ms(0)}},
		"an executor": {
			life + executor("e", "p", 31) + told("x", `{"e":"PENDING"}`, 32) + pod("e", "Running", 40, 41) + told("x", `{"e":"RUNNING"}`, 43) + pod("e", "Succeeded", 50, 51) + told("x", `{"e":"COMPLETED"}`, 56),
			Lags{Launch: ms(10), Driver: ms(4), Executor: ms(2, 5)},
		},
		"one of two executors is told of": {
			life + executor("e", "p", 31) + executor("f", "p", 32) + pod("e", "Running", 40, 41) + pod("f", "Running", 41, 42) + told("x", `{"f":"RUNNING","g":"RUNNING"}`, 50),
			Lags{Launch: ms(10), Driver: ms(4), Executor: ms(8), Untold: 1},
		},
		"an executor that was over before it was told of": {
			life + executor("e", "p", 31) + pod("e", "Running", 40, 41) + pod("e", "Failed", 42, 43) + told("x", `{"e":"FAILED"}`, 44), Lags{Launch: ms(10), Driver: ms(4), Executor: ms(3, 1)},
		},
		"an executor whose end was told of with its driver's": {
			life + executor("e", "p", 31) + pod("e", "Running", 32, 33) + told("x", `{"e":"COMPLETED"}`, 40) + pod("e", "Succeeded", 50, 51), Lags{Launch: ms(10), Driver: ms(4), Executor: ms(7, 0)},
		},
		"an executor of an earlier attempt is forgotten": {life + executor("e", "p", 31) + told("x", `{"e":null}`, 32), Lags{Launch: ms(10), Driver: ms(4)}},
		"a pod that is only waited for":                  {life + pod("p", "Pending", 30, 31), Lags{Launch: ms(10), Driver: ms(4)}},
		"a stranger's pod":                               {life + executor("e", "q", 31) + pod("e", "Running", 40, 41), Lags{Launch: ms(10), Driver: ms(4)}},
		"an application of before":                       {driver("p", "x", 10) + pod("p", "Running", 20, 21) + state("x", "RUNNING", 25) + executor("e", "p", 31) + pod("e", "Running", 40, 41), Lags{}},
		"no driver":                                      {app("x", 0) + app("y", 1) + driver("p", "y", 3), Lags{Launch: ms(2), Unlaunched: 1}},
		"a driver again": {
			life + pod("p", "Failed", 30, 31) + state("x", "PENDING_RERUN", 32) + driver("p", "x", 40) + pod("p", "Running", 50, 50) + state("x", "RUNNING", 53),
			Lags{Launch: ms(10), Driver: ms(4, 1, 3)},
		},
		"the other API": {
			app("x", 0) + driver("p", "x", 5) + pod("p", "Running", 9, 10) +
				line(operator, "patch", "sparkapplications/status", "x", 200, 11, 12, `{"status":{"currentState":{"currentStateSummary":"DriverStarted"}}}`),
			Lags{Launch: ms(5), Driver: ms(2)},
		},
		"a refused write is none":      {app("x", 0) + strings.Replace(driver("p", "x", 5), `"code":201`, `"code":409`, 1) + driver("p", "x", 9), Lags{Launch: ms(9)}},
		"only the operator's status":   {life + strings.Replace(state("x", "COMPLETED", 30), operator, "somebody", 1) + pod("p", "Succeeded", 29, 30), Lags{Launch: ms(10), Driver: ms(4), Unreflected: 1}},
		"a pod that cannot be read is": {app("x", 0) + line(operator, "create", "pods", "p", 201, 1, 2, `[]`), Lags{Unlaunched: 1}},
	} {
		got, err := ReadLags(strings.NewReader(tt.log), Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Lags{}, "Launched")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
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

func byName(figures []figure.Figure) map[string]float64 {
	values := map[string]float64{}
	for _, f := range figures {
		values[f.Name] = f.Value
	}
	return values
}
