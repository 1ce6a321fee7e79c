package dialect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// phases contains every phase, and one of a later version of the operator.
var phases = []lifecycle.Phase{
	lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling,
	lifecycle.Running,
	lifecycle.Partial, lifecycle.Below, lifecycle.Unknown, lifecycle.Ended, lifecycle.Retained, lifecycle.Done,
	lifecycle.Suspending,
	lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing, "APhaseOfLater",
}

// asText returns conditions in the form "Ready=False Submitted=True".
func asText(conditions []PhaseCondition) string {
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = c.Type + "=" + string(c.Status)
	}
	return strings.Join(words, " ")
}

func TestPhaseConditions(t *testing.T) {
	for _, c := range []struct {
		phase   lifecycle.Phase
		outcome lifecycle.Outcome
		runs    int32
		want    string
	}{
		{lifecycle.New, "", 0, "Ready=False Reconciling=True"},
		{lifecycle.Waiting, lifecycle.Failed, 1, "Ready=False Reconciling=True"},
		{lifecycle.Launched, "", 1, "Ready=False Reconciling=True Submitted=True"},
		{lifecycle.Started, "", 1, "Ready=False Reconciling=True Submitted=True"},
		{lifecycle.Unknown, "", 1, "Ready=False Reconciling=True Submitted=True"},
		{lifecycle.Ready, "", 1, "Ready=False Reconciling=True Submitted=True Running=True"},
		{lifecycle.Scaling, "", 1, "Ready=False Reconciling=True Submitted=True Running=True"},
		{lifecycle.Running, "", 1, "Ready=True Submitted=True Running=True"},
		{lifecycle.Partial, "", 1, "Ready=True Submitted=True Running=True"},
		{lifecycle.Below, "", 1, "Ready=True Submitted=True Running=True"},
		{lifecycle.Ended, lifecycle.Failed, 1, "Ready=False Reconciling=True"},
		{lifecycle.Retained, lifecycle.Succeeded, 1, "Ready=True Submitted=True Succeeded=True"},
		{lifecycle.Done, lifecycle.Succeeded, 1, "Ready=True Submitted=True Succeeded=True"},
		{lifecycle.Retained, lifecycle.Failed, 2, "Ready=False Stalled=True Failed=True Submitted=True"},
		{lifecycle.Done, lifecycle.Refused, 0, "Ready=False Stalled=True Failed=True"},
		{lifecycle.Done, lifecycle.RunTimedOut, 1, "Ready=False Stalled=True Failed=True Submitted=True"},
		{lifecycle.Suspending, "", 1, "Ready=False Reconciling=True"},
		{lifecycle.Suspended, "", 1, "Ready=False Suspended=True"},
		{lifecycle.Resuming, "", 1, "Ready=False Reconciling=True"},
		{lifecycle.Editing, "", 1, "Ready=False Reconciling=True"},
		{"APhaseOfLater", "", 1, "Ready=False Reconciling=True"},
	} {
		if got := asText(PhaseConditions(lifecycle.Memory{Phase: c.phase, Outcome: c.outcome,
			Runs: c.runs})); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.phase, c.outcome, got, c.want)
		}
	}
}

