package application

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/history"
)

var (
	t0      = time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC)
	trimmed = Applications{Options{MissingGrace: 10 * time.Second, Trim: true}}
	whole   = Applications{Options{MissingGrace: 10 * time.Second}}
)

// pi returns a valid application to which the given changes are applied.
func pi(change ...func(*sparkv1.SparkApplication)) *sparkv1.SparkApplication {
	app := &sparkv1.SparkApplication{}
	app.Name, app.Namespace, app.UID, app.Generation = "pi", "jobs", "11111111-2222-4333-8444-555555555555", 1
	app.CreationTimestamp = metav1.NewTime(t0.Truncate(time.Second))

	app.Spec = sparkv1.ApplicationSpec{
		MainClass: "org.apache.spark.examples.SparkPi", Jars: "local:///opt/spark/examples/jars/spark-examples.jar",
		RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
		SparkConf:       map[string]string{"spark.kubernetes.container.image": "spark:4.1.4"},
	}
	for _, c := range change {
		c(app)
	}
	return app
}

// tolerating returns a change that sets an application's tolerations.
func tolerating(t sparkv1.ApplicationTolerations) func(*sparkv1.SparkApplication) {
	return func(app *sparkv1.SparkApplication) { app.Spec.ApplicationTolerations = &t }
}

// life simulates the life cycle of an application. After each pass it converts the status to JSON and back, as an API
// server does.
type life struct {
	testing.TB
	a      Applications
	app    *sparkv1.SparkApplication
	now    time.Time
	plan   lifecycle.Plan
	events []dialect.Event
	answer lifecycle.Quota // of the queue, if the application is in one
}

func begin(t testing.TB, a Applications, change ...func(*sparkv1.SparkApplication)) *life {
	return &life{TB: t, a: a, app: pi(change...), now: t0}
}

// pass runs a pass as the controller does, when the given duration has passed since the previous pass. If the pass
// requests a live read, the live read finds the same objects. It returns the life cycle itself, so that calls can be
// chained.
func (l *life) pass(after time.Duration, seen lifecycle.Observed) *life {
	l.Helper()
	l.now = l.now.Add(after)
	before := l.app.DeepCopy()

	seen.Shortages = l.plan.Shortages
	for range 6 {
		l.app = before.DeepCopy()

		l.plan = l.a.Decide(l.app, seen, l.now)
		if asksQueue(l.plan) {
			answer := l.answer
			answer.Asked, seen.Quota = true, &answer
			continue
		}

		if !asks(l.plan) {
			break
		}

		seen.Confirmed, seen.PodsConfirmed, seen.ProbeResult = true, true, &lifecycle.Cause{}
	}

	events := Events(l.plan)
	l.events = append(l.events, events...)

	if diff := cmp.Diff(enteredSince(before, l.app), stateEvents(events), cmpopts.EquateEmpty()); diff != "" {
		l.Fatalf("events of states (-entered +emitted):\n%s", diff)
	}

	roundTrip(l, &l.app.Status)

	if diff := cmp.Diff(l.plan.Next, status.Memory(&l.app.Status)); diff != "" && l.app.DeletionTimestamp == nil {
		l.Fatalf("remembered (-decided +read):\n%s", diff)
	}

	checkShape(l, l.app)
	return l
}

// enteredSince returns the states that a pass has added to the histories (history.Entered).
func enteredSince(before, after *sparkv1.SparkApplication) []string {
	all := func(app *sparkv1.SparkApplication) map[string]sparkv1.ApplicationState {
		if previous := app.Status.PreviousAttemptSummary; previous != nil {
			return history.Merged(app.Status.StateTransitionHistory, previous.StateTransitionHistory)
		}
		return app.Status.StateTransitionHistory
	}
	return history.Entered(all(before), all(after), status.Current(&before.Status) == "", func(s sparkv1.ApplicationState) (string, string, string) {
		return string(s.CurrentStateSummary), s.LastTransitionTime, s.Message
	})
}

// stateEvents returns the reasons and messages of those events whose reason is a state.
func stateEvents(events []dialect.Event) []string {
	return history.Reported(events, func(reason string) bool { return slices.Contains(everyState, sparkv1.ApplicationStateSummary(reason)) })
}

// passWithDriver runs a pass that observes one driver of the current attempt. The driver is pending, unless the given
// changes set another state. passWithDriver returns the life cycle itself.
func (l *life) passWithDriver(after time.Duration, change ...func(*lifecycle.Driver)) *life {
	l.Helper()
	return l.pass(after, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(change...)}})
}

func (l *life) driver(change ...func(*lifecycle.Driver)) lifecycle.Driver {
	d := lifecycle.Driver{Name: "pi-driver", Attempt: l.plan.Next.Attempt, Phase: lifecycle.DriverPending,
		CreatedAt: l.now}
	for _, c := range change {
		c(&d)
	}
	return d
}

// passWithoutObjects runs a pass that observes no objects, and returns the life cycle itself.
func (l *life) passWithoutObjects(after time.Duration) *life {
	l.Helper()
	return l.pass(after, lifecycle.Observed{Confirmed: true})
}

