package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// start is the point in time from which the tests count. They give all times as seconds since start.
var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// line returns a line of an audit log. The API server received the request at the given time, and answered it 0.1 s
// later.
func line(at float64, agent, verb, path string, code int, body string) string {
	parts := strings.Split(path, "/") // namespace/resource[/name[/subresource]]

	ref := map[string]string{"namespace": parts[0], "resource": parts[1]}
	for i, field := range []string{"name", "subresource"} {
		if len(parts) > i+2 {
			ref[field] = parts[i+2]
		}
	}

	received := start.Add(time.Duration(at * float64(time.Second)))

	e := map[string]any{
		"stage": "ResponseComplete", "verb": verb, "requestURI": "/" + path, "userAgent": agent, "objectRef": ref,
		"requestReceivedTimestamp": received, "stageTimestamp": received.Add(100 * time.Millisecond),
		"responseStatus": map[string]any{"code": code},
	}
	if body != "" {
		e["requestObject"] = json.RawMessage(body)
	}

	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

func labels(app, role string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%q:%q,%q:%q}}}`, appLabel, app, roleLabel, role)
}

const operator = "spark-operator/v1"

// sampleLog returns the log of two applications and of unrelated requests. The application "good" succeeds, and "slow"
// has no driver pod.
func sampleLog() string {
	state := func(state, more string) string {
		return fmt.Sprintf(`{"status":{"applicationState":{"state":%q}%s}}`, state, more)
	}
	return strings.Join([]string{
		line(0, LoadAgent, "create", "a/sparkapplications/good", 201, "{}"),
		line(1, operator, "create", "a/pods/good-driver", 201, labels("good", "driver")),
		line(1.1, operator, "create", "a/services/good-svc", 500, labels("good", "")),
		line(1.2, operator, "create", "a/services/good-svc", 201, labels("good", "")),
		line(1.3, operator, "create", "a/services/good-svc", 409, labels("good", "")),
		line(1.4, operator, "create", "a/events/e1", 201,
			`{"involvedObject":{"kind":"SparkApplication","name":"good"}}`),
		line(1.5, "kube-scheduler/v1", "create", "a/pods/good-driver/binding", 201, "{}"),
		line(2, NodeAgent, "patch", "a/pods/good-driver/status", 200, `{"status":{"phase":"Running"}}`),
		line(2.5, operator, "patch", "a/sparkapplications/good/status", 200, state("RUNNING", "")),
		line(3, NodeAgent, "create", "a/pods/good-exec-1", 201, labels("good", "executor")),
		line(4, NodeAgent, "patch", "a/pods/good-exec-1/status", 200, `{"status":{"phase":"Running"}}`),
		line(5, NodeAgent, "patch", "a/pods/good-exec-1/status", 200, `{"status":{"phase":"Succeeded"}}`),
		line(6, NodeAgent, "patch", "a/pods/good-driver/status", 200, `{"status":{"phase":"Succeeded"}}`),
		line(8, operator, "patch", "a/sparkapplications/good/status", 200,
			state("COMPLETED", `,"executorState":{"good-exec-1":"COMPLETED"}`)),
		line(9, LoadAgent, "create", "a/sparkapplications/slow", 201, "{}"),
		line(9, operator, "create", "b/pods/other-driver", 201, labels("other", "driver")),
		line(9, operator, "update", "a/leases/leader", 200, "{}"),
		line(9, operator, "update", "/nodes/n", 200, "{}"),
		line(9, operator, "patch", "a/services/good-svc", 200, "{}"),
		line(9, operator, "get", "a/pods/good-driver", 200, ""),
		line(99, operator, "patch", "a/pods/good-driver", 200, "{}"),
		`{"stage":"ResponseComplete","verb":"crea`,
	}, "")
}

