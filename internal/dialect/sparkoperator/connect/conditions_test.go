package connect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// shown returns conditions as lines of text: type, status, reason and message.
func shown(conditions []metav1.Condition) (lines []string) {
	for _, c := range conditions {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason,
			c.Message), ": "))
	}

	slices.Sort(lines)
	return lines
}

// TestConditionsOfEveryPhase checks all conditions of a server in each phase. It also checks that a second call changes
// nothing, and that the condition of another writer stays.
func TestConditionsOfEveryPhase(t *testing.T) {
	killed := lifecycle.Cause{Reason: "OOMKilled", Message: "exit code 137"}
	next := connectBegan.Add(10 * time.Second)
	const later = "; the next server starts at 2026-03-01T12:00:10Z"
	// notReady returns the conditions of a server that is not ready: the one of the phase, Progressing and the others.
	notReady := func(kind, reason, message, progressing, podReason string) []string {
		return []string{
			kind + "=True " + reason + ": " + message, "Progressing=" + progressing + ": " + message,
			"Ready=False " + reason + ": " + message,
			"ServerPodReady=False " + podReason + ": " + message,
		}
	}
	reconciling := func(phase, progressing, message string) []string {
		return notReady("Reconciling", phase, message, progressing, "ServerPodNotReady")
	}
	ready := []string{"Progressing=False ServerReady: the server of the current spec accepts sessions",
		"Ready=True Running", "ServerPodReady=True ServerPodReady"}
	type memory = lifecycle.Memory

	for name, test := range map[string]struct {
		m       memory
		state   v1alpha1.SparkConnectState
		rolling bool
		want    []string
	}{
		"no server yet": {memory{}, "", false,
			reconciling("New", "True ServerStarting", "the server will be created")},
		"launched": {memory{Phase: lifecycle.Launched}, "", false,
			reconciling("Launched", "True ServerStarting", "the server's pod has not started yet")},
		"launched with an edited spec": {memory{Phase: lifecycle.Launched}, "", true,
			reconciling("Launched", "True RollingOut", "the server's pod has not started yet")},
		"started": {memory{Phase: lifecycle.Started}, "", false,
			reconciling("Started", "True ServerStarting", "the server's pod runs but does not accept connections yet")},
		"started with an edited spec": {memory{Phase: lifecycle.Started}, "", true,
			reconciling("Started", "True RollingOut", "the server's pod runs but does not accept connections yet")},
		"no longer ready": {memory{Phase: lifecycle.Started}, v1alpha1.SparkConnectStateNotReady, true,
			reconciling("ServerNotReady", "False ServerNotReady",
				"the server's pod runs but no longer passes its readiness probe: its port does not accept connections")},
		"running":                     {memory{Phase: lifecycle.Running}, "", false, ready},
		"running with an edited spec": {memory{Phase: lifecycle.Running}, "", true, ready},
		"running with a problem": {memory{Phase: lifecycle.Running,
			Cause: lifecycle.Cause{Reason: "Evicted", Message: "soon"}}, "", false,
			append([]string{"Degraded=True Evicted: soon"}, ready...)},
		"a silent node": {memory{Phase: lifecycle.Unknown}, "", true,
			reconciling("Unknown", "False Unknown", "the server's node does not answer")},
		"ended": {memory{Phase: lifecycle.Ended, Cause: killed}, "", false,
			notReady("Reconciling", "OOMKilled", "exit code 137", "True OOMKilled", "OOMKilled")},
		"ended without a cause": {memory{Phase: lifecycle.Ended}, "", true,
			reconciling("Ended", "True Ended", "the server has ended; its remaining objects are being deleted")},
		"waiting for deletions": {memory{Phase: lifecycle.Waiting}, "", false,
			reconciling("Waiting", "True ServerStarting",
				"the last server's remaining objects are being deleted; then the next server starts")},
		"waiting in a back-off": {memory{Phase: lifecycle.Waiting, Cause: killed, NextAttempt: next}, "", true,
			notReady("Reconciling", "OOMKilled", "exit code 137"+later, "True OOMKilled", "OOMKilled")},
		"waiting after the back-off": {memory{Phase: lifecycle.Waiting, Cause: killed}, "", false,
			notReady("Reconciling", "OOMKilled", "exit code 137", "True ServerStarting", "OOMKilled")},
		"a back-off without a cause": {memory{Phase: lifecycle.Waiting, NextAttempt: next}, "", false,
			reconciling("Waiting", "True Waiting",
				"the last server's remaining objects are being deleted; then the next server starts"+later)},
		"an invalid spec": {memory{Phase: lifecycle.Done,
			Cause: lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.image: none"}}, "", false,
			notReady("Stalled", "InvalidSpec", "spec.image: none", "False InvalidSpec", "InvalidSpec")},
		"an end, the pod is kept": {memory{Phase: lifecycle.Retained, Cause: killed}, "", true,
			notReady("Stalled", "OOMKilled", "exit code 137", "False OOMKilled", "OOMKilled")},
		"suspending": {memory{Phase: lifecycle.Suspending,
			Cause: lifecycle.Cause{Reason: "Suspended", Message: "x"}}, "", false,
			notReady("Reconciling", "Suspended", "the server is being stopped", "False Suspended", "Suspended")},
		"suspended": {memory{Phase: lifecycle.Suspended,
			Cause: lifecycle.Cause{Reason: "Suspended", Message: "x"}}, "", true,
			notReady("Suspended", "Suspended", "the server is suspended", "False Suspended", "Suspended")},
		"resuming": {memory{Phase: lifecycle.Resuming}, "", false,
			reconciling("Resuming", "True ServerStarting",
				"the suspension is lifted; the next server starts when all objects of the last one are gone")},
		"an edited spec": {memory{Phase: lifecycle.Editing,
			Cause: lifecycle.Cause{Reason: "SpecChanged", Message: "x"}}, "", false,
			notReady("Reconciling", "SpecChanged", "the server of the previous spec is being stopped",
				"True RollingOut", "SpecChanged")},
		"a restart": {memory{Phase: lifecycle.Editing,
			Cause: lifecycle.Cause{Reason: "RestartRequested", Message: "x"}}, "", false,
			notReady("Reconciling", "RestartRequested", "the server of the previous spec is being stopped",
				"True RollingOut", "RestartRequested")},
		"a request in another phase": {memory{Phase: lifecycle.Retained,
			Cause: lifecycle.Cause{Reason: "Suspended", Message: "x"}}, "", false,
			notReady("Stalled", "Suspended", "x", "False Suspended", "Suspended")},
		"a reason that is no identifier": {memory{Phase: lifecycle.Launched,
			Cause: lifecycle.Cause{Reason: "no room!", Message: "x"}}, "", false,
			notReady("Reconciling", "Pending", "x", "True ServerStarting", "Pending")},
	} {
		t.Run(name, func(t *testing.T) {
			sc := aConnect()
			sc.Status.State = test.state
			meta.SetStatusCondition(&sc.Status.Conditions,
				metav1.Condition{Type: "example.com/Mine", Status: metav1.ConditionTrue, Reason: "Mine"})

			if test.rolling {
				setCondition(sc, conditionProgressing, metav1.ConditionTrue, lifecycle.Cause{Reason: reasonRollingOut},
					connectBegan)
			}

			want := append(slices.Clone(test.want), "example.com/Mine=True Mine")
			slices.Sort(want)

			for _, times := range []string{"once", "twice"} {
				if notices := encodeConnectConditions(sc, test.m, nil, nil, connectBegan); len(notices) > 0 {
					t.Errorf("%s: notices %v", times, notices)
				}

				if diff := cmp.Diff(want, shown(sc.Status.Conditions)); diff != "" {
					t.Errorf("%s: conditions (-want +got):\n%s", times, diff)
				}
			}

			for _, c := range sc.Status.Conditions {
				if c.Type != "example.com/Mine" &&
					(c.ObservedGeneration != 1 || !c.LastTransitionTime.Time.Equal(connectBegan)) {
					t.Errorf("%s has the generation %d and the time %v", c.Type, c.ObservedGeneration,
						c.LastTransitionTime)
				}
			}
		})
	}
}

// TestConditionsOfAnOlderPhaseGo checks that each phase removes the conditions that only hold in another phase.
func TestConditionsOfAnOlderPhaseGo(t *testing.T) {
	passingIn := map[lifecycle.Phase]string{
		lifecycle.Launched: "Reconciling", lifecycle.Running: "Degraded", lifecycle.Done: "Stalled",
		lifecycle.Suspended: "Suspended", lifecycle.Editing: "Reconciling",
	}

	why := lifecycle.Cause{Reason: "Why", Message: "because"}
	for before := range passingIn {
		for after, kind := range passingIn {
			sc := aConnect()
			encodeConnectConditions(sc, lifecycle.Memory{Phase: before, Cause: why}, nil, nil, connectBegan)
			encodeConnectConditions(sc, lifecycle.Memory{Phase: after, Cause: why}, nil, nil,
				connectBegan.Add(time.Minute))

			var got []string
			for _, c := range sc.Status.Conditions {
				if slices.Contains([]string{"Reconciling", "Stalled", "Suspended", "Degraded"}, c.Type) {
					got = append(got, c.Type)
				}
			}

			if !slices.Equal(got, []string{kind}) {
				t.Errorf("%s after %s: %v, want %s", after, before, got, kind)
			}
		}
	}
}

// TestServerOfThePreviousSpec checks the conditions of a server that continues although the edited spec is invalid. The
// notice is returned once for each message.
func TestServerOfThePreviousSpec(t *testing.T) {
	sc := aConnect()

	running := lifecycle.Memory{Phase: lifecycle.Running, Attempt: 3}
	for i, step := range []struct {
		fault   *lifecycle.Cause
		notices []string
		want    []string
	}{
		{&lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.image: none"},
			[]string{"the server of attempt 3 continues; the edited spec is invalid: spec.image: none"}, []string{
				"Progressing=False InvalidSpec: spec.image: none",
				"Ready=True Running: the server runs with the previous spec; the edited spec is invalid: spec.image: none",
				"ServerPodReady=True ServerPodReady", "Stalled=True InvalidSpec: spec.image: none",
			}},
		{&lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.image: none"}, nil, []string{
			"Progressing=False InvalidSpec: spec.image: none",
			"Ready=True Running: the server runs with the previous spec; the edited spec is invalid: spec.image: none",
			"ServerPodReady=True ServerPodReady", "Stalled=True InvalidSpec: spec.image: none",
		}},
		{&lifecycle.Cause{Reason: "InvalidSpec", Message: "other"},
			[]string{"the server of attempt 3 continues; the edited spec is invalid: other"}, []string{
				"Progressing=False InvalidSpec: other",
				"Ready=True Running: the server runs with the previous spec; the edited spec is invalid: other",
				"ServerPodReady=True ServerPodReady", "Stalled=True InvalidSpec: other",
			}},
		{nil, nil, []string{"Progressing=False ServerReady: the server of the current spec accepts sessions",
			"Ready=True Running", "ServerPodReady=True ServerPodReady"}},
	} {
		var got []string
		for _, n := range encodeConnectConditions(sc, running, nil, step.fault, connectBegan) {
			if n.Cause.Reason != "SparkConnectInvalid" || n.Attempt != 3 || n.Part != lifecycle.Application {
				t.Errorf("step %d: the notice is %+v", i, n)
			}

			got = append(got, n.Cause.Message)
		}

		if diff := cmp.Diff(step.notices, got) + cmp.Diff(step.want, shown(sc.Status.Conditions)); diff != "" {
			t.Errorf("step %d: notices and conditions (-want +got):\n%s", i, diff)
		}
	}
	// A server that is no longer ready keeps both reasons.
	fault := &lifecycle.Cause{Reason: "InvalidSpec", Message: "other"}
	encodeConnectConditions(sc, lifecycle.Memory{Phase: lifecycle.Unknown, Attempt: 3}, nil, fault, connectBegan)

	want := []string{
		"Progressing=False Unknown: the server's node does not answer",
		"Ready=False Unknown: the server's node does not answer",
		"Reconciling=True Unknown: the server's node does not answer",
		"ServerPodReady=False ServerPodNotReady: the server's node does not answer", "Stalled=True InvalidSpec: other",
	}
	if diff := cmp.Diff(want, shown(sc.Status.Conditions)); diff != "" {
		t.Errorf("a lost node (-want +got):\n%s", diff)
	}
}

