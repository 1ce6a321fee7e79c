package cluster

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// TestClusterEvents checks the messages and types of events.
func TestClusterEvents(t *testing.T) {
	cause := lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room"}
	planOf := func(from, to lifecycle.Phase, reason string) lifecycle.Plan {
		return lifecycle.Plan{Transitions: []lifecycle.Transition{{From: from, To: to, Attempt: 2, Cause: lifecycle.Cause{Reason: reason, Message: "no room"}}}}
	}
	notice := func(part lifecycle.Part, waits bool, reason string) lifecycle.Plan {
		return lifecycle.Plan{Notices: []lifecycle.Notice{{Part: part, Name: "c-worker-0", Waits: waits, Cause: lifecycle.Cause{Reason: reason, Message: "no room"}}}}
	}

	const good, bad = corev1.EventTypeNormal, corev1.EventTypeWarning
	for _, tc := range []struct {
		name string
		plan lifecycle.Plan
		want dialect.Event
	}{
		{"all objects exist", planOf(lifecycle.New, lifecycle.Launched, ""), dialect.Event{Type: good, Reason: EventClusterSubmitted, Message: "all objects of the cluster exist"}},
		{"the master's pod no longer exists", planOf(lifecycle.Started, lifecycle.Launched, ""), dialect.Event{}},
		{"the master is ready", planOf(lifecycle.Launched, lifecycle.Started, ""), dialect.Event{}},
		{"an object is rejected", planOf(lifecycle.New, lifecycle.Waiting, cause.Reason), dialect.Event{Type: bad, Reason: EventClusterSchedulingFailure,
			Message: "an object of the cluster was rejected and will be retried: QuotaExceeded: no room"}},
		{"the cluster runs", planOf(lifecycle.Started, lifecycle.Running, ""), dialect.Event{Type: good, Reason: EventClusterRunning, Message: "the master and 3 workers are ready"}},
		{"failed", planOf(lifecycle.Launched, lifecycle.Ended, cluster.ReasonStartTimedOut), dialect.Event{Type: bad, Reason: EventClusterFailed,
			Message: "the cluster failed and its objects are being deleted: MasterStartTimedOut: no room"}},
		{"invalid", planOf(lifecycle.New, lifecycle.Ended, lifecycle.ReasonInvalid), dialect.Event{Type: bad, Reason: EventClusterInvalid,
			Message: "the cluster failed and its objects are being deleted: InvalidSpec: no room"}},
		{"released", planOf(lifecycle.Ended, lifecycle.Done, ""), dialect.Event{Type: good, Reason: EventClusterReleased, Message: "the cluster's objects are gone"}},
		{"started again", planOf(lifecycle.Done, lifecycle.Resuming, ""), dialect.Event{Type: good, Reason: EventClusterRestarted, Message: "the cluster starts again, attempt 2"}},
		{"edited", notice(lifecycle.Application, false, cluster.ReasonEdited), dialect.Event{Type: good, Reason: EventClusterSpecChanged, Message: "no room"}},
		{"rolled out", notice(lifecycle.Application, false, cluster.ReasonRolledOut), dialect.Event{Type: good, Reason: EventClusterRolledOut, Message: "no room"}},
		{"recovered", notice(lifecycle.Application, false, cluster.ReasonRecovered), dialect.Event{Type: good, Reason: EventClusterRecovered, Message: "no room"}},
		{"not rolled out", notice(lifecycle.Application, false, cluster.ReasonRolloutTimedOut), dialect.Event{Type: bad, Reason: EventClusterRolloutTimedOut, Message: "no room"}},
		{"a pod delays the rollout of an edit", notice(lifecycle.Members, false, cluster.ReasonRolloutTimedOut),
			dialect.Event{Type: bad, Reason: EventClusterRolloutTimedOut, Message: "no room"}},
		{"a pod waits", notice(lifecycle.Members, true, "ImagePullBackOff"), dialect.Event{Type: bad, Reason: EventClusterPending, Message: "ImagePullBackOff: no room"}},
		{"a pod is lost", notice(lifecycle.Members, false, "NodeLost"), dialect.Event{Type: bad, Reason: EventClusterDegraded, Message: "NodeLost: no room"}},
		{"a worker is missing", notice(lifecycle.Application, false, cluster.ReasonWorkersNotReady), dialect.Event{Type: bad, Reason: EventClusterDegraded, Message: "WorkersNotReady: no room"}},
		{"an object is rejected for another reason", notice(lifecycle.Application, true, "Forbidden"), dialect.Event{Type: bad, Reason: EventClusterSchedulingFailure, Message: "Forbidden: no room"}},
	} {
		sc := sparkCluster()
		sc.Status.Workers = &sparkv1.MemberCounts{Ready: 3}

		var got dialect.Event
		if events := testClusters.Events(sc, tc.plan); len(events) == 1 {
			got = events[0]
		} else if len(events) > 1 {
			t.Errorf("%s: %v", tc.name, events)
		}

		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// TestClusterIsDocumented checks that docs/clusters.md contains the names and numbers that users see.
func TestClusterIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}

	page := string(text)
	for _, word := range []string{
		EventClusterSubmitted, EventClusterSchedulingFailure, EventClusterPending, EventClusterRunning, EventClusterDegraded, EventClusterRecovered,
		EventClusterSpecChanged, EventClusterRolledOut, EventClusterRolloutTimedOut, EventClusterInvalid, EventClusterFailed, EventClusterReleased,
		EventClusterRestarted, EventClusterTakenOver, EventClusterWarning,
		dialect.ConditionReady, dialect.ConditionReconciling, dialect.ConditionStalled, dialect.ConditionDegraded, dialect.ConditionFailed,
		ConditionProgressing, ConditionObjects, reasonRollingOut, cluster.ReasonMasterNotReady, cluster.ReasonWorkersNotReady, cluster.ReasonRolloutTimedOut,
		lifecycle.ReasonInvalid, lifecycle.ReasonNodeLost,
	} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("docs/clusters.md does not tell of %s", word)
		}
	}

	for _, state := range clusterStates {
		if !strings.Contains(page, "| `"+string(state)+"` |") {
			t.Errorf("docs/clusters.md does not tell of %s", state)
		}
	}

	if maxClusterStates != 100 || !strings.Contains(page, "the last 100 states") {
		t.Errorf("docs/clusters.md does not say that %d states are kept", maxClusterStates)
	}
}
