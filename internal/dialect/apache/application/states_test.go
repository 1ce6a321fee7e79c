package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

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
		"a launch":                              {"Submitted", lifecycle.Transition{To: lifecycle.Launched}, lifecycle.App{}, "DriverRequested"},
		"another launch":                        {"ScheduledToRestart", lifecycle.Transition{To: lifecycle.Launched}, lifecycle.App{}, "DriverRequested"},
		"a launch that was not stored":          {"RunningHealthy", lifecycle.Transition{To: lifecycle.Launched}, lifecycle.App{}, "ScheduledToRestart DriverRequested"},
		"a node that answers again":             {"DriverRequested", lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Launched}, lifecycle.App{}, ""},
		"a node that is lost":                   {"DriverReady", lifecycle.Transition{To: lifecycle.Unknown}, lifecycle.App{}, ""},
		"a start":                               {"DriverRequested", lifecycle.Transition{To: lifecycle.Started}, lifecycle.App{}, "DriverStarted"},
		"states that no pass observed":          {"DriverRequested", lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Running}, lifecycle.App{}, "DriverStarted DriverReady RunningHealthy"},
		"states that no pass observed, partly":  {"DriverStarted", lifecycle.Transition{To: lifecycle.Scaling}, lifecycle.App{}, "DriverReady InitializedBelowThresholdExecutors"},
		"the state in which it is":              {"DriverReady", lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Ready}, lifecycle.App{}, ""},
		"a state that it has left":              {"RunningHealthy", lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Started}, lifecycle.App{}, ""},
		"fewer executors":                       {"RunningHealthy", lifecycle.Transition{To: lifecycle.Below}, lifecycle.App{}, "RunningWithBelowThresholdExecutors"},
		"more executors":                        {"RunningWithBelowThresholdExecutors", lifecycle.Transition{To: lifecycle.Partial}, lifecycle.App{}, "RunningWithPartialCapacity"},
		"a success":                             {"RunningHealthy", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Succeeded}, lifecycle.App{}, "Succeeded"},
		"a driver that was lost":                {"RunningHealthy", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Lost}, lifecycle.App{}, "Failed"},
		"a run that took too long":              {"RunningHealthy", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.RunTimedOut}, lifecycle.App{}, "Failed"},
		"a rejected attempt":                    {"Submitted", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused, Cause: lifecycle.Cause{Reason: "Forbidden"}}, invalid, "SchedulingFailure"},
		"an attempt of a spec that was invalid": {"Submitted", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused, Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, lifecycle.App{}, "SchedulingFailure"},
		"an invalid spec":                       {"Submitted", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Refused, Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, invalid, "Failed"},
		"a failure whose next spec is invalid":  {"RunningHealthy", lifecycle.Transition{To: lifecycle.Ended, Outcome: lifecycle.Evicted, Cause: lifecycle.Cause{Reason: "InvalidSpec"}}, invalid, "DriverEvicted"},
		"a restart":                             {"Failed", lifecycle.Transition{To: lifecycle.Waiting}, lifecycle.App{}, "ScheduledToRestart"},
		"a retention":                           {"Failed", lifecycle.Transition{To: lifecycle.Retained}, lifecycle.App{}, "TerminatedWithoutReleaseResources"},
		"the end":                               {"Failed", lifecycle.Transition{To: lifecycle.Done}, lifecycle.App{}, "ResourceReleased"},
		"no attempt any more":                   {"Submitted", lifecycle.Transition{To: lifecycle.New}, lifecycle.App{}, ""},
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
	for _, phase := range []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below} {
		if state := liveStates[phase]; stateRank(state) < 0 || adopted[state].Phase != phase {
			t.Errorf("the phase %s is written as %q, which is read as the phase %q", phase, state, adopted[state].Phase)
		}
	}

	for _, outcome := range []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Failed, lifecycle.Lost, lifecycle.RunTimedOut, lifecycle.Evicted, lifecycle.Refused,
		lifecycle.StartTimedOut, lifecycle.ReadyTimedOut, lifecycle.ExecutorsTimedOut} {
		state := endStates[outcome]

		read, ended := outcomeOf(state)
		if !ended || read != outcome && state != sparkv1.ApplicationFailed || failed(state) != (outcome != lifecycle.Succeeded) {
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
		"a submission by spark-submit": {state: "DriverRequested", t: lifecycle.Transition{Cause: lifecycle.Cause{Message: "spark-submit creates it"}}, want: "the driver is requested; spark-submit creates it"},
		"a driver":                     {state: "DriverRequested", want: "the driver pod and its objects were created; the driver pod has not started yet"},
		"no thresholds":                {state: "RunningHealthy", want: "the driver runs; spec.applicationTolerations.instanceConfig sets no number of executors to wait for, so some may be pending; status.executors has the counts"},
		"only a maximum": {state: "RunningHealthy", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Max: 1}},
			want: "the driver runs, and at least as many executors run as spec.applicationTolerations.instanceConfig requires"},
		"only a minimum": {state: "RunningHealthy", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Min: 1}},
			want: "the driver runs, and at least as many executors run as spec.applicationTolerations.instanceConfig requires"},
		"below the start":   {state: "InitializedBelowThresholdExecutors", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}}, want: "fewer executors run than initExecutors (3)"},
		"below the minimum": {state: "RunningWithBelowThresholdExecutors", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}}, want: "the driver runs, and fewer executors run than minExecutors (2)"},
		"below the maximum": {state: "RunningWithPartialCapacity", wanted: lifecycle.App{Thresholds: &lifecycle.Thresholds{Init: 3, Min: 2, Max: 9}}, want: "the driver runs, and fewer executors run than maxExecutors (9)"},
		"a restart later": {state: "ScheduledToRestart", t: lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2}, next: lifecycle.Memory{NextAttempt: noon},
			want: "attempt 2 has ended; the next attempt follows at 2026-11-21T12:00:00.000000Z"},
		"a restart at once":              {state: "ScheduledToRestart", t: lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2}, want: "attempt 2 has ended; the next attempt follows"},
		"a restart that was not stored":  {state: "ScheduledToRestart", t: lifecycle.Transition{To: lifecycle.Launched, Attempt: 3}, next: lifecycle.Memory{NextAttempt: noon}, want: "attempt 2 has ended; the next attempt follows"},
		"a restart that a user requests": {state: "ScheduledToRestart", t: lifecycle.Transition{To: lifecycle.Waiting, Attempt: 2, Cause: lifecycle.Cause{Reason: "RestartRequested"}}, want: "a restart was requested; the next attempt follows when the objects of attempt 2 are gone"},
		"a failure":                      {state: "Failed", t: lifecycle.Transition{Cause: why}, want: "Error: exit code 1"},
		"a success":                      {state: "Succeeded", t: lifecycle.Transition{Cause: why}, want: "the driver ended without an error"},
		"kept for a minute": {state: "TerminatedWithoutReleaseResources", t: lifecycle.Transition{At: noon, Outcome: lifecycle.Succeeded, Cause: why}, wanted: lifecycle.App{Retain: lifecycle.Retention{For: &minute}},
			want: "the application has ended and its objects are kept, until 2026-11-21T12:01:00.000000Z"},
		"kept after a failure": {state: "TerminatedWithoutReleaseResources", t: lifecycle.Transition{Outcome: lifecycle.Failed, Cause: why},
			want: "the application has ended and its objects are kept, as long as the application itself; the last attempt failed: Error: exit code 1"},
		"released":                    {state: "ResourceReleased", t: lifecycle.Transition{Outcome: lifecycle.Undecided, Cause: why}, want: "the application has ended and its objects are gone"},
		"released after a rejection":  {state: "ResourceReleased", t: lifecycle.Transition{Outcome: lifecycle.Refused, Cause: why}, want: "the application has ended and its objects are gone; it was rejected: Error: exit code 1"},
		"released after all restarts": {state: "ResourceReleased", t: lifecycle.Transition{Outcome: lifecycle.Succeeded, Cause: limit}, want: "the application has ended and its objects are gone; the limit is 3 restarts"},
	} {
		if got := message(sparkv1.ApplicationStateSummary(c.state), c.t, c.wanted, c.next); got != c.want {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}

// TestNamesThatCountFromZeroAreExplained checks that only names that the operator chooses are said to contain the
// number of an attempt.
func TestNamesThatCountFromZeroAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		conf   map[string]string
		driver string
		want   string
	}{
		"the operator's name":    {nil, "pi-0-driver", " (names count attempts from 0)"},
		"the user's id":          {map[string]string{"spark.app.id": "pi-mine"}, "pi-mine-driver", ""},
		"the user's pod name":    {map[string]string{"spark.kubernetes.driver.pod.name": "pi-7"}, "pi-7", ""},
		"the other operator's":   {nil, "old-driver", ""},
		"a prefix of another's":  {nil, "pie-0-driver", ""},
		"a name without the end": {nil, "pi", ""},
	} {
		if got := countsFromZero(pi(func(app *sparkv1.SparkApplication) { app.Spec.SparkConf = c.conf }), c.driver); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestSnapshotsCutEveryMessage checks that each text of a pod's status that somebody else writes is cut, and that ids
// of containers are left out.
func TestSnapshotsCutEveryMessage(t *testing.T) {
	long := strings.Repeat("x", 600)
	state := func() corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Message: long}, Terminated: &corev1.ContainerStateTerminated{Message: long, ContainerID: "secret-id"}}
	}
	container := corev1.ContainerStatus{Name: "c", ContainerID: "secret-id", ImageID: "secret-id", State: state(), LastTerminationState: state()}

	text := string(snapshot(&corev1.PodStatus{Message: long, Conditions: []corev1.PodCondition{{Type: "T", Message: long}},
		ContainerStatuses: []corev1.ContainerStatus{container}, InitContainerStatuses: []corev1.ContainerStatus{container}}).Raw)
	if strings.Contains(text, long) || strings.Count(text, strings.Repeat("x", 512)+`..."`) != 10 || strings.Contains(text, "secret-id") {
		t.Errorf("%d messages are cut: %s", strings.Count(text, `..."`), text)
	}
}