// TestRefusedExecutorsStall checks that an application whose executors the API server refuses as invalid is
// reported as stalled until an edit, and no longer as progressing.
func TestRefusedExecutorsStall(t *testing.T) {
	for phase, want := range map[lifecycle.Phase]string{
		lifecycle.Started: "Ready=False Stalled=True Submitted=True",
		lifecycle.Ready:   "Ready=False Stalled=True Submitted=True Running=True",
		lifecycle.Scaling: "Ready=False Stalled=True Submitted=True Running=True",
		lifecycle.Running: "Ready=True Submitted=True Running=True", // Degraded reports it
	} {
		m := lifecycle.Memory{Phase: phase, Runs: 1,
			Cause: lifecycle.Cause{Reason: lifecycle.ReasonPodInvalid, Message: "executors cannot be created"}}
		if got := asText(PhaseConditions(m)); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}

// TestConditionsAreReadableByKstatus checks the rules of kstatus for every memory: there is one condition Ready, and
// Reconciling and Stalled are never set together or beside Ready=True.
func TestConditionsAreReadableByKstatus(t *testing.T) {
	for _, phase := range phases {
		for _, outcome := range []lifecycle.Outcome{"", lifecycle.Succeeded, lifecycle.Failed, lifecycle.Lost,
			lifecycle.Refused} {
			for runs := range int32(2) {
				conditions := PhaseConditions(lifecycle.Memory{Phase: phase, Outcome: outcome, Runs: runs})

				got := map[string]metav1.ConditionStatus{}
				for _, c := range conditions {
					got[c.Type] = c.Status
				}

				busy, stalled := got[ConditionReconciling] == "True", got[ConditionStalled] == "True"
				if len(got) != len(conditions) || got[ConditionReady] == "" || busy && stalled ||
					got[ConditionReady] == "True" && (busy || stalled) {
					t.Errorf("%s with %q and %d runs: %s", phase, outcome, runs, asText(conditions))
				}
			}
		}
	}
}

func TestConditionCause(t *testing.T) {
	retry := time.Date(2026, 5, 4, 5, 2, 1, 999, time.FixedZone("east", 2*3600))

	oom := lifecycle.Cause{Reason: "OOMKilled", Message: "the driver needs more memory"}
	for name, c := range map[string]struct {
		kind            string
		memory          lifecycle.Memory
		reason, message string
	}{
		"degraded without a cause": {ConditionDegraded, lifecycle.Memory{Phase: lifecycle.Below},
			"ExecutorsBelowThreshold", "fewer executors run than the application started with; status.executors has the counts"},
		"degraded with a cause": {ConditionDegraded,
			lifecycle.Memory{Phase: lifecycle.Partial,
				Cause: lifecycle.Cause{Reason: "Unschedulable", Message: "no node"}}, "Unschedulable", "no node"},
		"running": {ConditionReady, lifecycle.Memory{Phase: lifecycle.Running}, "Running", ""},
		"running, and a pod waits": {ConditionReady, lifecycle.Memory{Phase: lifecycle.Running, Cause: oom},
			"Running", ""},
		"a milestone is its own reason": {ConditionSubmitted, lifecycle.Memory{Phase: lifecycle.Launched, Cause: oom},
			"Submitted", ""},
		"the milestone Running": {ConditionRunning, lifecycle.Memory{Phase: lifecycle.Partial, Cause: oom},
			"Running", ""},
		"the milestone Succeeded": {ConditionSucceeded,
			lifecycle.Memory{Phase: lifecycle.Done, Outcome: lifecycle.Succeeded, Cause: oom}, "Succeeded", ""},
		"the milestone Suspended": {ConditionSuspended, lifecycle.Memory{Phase: lifecycle.Suspended, Cause: oom},
			"Suspended", ""},
		"launched": {ConditionReconciling, lifecycle.Memory{Phase: lifecycle.Launched}, "Launched",
			"the driver pod has not started yet"},
		"a cause without a message": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Launched, Cause: lifecycle.Cause{Reason: "Pulling"}}, "Pulling",
			"the driver pod has not started yet"},
		"a reason that is not valid": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Launched, Cause: lifecycle.Cause{Reason: "not a reason", Message: "m"}},
			"Pending", "m"},
		"a message without a reason": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Launched, Cause: lifecycle.Cause{Message: "m"}}, "Launched",
			"the driver pod has not started yet"},
		"new": {ConditionReconciling, lifecycle.Memory{}, "Pending", ""},
		"a success that had a cause": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Done, Outcome: lifecycle.Succeeded, Cause: oom}, "Succeeded", ""},
		"a success whose sidecar still runs": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Retained, Outcome: lifecycle.Succeeded,
				Cause: lifecycle.Cause{Reason: lifecycle.ReasonSidecarRuns, Message: "proxy still runs"}}, "Succeeded",
			"proxy still runs"},
		"a rerun after a success waits": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Waiting, Outcome: lifecycle.Succeeded,
				Cause: lifecycle.Cause{Reason: lifecycle.ReasonQuota, Message: "no room"}}, "QuotaExceeded", "no room"},
		"a failure": {ConditionFailed,
			lifecycle.Memory{Phase: lifecycle.Done, Outcome: lifecycle.Failed, Cause: oom}, "OOMKilled",
			"the driver needs more memory"},
		"a failure without a cause": {ConditionStalled,
			lifecycle.Memory{Phase: lifecycle.Retained, Outcome: lifecycle.Lost}, "Lost", ""},
		"a retry names its time in UTC": {ConditionReconciling,
			lifecycle.Memory{Phase: lifecycle.Waiting, Outcome: lifecycle.Failed, NextAttempt: retry}, "Failed",
			"the next attempt starts at 2026-05-04T03:02:01Z"},
		"partial without a cause": {ConditionReady, lifecycle.Memory{Phase: lifecycle.Partial},
			"Partial", ""},
		"ready, and no executor runs": {ConditionReconciling, lifecycle.Memory{Phase: lifecycle.Ready},
			"AwaitingExecutors", "0 of 4 executors run"},
		"the outcome replaces the phase": {ConditionReady,
			lifecycle.Memory{Phase: lifecycle.Ended, Outcome: lifecycle.RunTimedOut}, "RunTimedOut",
			"the attempt has ended; its remaining objects are being deleted"},
		"an unknown phase needs no message": {ConditionReady, lifecycle.Memory{Phase: "APhaseOfLater"},
			"APhaseOfLater", ""},
	} {
		reason, message := ConditionCause(PhaseCondition{Type: c.kind}, lifecycle.App{InitialExecutors: 4}, c.memory)
		if reason != c.reason || message != c.message {
			t.Errorf("%s: %q with %q, want %q with %q", name, reason, message, c.reason, c.message)
		}
	}
}