func running(d *lifecycle.Driver) { d.Phase, d.StartedAt = lifecycle.DriverRunning, t0 }

func ready(d *lifecycle.Driver) {
	running(d)
	d.Ready, d.ReadyAt = true, t0
}

func succeeded(d *lifecycle.Driver) {
	d.Phase, d.StartedAt, d.HasExit = lifecycle.DriverSucceeded, t0, true
}

func crashed(d *lifecycle.Driver) {
	d.Phase, d.StartedAt, d.HasExit, d.ExitCode = lifecycle.DriverFailed, t0, true, 1
	d.Why = lifecycle.Cause{Reason: "Error", Message: "driver container failed with exit code 1"}
	d.Status = &corev1.PodStatus{Phase: corev1.PodFailed,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "spark-kubernetes-driver",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}}}
}

func evicted(d *lifecycle.Driver) {
	crashed(d)
	d.Evicted, d.Why = true, lifecycle.Cause{Reason: lifecycle.ReasonEvicted, Message: "the node ran out of memory"}
}

// executors returns n running executors of an attempt.
func executors(attempt int32, n int) (all []lifecycle.Executor) {
	for i := range n {
		all = append(all, lifecycle.Executor{Name: fmt.Sprint("pi-exec-", i+1), Attempt: attempt,
			Phase: lifecycle.DriverRunning})
	}
	return all
}

// expectStates fails the test unless the history consists of the wanted states, which are given in short form ("0
// Submitted, 1 DriverRequested").
func (l *life) expectStates(want string) *life {
	l.Helper()

	if diff := cmp.Diff(want, shortened(l.app.Status.StateTransitionHistory)); diff != "" {
		l.Errorf("history (-want +got):\n%s", diff)
	}
	return l
}

func shortened(history map[string]sparkv1.ApplicationState) string {
	var out []string
	for _, key := range apache.KeysOf(history) {
		out = append(out, key+" "+string(history[key].CurrentStateSummary))
	}
	return strings.Join(out, ", ")
}

// roundTrip converts a status to JSON and back, as the API server does.
func roundTrip(t testing.TB, s *sparkv1.ApplicationStatus) {
	t.Helper()
	text := jsonOf(t, s)

	*s = sparkv1.ApplicationStatus{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
}

// jsonOf returns a status in the JSON form that the operator writes.
func jsonOf(t testing.TB, s *sparkv1.ApplicationStatus) string {
	t.Helper()

	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}

	if strings.Contains(string(text), "null") {
		t.Fatalf("a null in %s", text)
	}
	return string(text)
}

func asks(plan lifecycle.Plan) bool {
	for _, a := range plan.Actions {
		if a.Verb == lifecycle.Confirm {
			return true
		}
	}
	return false
}

// checkShape checks a status against the CRD and against the properties that tools rely on.
func checkShape(t testing.TB, app *sparkv1.SparkApplication) {
	t.Helper()

	s := app.Status
	for _, c := range s.Conditions {
		if dialect.UsableReason(c.Reason) != c.Reason || c.LastTransitionTime.IsZero() || len(c.Message) > 32768 {
			t.Fatalf("no API server stores %+v", c)
		}
	}

	if s.CurrentState == nil {
		if len(s.StateTransitionHistory) > 0 {
			t.Fatal("a history without a current state")
		}
		return
	}

	past := status.States(s.StateTransitionHistory)
	if diff := cmp.Diff(*s.CurrentState, past[len(past)-1]); diff != "" {
		t.Fatalf("the current state is not the last of the history:\n%s", diff)
	}

	last := time.Time{}
	for i, entry := range past {
		at := apache.ParseTimestamp(entry.LastTransitionTime)
		if at.IsZero() || at.Before(last) || !strings.Contains(entry.LastTransitionTime, ".") {
			t.Fatalf("state %d, %s, is of %q, after %v", i, entry.CurrentStateSummary, entry.LastTransitionTime, last)
		}

		if _, known := status.Meaning(entry.CurrentStateSummary); !known || entry.Message == "" {
			t.Fatalf("no state of this API, or without a word: %+v", entry)
		}

		last = at
	}

	if len(past) > status.MaxHistory || s.CurrentAttemptSummary == nil || s.CurrentAttemptSummary.AttemptInfo == nil {
		t.Fatalf("%d states; attempt %+v", len(past), s.CurrentAttemptSummary)
	}
}

// everyState lists all states of this API in order.
var everyState = []sparkv1.ApplicationStateSummary{
	"Submitted", "ScheduledToRestart", "DriverRequested", "DriverStarted", "DriverReady",
	"InitializedBelowThresholdExecutors", "RunningHealthy",
	"RunningWithPartialCapacity", "RunningWithBelowThresholdExecutors", "DriverStartTimedOut", "ExecutorsStartTimedOut",
	"DriverReadyTimedOut", "Succeeded",
	"Failed", "SchedulingFailure", "DriverEvicted", "ResourceReleased", "TerminatedWithoutReleaseResources",
	"Suspended",
}
