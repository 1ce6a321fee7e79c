package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func app(kind, namespace, name string) lifecycle.Subject {
	return lifecycle.Subject{Kind: kind, Namespace: namespace, Name: name}
}

func TestRunningGaugeIsByLevel(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	a, b := app("k", "x", "a"), app("k", "x", "b")
	other := app("other", "x", "a")

	in := func(phase lifecycle.Phase) lifecycle.Standing { return lifecycle.Standing{Phase: phase} }
	for i, step := range []struct {
		do   func()
		want float64
	}{
		{func() {}, 0}, // the series exists before anything runs
		{func() { m.Record(a, in(lifecycle.Started)) }, 1},
		{func() { m.Record(a, in(lifecycle.Running)) }, 1}, // recorded twice, counted once
		{func() { m.Record(other, in(lifecycle.Running)) }, 2},
		{func() { m.Record(b, in(lifecycle.Launched)) }, 2},
		{func() { m.Record(b, in(lifecycle.Ready)) }, 3},
		{func() { m.Record(b, in(lifecycle.Unknown)) }, 2},
		{func() { m.Record(b, in(lifecycle.Scaling)) }, 3},
		{func() { m.Record(a, in(lifecycle.Retained)) }, 2},
		{func() { m.Remove("k", keyOf(b).key) }, 1},
		{func() { m.Remove("other", keyOf(a).key) }, 0},
	} {
		step.do()

		if got := samples(t, reg, "spark_application_running_count")["spark_application_running_count{}"]; got != step.want {
			t.Errorf("after step %d running is %v, want %v", i, got, step.want)
		}
	}
}

// TestServersAreNoApplications checks that metrics with the kubeflow operator's names count only SparkApplications, as
// that operator does. The metrics with names of our own count every kind.
func TestServersAreNoApplications(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{Labels: []string{"team"}})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.standings.now = func() time.Time { return now }
	server := app("server", "a", "x")
	server.NoApplication, server.Labels = true, map[string]string{"team": "red"}
	m.RecordFirst(server, lifecycle.Standing{})
	m.Stored(server, lifecycle.Standing{Since: now}, lifecycle.Plan{Transitions: []lifecycle.Transition{
		{From: lifecycle.New, To: lifecycle.Launched, Attempt: 1, At: now},
		{From: lifecycle.Launched, To: lifecycle.Started, Attempt: 1, At: now},
		{From: lifecycle.Started, To: lifecycle.Ended, Attempt: 1, Outcome: lifecycle.Failed, At: now},
		{From: lifecycle.Ended, To: lifecycle.Waiting, Attempt: 1, Outcome: lifecycle.Failed, At: now},
		{From: lifecycle.Waiting, To: lifecycle.Done, Attempt: 1, Outcome: lifecycle.Refused, At: now},
	}})
	m.Record(server, lifecycle.Standing{Phase: lifecycle.Running, State: "Ready", Attempt: 1, ExecutorsRunning: 2})
	m.Record(server, lifecycle.Standing{Phase: lifecycle.Running, State: "Ready", Attempt: 1, ExecutorsRunning: 2,
		ExecutorsFailed: 3, Since: now.Add(-time.Minute), Waits: "Unschedulable"})

	for _, prefix := range []string{"spark_application_", "spark_executor_"} {
		wantSamples(t, reg, prefix, map[string]float64{})
	}

	wantSamples(t, reg, "sparkoperator_applications", map[string]float64{
		"sparkoperator_applications{app_namespace=a,kind=server,phase=Running,state=Ready}":                  1,
		"sparkoperator_applications_waiting{kind=server,phase=Running,reason=Unschedulable}":                 1,
		"sparkoperator_applications_waiting_longest_seconds{kind=server,phase=Running,reason=Unschedulable}": 60,
	})
	wantSamples(t, reg, "sparkoperator_retries",
		map[string]float64{"sparkoperator_retries_total{kind=server,outcome=Failed}": 1})

	if got := samples(t, reg, "sparkoperator_transitions_total")["sparkoperator_transitions_total{kind=server,outcome=Failed,phase=Waiting}"]; got != 1 {
		t.Errorf("a transition is counted %v times", got)
	}
}