// TestTransientErrors checks in which phases a transient error explains a server, and that another wording of the same
// error changes nothing.
func TestTransientErrors(t *testing.T) {
	quota := &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "try 2"}}
	was := func(kind, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "Exposed", Reason: "Timeout", Message: "another"},
			{Type: kind, Reason: reason, Message: "try 1"}}
	}

	own := lifecycle.Cause{Reason: "OOMKilled", Message: "exit code 137"}
	for name, test := range map[string]struct {
		m      lifecycle.Memory
		before []metav1.Condition
		want   lifecycle.Cause
	}{
		"the first time": {lifecycle.Memory{Phase: lifecycle.Launched}, nil,
			lifecycle.Cause{Reason: "Timeout", Message: "try 2"}},
		"again, not ready": {lifecycle.Memory{Phase: lifecycle.Launched}, was("Ready", "Timeout"),
			lifecycle.Cause{Reason: "Timeout", Message: "try 1"}},
		"again, degraded": {lifecycle.Memory{Phase: lifecycle.Running}, was("Degraded", "Timeout"),
			lifecycle.Cause{Reason: "Timeout", Message: "try 1"}},
		"after another error": {lifecycle.Memory{Phase: lifecycle.Launched}, was("Ready", "Conflict"),
			lifecycle.Cause{Reason: "Timeout", Message: "try 2"}},
		"beside another condition": {lifecycle.Memory{Phase: lifecycle.Launched}, was("Stalled", "Timeout"),
			lifecycle.Cause{Reason: "Timeout", Message: "try 2"}},
		"with a cause of the server": {lifecycle.Memory{Phase: lifecycle.Ended, Cause: own}, nil,
			lifecycle.Cause{Reason: "Timeout", Message: "try 2"}},
		"the server has ended":     {lifecycle.Memory{Phase: lifecycle.Done, Cause: own}, nil, own},
		"the server's pod is kept": {lifecycle.Memory{Phase: lifecycle.Retained, Cause: own}, nil, own},
		"the server is suspended":  {lifecycle.Memory{Phase: lifecycle.Suspended, Cause: own}, nil, own},
		"the server is being stopped": {lifecycle.Memory{Phase: lifecycle.Suspending, Cause: own}, nil,
			lifecycle.Cause{Reason: "Timeout", Message: "try 2"}},
	} {
		if got := connectAccount(test.m, quota,
			&v1alpha1.SparkConnectStatus{Conditions: test.before}); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	// Ready depends on the phase alone: a transient error degrades a running server, and does not stop it.
	sc := aConnect()
	encodeConnectConditions(sc, lifecycle.Memory{Phase: lifecycle.Running}, quota, nil, connectBegan)

	want := []string{"Degraded=True Timeout: try 2",
		"Progressing=False ServerReady: the server of the current spec accepts sessions", "Ready=True Running",
		"ServerPodReady=True ServerPodReady"}
	if diff := cmp.Diff(want, shown(sc.Status.Conditions)); diff != "" {
		t.Errorf("a running server (-want +got):\n%s", diff)
	}

	quota.Cause.Message = "try 3"
	encodeConnectConditions(sc, lifecycle.Memory{Phase: lifecycle.Running}, quota, nil, connectBegan)

	if diff := cmp.Diff(want, shown(sc.Status.Conditions)); diff != "" {
		t.Errorf("another wording (-want +got):\n%s", diff)
	}

	encodeConnectConditions(sc, lifecycle.Memory{Phase: lifecycle.Running}, nil, nil, connectBegan)

	if diff := cmp.Diff(want[1:], shown(sc.Status.Conditions)); diff != "" {
		t.Errorf("without the error (-want +got):\n%s", diff)
	}
}

