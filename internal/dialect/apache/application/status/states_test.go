package status

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestStatesOfATransition checks which states an application enters with a transition. Tools of the other operator
// expect every state of a start in its order, and no state twice.
func TestStatesOfATransition(t *testing.T) {
	invalid := lifecycle.App{Invalid: &lifecycle.Cause{Reason: "InvalidSpec"}}
	for name, c := range map[string]struct {
		before string
		t      lifecycle.Transition
		wanted lifecycle.App
		want   string
	}{
		"a launch": {"Submitted", lifecycle.Transition{To: lifecycle.Launched},
			lifecycle.App{}, "DriverRequested"},
		"another launch": {"ScheduledToRestart", lifecycle.Transition{To: lifecycle.Launched},
			lifecycle.App{}, "DriverRequested"},
		"a launch that was not stored": {"RunningHealthy", lifecycle.Transition{To: lifecycle.Launched},
			lifecycle.App{}, "ScheduledToRestart DriverRequested"},
		"a node that answers again": {"DriverRequested",
			lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Launched}, lifecycle.App{}, ""},
		"a node that is lost": {"DriverReady", lifecycle.Transition{To: lifecycle.Unknown},
			lifecycle.App{}, ""},
		"a start": {"DriverRequested", lifecycle.Transition{To: lifecycle.Started},
			lifecycle.App{}, "DriverStarted"},
		"states that no pass observed": {"DriverRequested",
			lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Running}, lifecycle.App{},
			"DriverStarted DriverReady RunningHealthy"},
		"states that no pass observed, partly": {"DriverStarted", lifecycle.Transition{To: lifecycle.Scaling},
			lifecycle.App{}, "DriverReady InitializedBelowThresholdExecutors"},
		"the state in which it is": {"DriverReady",
			lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Ready}, lifecycle.App{}, ""},
		"a state that it has left": {"RunningHealthy",
			lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Started}, lifecycle.App{}, ""},
		"fewer executors": {"RunningHealthy", lifecycle.Transition{To: lifecycle.Below},
			lifecycle.App{}, "RunningWithBelowThresholdExecutors"},
		"more executors": {"RunningWithBelowThresholdExecutors",
			lifecycle.Transition{To: lifecycle.Partial}, lifecycle.App{}, "RunningWithPartialCapacity"},
		"a success": {"RunningHealthy",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Succeeded}, lifecycle.App{}, "Succeeded"},
		"a driver that was lost": {"RunningHealthy",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Lost}, lifecycle.App{}, "Failed"},
		"a run that took too long": {"RunningHealthy",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.RunTimedOut}, lifecycle.App{}, "Failed"},
		"a rejected attempt": {"Submitted",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused,
				Cause: lifecycle.Cause{Reason: "Forbidden"}}, invalid, "SchedulingFailure"},
		"an attempt of a spec that was invalid": {"Submitted",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused,
				Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, lifecycle.App{}, "SchedulingFailure"},
		"an invalid spec": {"Submitted",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused,
				Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, invalid, "Failed"},
		"a failure whose next spec is invalid": {"RunningHealthy",
			lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Evicted,
				Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, invalid, "DriverEvicted"},
		"a restart": {"Failed", lifecycle.Transition{To: lifecycle.Waiting},
			lifecycle.App{}, "ScheduledToRestart"},
		"a retention": {"Failed", lifecycle.Transition{To: lifecycle.Retained},
			lifecycle.App{}, "TerminatedWithoutReleaseResources"},
		"the end": {"Failed", lifecycle.Transition{To: lifecycle.Done}, lifecycle.App{},
			"ResourceReleased"},
		"no attempt any more": {"Submitted", lifecycle.Transition{To: lifecycle.New},
			lifecycle.App{}, ""},
	} {
		var got []string
		for _, state := range states(sparkv1.ApplicationStateSummary(c.before), c.t, c.wanted) {
			got = append(got, string(state))
		}

		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// TestEveryPhaseAndOutcomeHasAState checks the maps from which the states come: a missing entry would write an empty
// state, which the definition rejects.
func TestEveryPhaseAndOutcomeHasAState(t *testing.T) {
	for _, phase := range []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling,
		lifecycle.Running, lifecycle.Partial, lifecycle.Below} {
		state := phaseState(phase)
		if m, known := Meaning(state); !known || Rank(state) < 0 || m.Phase != phase {
			t.Errorf("the phase %s is written as %q, which is read as the phase %q", phase, state, m.Phase)
		}
	}

	for _, outcome := range []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Failed, lifecycle.Lost,
		lifecycle.RunTimedOut, lifecycle.Evicted, lifecycle.Refused,
		lifecycle.StartTimedOut, lifecycle.ReadyTimedOut, lifecycle.ExecutorsTimedOut} {
		state := endState(lifecycle.Transition{Outcome: outcome}, lifecycle.App{})

		read, ended := Outcome(state)
		if !ended || read != outcome && state != sparkv1.ApplicationFailed ||
			failed(state) != (outcome != lifecycle.Succeeded) {
			t.Errorf("the outcome %s is written as %q, which is read as %q", outcome, state, read)
		}
	}
}

