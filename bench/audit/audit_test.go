package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		got, err := ReadAccount(strings.NewReader(log), tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got.Tally); diff != "" {
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

func byName(figures []figure.Figure) map[string]float64 {
	values := map[string]float64{}
	for _, f := range figures {
		values[f.Name] = f.Value
	}
	return values
}