func TestReadSumsTheWritesOfALoad(t *testing.T) {
	got, err := Read(strings.NewReader(sampleLog()),
		Scope{From: start, To: start.Add(30 * time.Second), Namespaces: []string{"a"}, Controller: OperatorAgent})
	if err != nil {
		t.Fatal(err)
	}

	writes := map[string]int{Objects: 2, StatusWrites: 2, Events: 1, Others: 1}

	want := Account{
		Launch:   []time.Duration{time.Second},
		Driver:   []time.Duration{500 * time.Millisecond, 2 * time.Second},
		Executor: []time.Duration{4 * time.Second, 3 * time.Second},
		NoDriver: 1, Writes: writes, MaxWrites: writes, Rejected: 1, WithoutApplication: 1, OtherNamespaces: 1,
		AllWrites: 15,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Account{}, "Answers", "Bytes"),
		cmpopts.SortSlices(func(a, b time.Duration) bool { return a < b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if len(got.Answers) != 14 { // the scheduler's write is left out
		t.Errorf("%d answers", len(got.Answers))
	}

	if got.Bytes == 0 {
		t.Error("no bytes are counted for the operator")
	}

	double := Account{}
	double.Add(got)
	double.Add(got)

	if double.Writes[Objects] != 4 || double.MaxWrites[Objects] != 2 || len(double.Driver) != 4 ||
		double.NoDriver != 2 {
		t.Errorf("two accounts are %+v", double)
	}
}

// TestReadCountsLivesOfSparkApacheOrg counts the writes of an application of the other API group.
func TestReadCountsLivesOfSparkApacheOrg(t *testing.T) {
	named := strings.ReplaceAll(labels("pi", "driver"), appLabel, apacheLabel)
	state := func(state string) string {
		return fmt.Sprintf(`{"status":{"currentState":{"currentStateSummary":%q}}}`, state)
	}

	got, err := Read(strings.NewReader(strings.Join([]string{
		line(0, LoadAgent, "create", "a/sparkapplications/pi", 201, "{}"),
		line(1, operator, "create", "a/pods/pi-driver", 201, named),
		line(2, NodeAgent, "patch", "a/pods/pi-driver/status", 200, `{"status":{"phase":"Running"}}`),
		line(3, operator, "patch", "a/sparkapplications/pi/status", 200, state("RunningHealthy")),
		line(4, NodeAgent, "patch", "a/pods/pi-driver/status", 200, `{"status":{"phase":"Succeeded"}}`),
		line(5, operator, "patch", "a/sparkapplications/pi/status", 200, state("Succeeded")),
		line(6, operator, "delete", "a/pods/pi-driver", 200, ""),
		line(7, operator, "patch", "a/sparkapplications/pi/status", 200, state("ResourceReleased")),
	}, "")), Scope{From: start, Namespaces: []string{"a"}, Controller: OperatorAgent})

	want := map[string]int{Objects: 1, StatusWrites: 3, Others: 1}

	if err != nil || got.NoDriver+got.NoStatus != 0 || got.WithoutApplication != 0 {
		t.Errorf("%+v, %v", got, err)
	}

	for _, class := range Classes {
		if got.Writes[class] != want[class] || got.MaxWrites[class] != want[class] {
			t.Errorf("%d %s, at most %d in a life; want %d", got.Writes[class], class, got.MaxWrites[class], want[class])
		}
	}
}

// TestChangesWithoutStatusAreCounted checks that an Account counts the pod changes that no later status reflects.
func TestChangesWithoutStatusAreCounted(t *testing.T) {
	early := sampleLog()
	early = strings.ReplaceAll(early, `"state":"COMPLETED"`, `"state":"RUNNING"`)
	early = strings.ReplaceAll(early, `"good-exec-1":"COMPLETED"`, `"good-exec-1":"PENDING"`)

	got, err := Read(strings.NewReader(early), Scope{From: start, Namespaces: []string{"a"}, Controller: OperatorAgent})
	if err != nil || got.NoStatus != 1 || got.NoExecutorStatus != 2 || got.MaxWrites[Objects] != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBrokenLineIsAnErrorWithItsNumber(t *testing.T) {
	if _, err := Read(strings.NewReader("{\n"), Scope{}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
}