// TestMessagesOfStates checks what the states say.
func TestMessagesOfStates(t *testing.T) {
	why := lifecycle.Cause{Reason: "Error", Message: "exit code 1"}
	limit := lifecycle.Cause{Reason: "RestartsExhausted", Message: "the limit is 3 restarts"}

	minute := time.Minute
	for name, c := range map[string]struct {
		state  string
		t      lifecycle.Transition
		wanted lifecycle.App
		next   lifecycle.Memory
		want   string
	}{
		"a submission by spark-submit": {state: "DriverRequested",
			t:    lifecycle.Transition{Cause: lifecycle.Cause{Message: "spark-submit creates it"}},
			want: "the driver is requested; spark-submit creates it"},
		"a driver": {state: "DriverRequested",
			want: "the driver pod and its objects were created; the driver pod has not started yet"},
		"no thresholds": {state: "RunningHealthy",
			want: "the driver runs; spec.applicationTolerations.instanceConfig sets no number of executors to wait for, so some may be pending; status.executors has the counts"},
		"only a maximum": {state: "RunningHealthy", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Max: 1}}, next: lifecycle.Memory{EnoughExecutors: 9},
			want: "the driver runs, and at least as many executors run as spec.applicationTolerations.instanceConfig requires"},
		"only a minimum": {state: "RunningHealthy", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Min: 1}}, next: lifecycle.Memory{EnoughExecutors: 9},
			want: "the driver runs, and at least as many executors run as spec.applicationTolerations.instanceConfig requires"},
		"a minimum that was not reached yet": {state: "RunningHealthy", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Min: 2}},
			next: lifecycle.Memory{EnoughExecutors: 1},
			want: "the driver runs; executors may still be starting, because spec.applicationTolerations.instanceConfig applies when as many have run at the same time, " +
				"or after executorStartTimeoutMillis; status.executors has the counts"},
		"below the start": {state: "InitializedBelowThresholdExecutors",
			wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}},
			want:   "fewer executors run than initExecutors (3)"},
		"below the minimum": {state: "RunningWithBelowThresholdExecutors",
			wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}},
			want:   "the driver runs, and fewer executors run than minExecutors (2)"},
		"below the maximum": {state: "RunningWithPartialCapacity",
			wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}},
			want:   "the driver runs, and fewer executors run than maxExecutors (9)"},
		"a restart later": {state: "ScheduledToRestart", t: lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2},
			next: lifecycle.Memory{NextAttempt: noon},
			want: "attempt 2 has ended; the next attempt follows at 2026-11-21T12:00:00.000000Z"},
		"a restart at once": {state: "ScheduledToRestart",
			t:    lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2},
			want: "attempt 2 has ended; the next attempt follows"},
		"a restart that was not stored": {state: "ScheduledToRestart",
			t: lifecycle.Transition{To: lifecycle.Launched, Attempt: 3}, next: lifecycle.Memory{NextAttempt: noon},
			want: "attempt 2 has ended; the next attempt follows"},
		"a restart that a user requests": {state: "ScheduledToRestart",
			t: lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2,
				Cause: lifecycle.Cause{Reason: "RestartRequested"}},
			want: "a restart was requested; the next attempt follows when the objects of attempt 2 are gone"},
		"a failure": {state: "Failed", t: lifecycle.Transition{Cause: why},
			want: "Error: exit code 1"},
		"a success": {state: "Succeeded", t: lifecycle.Transition{Cause: why},
			want: "the driver ended without an error"},
		"kept for a minute": {state: "TerminatedWithoutReleaseResources",
			t:      lifecycle.Transition{At: noon, Outcome: lifecycle.Succeeded, Cause: why},
			wanted: lifecycle.App{Retain: lifecycle.Retention{For: &minute}},
			want:   "the application has ended and its objects are kept, until 2026-11-21T12:01:00.000000Z"},
		"kept after a failure": {state: "TerminatedWithoutReleaseResources",
			t:    lifecycle.Transition{Outcome: lifecycle.Failed, Cause: why},
			want: "the application has ended and its objects are kept, as long as the application itself; the last attempt failed: Error: exit code 1"},
		"released": {state: "ResourceReleased",
			t:    lifecycle.Transition{Outcome: lifecycle.Undecided, Cause: why},
			want: "the application has ended and its objects are gone"},
		"released after a rejection": {state: "ResourceReleased",
			t:    lifecycle.Transition{Outcome: lifecycle.Refused, Cause: why},
			want: "the application has ended and its objects are gone; it was rejected: Error: exit code 1"},
		"released without an attempt": {state: "ResourceReleased",
			t: lifecycle.Transition{Outcome: lifecycle.Refused,
				Cause: lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.mainClass: Required"}},
			want: "the application has ended and its objects are gone; it was rejected: InvalidSpec: spec.mainClass: Required"},
		"released after all restarts": {state: "ResourceReleased",
			t:    lifecycle.Transition{Outcome: lifecycle.Succeeded, Cause: limit},
			want: "the application has ended and its objects are gone; the limit is 3 restarts"},
	} {
		if got := message(sparkv1.ApplicationStateSummary(c.state), c.t, c.wanted, c.next); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}