// TestLaunchWarnings checks the warnings about fields that have no effect, and that values that have one cause none.
func TestLaunchWarnings(t *testing.T) {
	for spec, want := range map[string][]string{
		`{}`: nil,
		`{jars: "local:///a.jar", sparkConf: {spark.jars: "local:///b.jar"}}`:                nil,
		`{jars: "local:///a.jar,local:///b.jar"}`:                                            nil,
		`{jars: "local:///a.jar,local:///b.jar", sparkConf: {spark.jars: "local:///c.jar"}}`: {`spec.jars: local:///b.jar has no effect: spec.sparkConf[spark.jars] is "local:///c.jar"`},
		`{runtimeVersions: {sparkVersion: 4.2.0, scalaVersion: "a b", jdkVersion: "-"}}`: {
			`spec.runtimeVersions.scalaVersion: "a b" is not a valid label value, and the field has no other use`,
			`spec.runtimeVersions.jdkVersion: "-" is not a valid label value, and the field has no other use`,
		},
		`{pyFiles: a.py, sparkRFiles: a.R}`: {
			"spec.pyFiles: has no effect: spec.jars names the program; use spark.submit.pyFiles or spark.files for further files",
			"spec.sparkRFiles: has no effect: spec.jars names the program; use spark.submit.pyFiles or spark.files for further files",
		},
		`{jars: "", pyFiles: a.py, sparkRFiles: a.R}`: {"spec.sparkRFiles: has no effect: spec.pyFiles names the program; use spark.submit.pyFiles or spark.files for further files"},
	} {
		if diff := cmp.Diff(want, launchWarnings((Applications{}).next(written(t, "spec: "+spec), 1, noon))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestLanguageFollowsTheSuffix checks which names of files are programs in Python and R.
func TestLanguageFollowsTheSuffix(t *testing.T) {
	for file, languages := range map[string]string{"a.py": "Python", " a.py ": "Python", "a.py , b.zip": "Python", "a.R": "R", "a.r": "R", "a.PY": "", "a.py.zip": "", "py": "", "": ""} {
		_, python := programOf(&sparkv1.ApplicationSpec{PyFiles: file, MainClass: "org.apache.spark.deploy.PythonRunner"})
		if (python == nil) != (languages == "Python") || python != nil && python.Field != "spec.pyFiles" {
			t.Errorf("%q as Python: %v", file, python)
		}

		_, r := programOf(&sparkv1.ApplicationSpec{SparkRFiles: file})
		if file != "" && (r == nil) != (languages == "R") || r != nil && r.Field != "spec.sparkRFiles" {
			t.Errorf("%q as R: %v", file, r)
		}
	}
}