// TestStandings checks that the gauges of states and wait reasons agree with the current state.
func TestStandings(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{Labels: []string{"team"}})
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.standings.now = func() time.Time { return now }
	launched := func(since time.Duration, waits string) lifecycle.Standing {
		return lifecycle.Standing{Phase: lifecycle.Launched, State: "SUBMITTED", Since: now.Add(-since), Waits: waits}
	}
	m.Record(app("k", "a", "1"), launched(time.Minute, "Unschedulable"))
	m.Record(app("k", "a", "2"), launched(time.Hour, "Unschedulable"))
	m.Record(app("k", "b", "3"), launched(time.Second, "Launched"))
	m.Record(app("k", "b", "4"), launched(-time.Second, "SomethingNobodyKnows")) // another machine's clock
	red := app("k", "b", "5")
	red.Labels, red.ExecutorLabels = map[string]string{"team": "red"}, map[string]string{"team": "blue"}
	m.Record(red, lifecycle.Standing{Phase: lifecycle.Running, State: "RUNNING", ExecutorsRunning: 3})

	fresh := app("k", "b", "6")
	fresh.Created = now.Add(-2 * time.Second)
	m.RecordFirst(fresh, lifecycle.Standing{Waits: "New"})
	m.RecordFirst(fresh, lifecycle.Standing{Phase: lifecycle.Done}) // already recorded

	wantSamples(t, reg, "sparkoperator_applications", map[string]float64{
		"sparkoperator_applications{app_namespace=a,kind=k,phase=Launched,state=SUBMITTED}":              2,
		"sparkoperator_applications{app_namespace=b,kind=k,phase=Launched,state=SUBMITTED}":              2,
		"sparkoperator_applications{app_namespace=b,kind=k,phase=Running,state=RUNNING}":                 1,
		"sparkoperator_applications{app_namespace=b,kind=k,phase=New,state=NEW}":                         1,
		"sparkoperator_applications_waiting{kind=k,phase=Launched,reason=Unschedulable}":                 2,
		"sparkoperator_applications_waiting{kind=k,phase=Launched,reason=Launched}":                      1,
		"sparkoperator_applications_waiting{kind=k,phase=Launched,reason=Other}":                         1,
		"sparkoperator_applications_waiting{kind=k,phase=New,reason=New}":                                1,
		"sparkoperator_applications_waiting_longest_seconds{kind=k,phase=Launched,reason=Unschedulable}": 3600,
		"sparkoperator_applications_waiting_longest_seconds{kind=k,phase=Launched,reason=Launched}":      1,
		"sparkoperator_applications_waiting_longest_seconds{kind=k,phase=Launched,reason=Other}":         0,
		"sparkoperator_applications_waiting_longest_seconds{kind=k,phase=New,reason=New}":                2,
	})
	m.RecordWait("k", keyOf(fresh).key, "OperatorForbidden")
	m.RecordWait("k", types.NamespacedName{Name: "nobody"}, "OperatorForbidden")
	m.Record(app("k", "b", "4"), lifecycle.Standing{Phase: lifecycle.Done, State: "FAILED"})

	got := samples(t, reg, "sparkoperator_applications_waiting")
	if got["sparkoperator_applications_waiting{kind=k,phase=New,reason=OperatorForbidden}"] != 1 {
		t.Errorf("what holds up a pass is not told: %v", got)
	}

	if _, still := got["sparkoperator_applications_waiting{kind=k,phase=Launched,reason=Other}"]; still {
		t.Errorf("one that is over still waits: %v", got)
	}

	wantSamples(t, reg, "spark_executor_running_count", map[string]float64{
		"spark_executor_running_count{team=Unknown}": 0, "spark_executor_running_count{team=red}": 0,
		"spark_executor_running_count{team=blue}": 3,
	})
	m.Record(red, lifecycle.Standing{Phase: lifecycle.Done})
	wantSamples(t, reg, "spark_application_running_count", map[string]float64{ // an existing series stays, at 0
		"spark_application_running_count{team=Unknown}": 0, "spark_application_running_count{team=red}": 0,
		"spark_application_running_count{team=blue}": 0,
	})
}

// TestExecutorsAreCountedOnce checks that each ended executor is counted once, even if a status decreases a count or
// the operator restarts.
func TestExecutorsAreCountedOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{})
	a := app("k", "x", "a")

	ended := func(attempt, completed, failed int32) lifecycle.Standing {
		return lifecycle.Standing{Phase: lifecycle.Running, Attempt: attempt, ExecutorsCompleted: completed,
			ExecutorsFailed: failed}
	}
	for i, step := range []struct {
		meet              bool
		standing          lifecycle.Standing
		completed, failed float64
	}{
		{true, ended(1, 5, 2), 0, 0},  // the process before this one counted these
		{true, ended(1, 6, 2), 0, 0},  // already counted
		{false, ended(1, 6, 2), 1, 0}, // new
		{false, ended(1, 6, 2), 1, 0},
		{false, ended(1, 5, 3), 1, 1}, // one count decreased
		{false, ended(1, 6, 3), 1, 1}, // and increased again
		{false, ended(1, 7, 3), 2, 1},
		{false, ended(2, 0, 0), 2, 1}, // another attempt
		{false, ended(2, 1, 1), 3, 2},
	} {
		if step.meet {
			m.RecordFirst(a, step.standing)
		} else {
			m.Record(a, step.standing)
		}

		got := samples(t, reg, "spark_executor")
		if got["spark_executor_success_count{}"] != step.completed ||
			got["spark_executor_failure_count{}"] != step.failed {
			t.Errorf("after step %d: %v, want %v and %v", i, got, step.completed, step.failed)
		}
	}
}

// TestRestart checks that the gauges of a new process are right after one pass over each object, and that the process
// counts nothing a second time.
func TestRestart(t *testing.T) {
	before, after := prometheus.NewRegistry(), prometheus.NewRegistry()

	old, fresh := NewMetrics(before, MetricsOptions{}), NewMetrics(after, MetricsOptions{})
	for i := range 30 {
		subject := app("k", fmt.Sprint("ns-", i%3), fmt.Sprint(i))

		standing := lifecycle.Standing{Phase: lifecycle.Running, State: "RUNNING", Attempt: 1, ExecutorsRunning: 2,
			ExecutorsCompleted: 4}
		if i%2 == 0 {
			standing = lifecycle.Standing{Phase: lifecycle.Launched, State: "SUBMITTED", Attempt: 1,
				Waits: "Unschedulable"}
		}

		old.Record(subject, lifecycle.Standing{Phase: lifecycle.Launched, Attempt: 1})
		old.Record(subject, standing)
		fresh.RecordFirst(subject, standing)
		fresh.Record(subject, standing)
	}

	for _, gauge := range []string{"spark_application_running_count", "spark_executor_running_count",
		"sparkoperator_applications{", "sparkoperator_applications_waiting{"} {
		wantSamples(t, after, gauge, samples(t, before, gauge))
	}

	wantSamples(t, before, "spark_executor_success_count", map[string]float64{"spark_executor_success_count{}": 60})
	wantSamples(t, after, "spark_executor_success_count", map[string]float64{"spark_executor_success_count{}": 0})
}