func TestWaitMessage(t *testing.T) {
	want := map[lifecycle.Phase]string{
		lifecycle.Launched:   "the driver pod has not started yet",
		lifecycle.Started:    "the driver runs; its pod is not ready yet",
		lifecycle.Ready:      "0 of 3 executors run",
		lifecycle.Scaling:    "fewer than 3 executors run; status.executors has the counts",
		lifecycle.Unknown:    "the driver's node does not answer",
		lifecycle.Ended:      "the attempt has ended; its remaining objects are being deleted",
		lifecycle.Waiting:    "the last attempt's remaining objects are being deleted; then the next attempt starts",
		lifecycle.Suspending: "the attempt is being stopped",
		lifecycle.Suspended:  "the application is suspended",
		lifecycle.Resuming:   "the suspension is lifted; the next attempt starts when all objects of the last one are gone",
		lifecycle.Editing:    "the objects of the previous spec's run are being deleted",
	}
	for _, phase := range phases { // the other phases do not wait
		if got := waitMessage(lifecycle.App{InitialExecutors: 3}, lifecycle.Memory{Phase: phase}); got != want[phase] {
			t.Errorf("%s: %q, want %q", phase, got, want[phase])
		}
	}
}

func TestUsableReason(t *testing.T) {
	long := strings.Repeat("A", 1024)
	for reason, want := range map[string]string{
		"Evicted": "Evicted", "x": "x", "A1,b:c_d": "A1,b:c_d", "A_": "A_", long: long,
		"": "Pending", "1A": "Pending", "_A": "Pending", "A,": "Pending", "A:": "Pending", "A b": "Pending",
		"A-b": "Pending", "A\n": "Pending", "Ä": "Pending", "A\x00": "Pending", long + "A": "Pending",
	} {
		if got := UsableReason(reason); got != want {
			t.Errorf("%.20q (%d bytes): %.20q, want %.20q", reason, len(reason), got, want)
		}
	}
}

