package connect

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestEventOfEveryTransition checks the event of each transition. Some transitions have no event, such as those to an
// unknown phase.
func TestEventOfEveryTransition(t *testing.T) {
	invalid, killed := lifecycle.Cause{Reason: "InvalidSpec", Message: "spec.image: none"},
		lifecycle.Cause{Reason: "OOMKilled", Message: "exit code 137"}
	const ours = "ours"

	for name, test := range map[string]struct {
		t    lifecycle.Transition
		want string // type, reason and message; empty: no event
	}{
		"a new server": {lifecycle.Transition{From: lifecycle.New, To: lifecycle.Launched, Attempt: 2},
			"Normal SparkServerCreated: server pod hub-server was created, attempt 2"},
		"the node answers again": {lifecycle.Transition{From: lifecycle.Unknown, To: lifecycle.Launched,
			Attempt: 2}, ""},
		"a container that runs": {lifecycle.Transition{From: lifecycle.Launched, To: lifecycle.Started,
			Attempt: 2}, ""},
		"a ready server": {lifecycle.Transition{From: lifecycle.Started, To: lifecycle.Running,
			Attempt: 2}, "Normal SparkServerReady: server pod hub-server is ready"},
		"a server that is not ready": {lifecycle.Transition{From: lifecycle.Running, To: lifecycle.Started,
			Attempt: 2, Cause: killed}, "Warning SparkServerNotReady: OOMKilled: exit code 137"},
		"a silent node": {lifecycle.Transition{From: lifecycle.Running, To: lifecycle.Unknown,
			Attempt: 2, Cause: killed}, "Warning SparkServerUnknown: server pod hub-server: OOMKilled: exit code 137"},
		"an end": {lifecycle.Transition{From: lifecycle.Running, To: lifecycle.Ended, Attempt: 2,
			Outcome: lifecycle.Failed, Cause: killed},
			"Warning SparkServerFailed: the server of attempt 2 ended: OOMKilled: exit code 137"},
		"a rejection": {lifecycle.Transition{From: lifecycle.New, To: lifecycle.Ended, Attempt: 2,
			Outcome: lifecycle.Refused, Cause: killed},
			"Warning SparkServerRefused: the server was not created: OOMKilled: exit code 137"},
		"an invalid spec": {lifecycle.Transition{From: lifecycle.New, To: lifecycle.Ended, Attempt: 2,
			Outcome: lifecycle.Refused, Cause: invalid},
			"Warning SparkConnectInvalid: no server can be created: spec.image: none"},
		"no other server": {lifecycle.Transition{From: lifecycle.Ended, To: lifecycle.Retained,
			Attempt: 2, Outcome: lifecycle.Failed, Cause: invalid},
			"Warning SparkConnectInvalid: no other server can be created: spec.image: none"},
		"no server, which is known": {lifecycle.Transition{From: lifecycle.Ended, To: lifecycle.Done, Attempt: 2,
			Outcome: lifecycle.Refused, Cause: invalid}, ""},
		"no server after a back-off": {lifecycle.Transition{From: lifecycle.Waiting, To: lifecycle.Done, Attempt: 2,
			Outcome: lifecycle.Refused, Cause: invalid},
			"Warning SparkConnectInvalid: no other server can be created: spec.image: none"},
		"an end for another reason": {lifecycle.Transition{From: lifecycle.Ended, To: lifecycle.Done, Attempt: 2,
			Outcome: lifecycle.Failed, Cause: killed}, ""},
		"waiting without a time": {lifecycle.Transition{From: lifecycle.Ended, To: lifecycle.Waiting,
			Attempt: 2}, ""},
		"an edit": {lifecycle.Transition{From: lifecycle.Running, To: lifecycle.Editing,
			Attempt: 2}, "Normal SparkConnectSpecChanged: the spec changed; the server of attempt 2 is replaced"},
		"a suspension": {lifecycle.Transition{From: lifecycle.Running, To: lifecycle.Suspending,
			Attempt: 2}, "Normal SparkConnectSuspending: the server of attempt 2 is stopped"},
		"the end of a suspended server": {lifecycle.Transition{From: lifecycle.Suspending, To: lifecycle.Suspended},
			"Normal SparkConnectSuspended: the server is suspended"},
		"the end of a suspension": {lifecycle.Transition{From: lifecycle.Suspended, To: lifecycle.Resuming},
			"Normal SparkConnectResuming: the server is resumed"},
		"an unknown phase": {lifecycle.Transition{From: lifecycle.Running, To: "Tomorrow"}, ""},
	} {
		sc := aConnect()
		plan := lifecycle.Plan{Transitions: []lifecycle.Transition{test.t},
			Next: lifecycle.Memory{Phase: test.t.To, Attempt: 2, AttemptID: lifecycle.AttemptID("3f0c", 2)}}

		got := ""
		for _, e := range (Connects{}).Events(sc, plan) {
			got += e.Type + " " + e.Reason + ": " + e.Message
		}

		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	// Another operator created the pod, so its creation is no event of ours.
	plan := lifecycle.Plan{Transitions: []lifecycle.Transition{{To: lifecycle.Launched, Attempt: 2}},
		Next: lifecycle.Memory{Attempt: 2, AttemptID: ours}}
	if events := (Connects{}).Events(aConnect(), plan); len(events) > 0 {
		t.Errorf("an adopted server: %+v", events)
	}
}

// TestRollOutIsKnownFromTheHistory checks which ready servers are the first ones of an edited spec.
func TestRollOutIsKnownFromTheHistory(t *testing.T) {
	past := func(phases ...lifecycle.Phase) (history []statusv1.OperatorTransition) {
		for _, phase := range phases {
			history = append(history, statusv1.OperatorTransition{Phase: string(phase), Attempt: 2})
		}
		return history
	}
	otherAttempt := past(lifecycle.Editing, lifecycle.Launched, lifecycle.Running)

	otherAttempt[1].Attempt = 1
	for name, test := range map[string]struct {
		history []statusv1.OperatorTransition
		from    lifecycle.Phase
		want    string
	}{
		"after an edit": {past(lifecycle.Editing, lifecycle.Launched, lifecycle.Started,
			lifecycle.Running), lifecycle.Started, EventConnectRolledOut},
		"after an edit, at once": {past(lifecycle.Editing, lifecycle.Launched, lifecycle.Running),
			lifecycle.Launched, EventConnectRolledOut},
		"after an end": {past(lifecycle.Waiting, lifecycle.Launched, lifecycle.Running),
			lifecycle.Launched, EventServerReady},
		"ready for the second time": {past(lifecycle.Editing, lifecycle.Launched, lifecycle.Running,
			lifecycle.Started, lifecycle.Running), lifecycle.Started, EventServerReady},
		"a node that answers again": {past(lifecycle.Editing, lifecycle.Launched, lifecycle.Running),
			lifecycle.Unknown, EventServerReady},
		"the history begins too late": {past(lifecycle.Launched, lifecycle.Running), lifecycle.Launched,
			EventServerReady},
		"the launch was dropped": {past(lifecycle.Started, lifecycle.Running), lifecycle.Started,
			EventServerReady},
		"the launch of another attempt": {otherAttempt, lifecycle.Started, EventServerReady},
		"no history":                    {nil, lifecycle.Started, EventServerReady},
		"a status without our own part": {nil, lifecycle.Started, EventServerReady},
	} {
		sc := aConnect()
		if name != "a status without our own part" {
			sc.Status.Operator = &v1alpha1.OperatorStatus{OperatorStatus: statusv1.OperatorStatus{History: test.history}}
		}

		events := (Connects{}).Events(sc,
			lifecycle.Plan{Transitions: []lifecycle.Transition{{From: test.from, To: lifecycle.Running, Attempt: 2}}})
		if len(events) != 1 || events[0].Reason != test.want || events[0].Type != corev1.EventTypeNormal {
			t.Errorf("%s: %+v, want %s", name, events, test.want)
		}
	}
}

// TestEventsOfNotices checks the type and the reason of each notice's event. Events of servers have their own reasons.
func TestEventsOfNotices(t *testing.T) {
	why := lifecycle.Cause{Reason: "ImagePullBackOff", Message: "no such image"}

	sc := aConnect(func(sc *v1alpha1.SparkConnect) { sc.Status.State = v1alpha1.SparkConnectStateReady })
	for name, test := range map[string]struct {
		notice lifecycle.Notice
		want   dialect.Event
	}{
		"a server that waits": {lifecycle.Notice{Part: lifecycle.DriverPod, Name: "hub-server", Waits: true,
			Cause: why}, dialect.Event{Type: "Warning", Reason: "SparkServerPending",
			Message: "hub-server: ImagePullBackOff: no such image"}},
		"a disruption": {lifecycle.Notice{Part: lifecycle.DriverPod, Name: "hub-server", Cause: why},
			dialect.Event{Type: "Warning", Reason: "SparkServerDisrupted",
				Message: "hub-server: ImagePullBackOff: no such image"}},
		"an executor": {lifecycle.Notice{Part: lifecycle.Executors, Name: "hub-exec-1", Cause: why},
			dialect.Event{Type: "Warning", Reason: "SparkExecutorFailed",
				Message: "hub-exec-1: ImagePullBackOff: no such image"}},
		"a restart": {lifecycle.Notice{Part: lifecycle.Application,
			Cause: lifecycle.Cause{Reason: "RestartRequested", Message: "asked"}},
			dialect.Event{Type: "Normal", Reason: "SparkConnectRestartRequested", Message: "asked"}},
		"a field without an effect": {lifecycle.Notice{Part: lifecycle.Application,
			Cause: lifecycle.Cause{Reason: "SubmissionWarning", Message: "spec.a"}},
			dialect.Event{Type: "Warning", Reason: "SubmissionWarning", Message: "spec.a"}},
		"a take-over": {serverTakenOver(sc), dialect.Event{
			Type: "Normal", Reason: "SparkConnectTakenOver",
			Message: "taken over from another operator, which left it in state Ready; its server continues",
		}},
	} {
		if got := serverNotice(test.notice); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