// TestReadyNeedsAService checks that a server that accepts sessions is Ready unless no Service leads to it.
func TestReadyNeedsAService(t *testing.T) {
	refused := lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	for name, test := range map[string]struct {
		service metav1.ConditionStatus // of ServiceReady; empty: no condition
		name    string                 // of the Service in use
		want    string
	}{
		"the Service is unknown yet":        {"", "", "Ready=True Running"},
		"the Service exists":                {metav1.ConditionTrue, "hub-server", "Ready=True Running"},
		"the Service is rejected":           {metav1.ConditionFalse, "", "Ready=False Forbidden: no"},
		"a previous Service leads to it":    {metav1.ConditionFalse, "before", "Ready=True Running"},
		"the Service exists without a name": {metav1.ConditionTrue, "", "Ready=True Running"},
	} {
		sc := aConnect()

		sc.Status.Server.ServiceName = test.name
		if test.service != "" {
			setCondition(sc, conditionServiceReady, test.service, refused, connectBegan)
		}

		encodeReady(sc, lifecycle.Memory{Phase: lifecycle.Running}, lifecycle.Cause{}, connectBegan)

		got := ""
		for _, line := range shown(sc.Status.Conditions) {
			if strings.HasPrefix(line, dialect.ConditionReady+"=") {
				got = line
			}
		}

		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