// FuzzUsableReason checks that the API server accepts the result (metav1.Condition), whatever a webhook reports.
func FuzzUsableReason(f *testing.F) {
	for _, seed := range []string{"", "Evicted", "A:", "a b", "A\n"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, reason string) {
		got := UsableReason(reason)
		isLetter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

		valid := got != "" && len(got) <= 1024 && isLetter(got[0]) && got[len(got)-1] != ',' && got[len(got)-1] != ':'
		for i := range len(got) {
			valid = valid && (isLetter(got[i]) || got[i] >= '0' && got[i] <= '9' ||
				strings.IndexByte("_,:", got[i]) >= 0)
		}

		if !valid || got != reason && got != "Pending" {
			t.Errorf("%q becomes %q", reason, got)
		}
	})
}

// TestSetConditionKeepsTheTransitionTime checks that a new message does not change the time since which the condition
// has its status, and that the time has no more digits than the API server stores.
func TestSetConditionKeepsTheTransitionTime(t *testing.T) {
	at := func(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }

	conditions := []metav1.Condition{{Type: "Theirs", Status: "True", LastTransitionTime: at(1)}}
	for i, c := range []struct {
		status          metav1.ConditionStatus
		reason, message string
		generation      int64
		now             time.Time
		want            metav1.Time
	}{
		{"False", "A", "a", 1, time.Unix(100, 999_999_999), at(100)},
		{"False", "A", "a", 1, time.Unix(200, 0), at(100)},
		{"False", "B", "b", 2, time.Unix(300, 0), at(100)},
		{"True", "B", "b", 2, time.Unix(400, 5), at(400)},
		{"False", "B", "b", 2, time.Unix(500, 5), at(500)},
	} {
		SetCondition(&conditions, metav1.Condition{Type: ConditionReady, Status: c.status, Reason: c.reason,
			Message: c.message}, c.generation, c.now)

		want := []metav1.Condition{
			{Type: "Theirs", Status: "True", LastTransitionTime: at(1)},
			{Type: "Ready", Status: c.status, Reason: c.reason, Message: c.message, ObservedGeneration: c.generation,
				LastTransitionTime: c.want},
		}
		if diff := cmp.Diff(want, conditions); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestTransientErrorBelongsToThePhase checks that a transient error makes an application that starts not Ready, and one
// that runs Degraded, and that it is not reported for an application that has ended or is suspended.
func TestTransientErrorBelongsToThePhase(t *testing.T) {
	transient := &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "now"}}

	want := map[lifecycle.Phase]string{
		lifecycle.Retained: "", lifecycle.Done: "", lifecycle.Suspended: "",
		lifecycle.Running: "Degraded=True", lifecycle.Partial: "Degraded=True", lifecycle.Below: "Degraded=True",
	}
	for _, phase := range phases {
		wanted, special := want[phase]
		if !special {
			wanted = "Ready=False"
		}
		var conditions []metav1.Condition
		EncodeTransientError(&conditions, phase, transient, nil, 5, time.Unix(7, 0))

		got := ""
		for _, c := range conditions {
			got += fmt.Sprintf("%s=%s", c.Type, c.Status)
			if c.Reason != "Timeout" || c.Message != "now" || c.ObservedGeneration != 5 ||
				c.LastTransitionTime.Unix() != 7 {
				t.Errorf("%s: %+v", phase, c)
			}
		}

		if got != wanted {
			t.Errorf("%s: %q, want %q", phase, got, wanted)
		}

		EncodeTransientError(&conditions, phase, nil, nil, 5, time.Unix(8, 0))

		if got := len(conditions); got > 1 {
			t.Errorf("%s: without an error there are %d conditions", phase, got)
		}
	}
}