// TestBothVersionsHoldEveryState checks that the CRDs of both API versions allow the same states, so that a status that
// was written through one version can be written through the other.
func TestBothVersionsHoldEveryState(t *testing.T) {
	text, err := os.ReadFile("../../../../../config/crd/spark.apache.org_sparkapplications.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}

	if len(crd.Spec.Versions) != 2 {
		t.Fatalf("%d versions", len(crd.Spec.Versions))
	}

	for _, version := range crd.Spec.Versions {
		var allowed []string
		for _, value := range version.Schema.OpenAPIV3Schema.Properties["status"].Properties["currentState"].Properties["currentStateSummary"].Enum {
			allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
		}

		var want []string
		for _, state := range everyState {
			want = append(want, string(state))
		}

		if diff := cmp.Diff(want, allowed); diff != "" {
			t.Errorf("%s (-written +allowed):\n%s", version.Name, diff)
		}
	}

	if len(stateRows) != len(everyState) {
		t.Errorf("%d states are read, %d written", len(stateRows), len(everyState))
	}

	for i, row := range stateRows {
		if row.state != everyState[i] {
			t.Errorf("state %d is %s, and %s in the definition", i, row.state, everyState[i])
		}

		if row.phase.Live() && Rank(row.state) < 0 {
			t.Errorf("%s is no state of a driver", row.state)
		}
	}
}

// everyState lists all states that the operator writes, in the order of the definition.
var everyState = []sparkv1.ApplicationStateSummary{
	"Submitted", "ScheduledToRestart", "DriverRequested", "DriverStarted", "DriverReady",
	"InitializedBelowThresholdExecutors", "RunningHealthy",
	"RunningWithPartialCapacity", "RunningWithBelowThresholdExecutors", "DriverStartTimedOut", "ExecutorsStartTimedOut",
	"DriverReadyTimedOut", "Succeeded",
	"Failed", "SchedulingFailure", "DriverEvicted", "ResourceReleased", "TerminatedWithoutReleaseResources",
	"Suspended",
}