// TestTransientErrorKeepsItsMessage checks that an error whose text differs each time (a port, a duration) does not
// change the status in every pass.
func TestTransientErrorKeepsItsMessage(t *testing.T) {
	transient := &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "from port 2"}}
	for name, c := range map[string]struct {
		before []metav1.Condition
		want   string
	}{
		"no condition before": {nil, "from port 2"},
		"the same reason before": {[]metav1.Condition{{Type: "Ready", Status: "False", Reason: "Timeout",
			Message: "from port 1"}}, "from port 1"},
		"another reason before": {[]metav1.Condition{{Type: "Ready", Status: "False", Reason: "Conflict",
			Message: "from port 1"}}, "from port 2"},
		"the same reason of another condition": {[]metav1.Condition{{Type: "Degraded", Status: "True",
			Reason: "Timeout", Message: "from port 1"}}, "from port 2"},
	} {
		conditions := []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Launched", Message: "of the phase",
			LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}
		EncodeTransientError(&conditions, lifecycle.Launched, transient, c.before, 1, time.Unix(2, 0))

		if got := conditions[0]; len(conditions) != 1 || got.Message != c.want || got.Reason != "Timeout" ||
			got.LastTransitionTime.Unix() != 1 {
			t.Errorf("%s: %+v", name, conditions)
		}
	}
}

// TestFalseReadyHasAnotherReasonThanReady checks the phase Ready. In this phase the condition Ready is False, so its
// reason must not be "Ready".
func TestFalseReadyHasAnotherReasonThanReady(t *testing.T) {
	memory := lifecycle.Memory{Phase: lifecycle.Ready}
	for _, standing := range PhaseConditions(memory) {
		if standing.Type != ConditionReady && standing.Type != ConditionReconciling {
			continue
		}

		reason, message := ConditionCause(standing, lifecycle.App{InitialExecutors: 2}, memory)
		if reason != reasonAwaitingExecutors || message != "0 of 2 executors run" {
			t.Errorf("%s is %s with %q: %s", standing.Type, standing.Status, reason, message)
		}
	}

	memory.Cause = lifecycle.Cause{Reason: "Unschedulable", Message: "no node"}
	if reason, message := ConditionCause(PhaseCondition{ConditionReady, metav1.ConditionFalse}, lifecycle.App{},
		memory); reason != "Unschedulable" || message != "no node" {
		t.Errorf("with a cause the reason is %q: %s", reason, message)
	}
}

// TestFailedExecutorsInConditions checks which conditions have the number of failed executors and the last cause.
func TestFailedExecutorsInConditions(t *testing.T) {
	m := lifecycle.Memory{Phase: lifecycle.Running,
		ExecutorFailure: lifecycle.Cause{Reason: "OOMKilled", Message: "killed at 896Mi"}}
	waits := m
	waits.Cause = lifecycle.Cause{Reason: "QuotaExceeded", Message: "no"}
	const failures = "200 executors failed, last: OOMKilled: killed at 896Mi"

	failed := &statusv1.ExecutorCounts{Running: 1, Failed: 200}
	for name, c := range map[string]struct {
		kind, message string
		m             lifecycle.Memory
		counts        *statusv1.ExecutorCounts
		want          string
	}{
		"of a running application":    {ConditionRunning, "", m, failed, failures},
		"of one that lacks executors": {ConditionDegraded, "fewer run", m, failed, "fewer run; " + failures},
		"the shortage has a cause":    {ConditionDegraded, "no", waits, failed, "no"},
		"another condition":           {ConditionReady, "", m, failed, ""},
		"no executor failed": {ConditionRunning, "", lifecycle.Memory{},
			&statusv1.ExecutorCounts{Running: 1}, ""},
		"no executor":                   {ConditionRunning, "", m, nil, ""},
		"failed before a take-over":     {ConditionRunning, "", lifecycle.Memory{}, failed, ""},
		"the next attempt counts anew":  {ConditionRunning, "", m, &statusv1.ExecutorCounts{}, ""},
		"a wait, and Running is a fact": {ConditionRunning, "", waits, failed, failures},
	} {
		if got := AddFailures(c.kind, c.message, c.m, c.counts); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
