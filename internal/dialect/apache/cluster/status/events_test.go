package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// TestStateEvents checks the type, the reason and the message of the event of each state, and that no other transition
// has an event, except the creation of all objects, in which the state does not change.
func TestStateEvents(t *testing.T) {
	cause := lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room"}
	event := func(kind, reason, message string) dialect.Event {
		return dialect.Event{Type: kind, Reason: reason, Message: message}
	}

	const good, bad = corev1.EventTypeNormal, corev1.EventTypeWarning
	for _, tc := range []struct {
		name     string
		before   sparkv1.ClusterStateSummary // "": no status
		from, to lifecycle.Phase
		cause    lifecycle.Cause
		want     []dialect.Event
	}{
		{"all objects exist", "", lifecycle.New, lifecycle.Launched, lifecycle.Cause{},
			[]dialect.Event{event(good, EventClusterSubmitted, "all objects of the cluster exist")}},
		{"the master's pod no longer exists", "Submitted", lifecycle.Started, lifecycle.Launched, lifecycle.Cause{}, nil},
		{"the master is ready", "Submitted", lifecycle.Launched, lifecycle.Started, lifecycle.Cause{}, nil},
		{"an object is rejected", "", lifecycle.New, lifecycle.Waiting, cause, []dialect.Event{event(bad, "ClusterRequestFailed", "QuotaExceeded: no room"), event(bad, "SchedulingFailure",
			"the API server rejects an object of the cluster, and the operator retries: QuotaExceeded: no room")}},
		{"accepted after a rejection", "SchedulingFailure", lifecycle.Waiting, lifecycle.Launched, lifecycle.Cause{},
			[]dialect.Event{event(good, "Submitted", "all objects of the cluster exist; its pods are starting")}},
		{"the cluster runs", "Submitted", lifecycle.Started, lifecycle.Running, lifecycle.Cause{},
			[]dialect.Event{event(good, "RunningHealthy", "the master and 3 workers are ready")}},
		{"failed", "Submitted", lifecycle.Launched, lifecycle.Ended,
			lifecycle.Cause{Reason: cluster.ReasonStartTimedOut, Message: "no master"},
			[]dialect.Event{event(bad, "Failed", "MasterStartTimedOut: no master")}},
		{"invalid", "", lifecycle.New, lifecycle.Ended,
			lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.x"},
			[]dialect.Event{event(bad, "Failed", "InvalidSpec: spec.x")}},
		{"released", "Failed", lifecycle.Ended, lifecycle.Done, lifecycle.Cause{}, []dialect.Event{event(good, "ResourceReleased",
			"the cluster's objects are gone; an edit of the spec starts it again")}},
		{"started again", "ResourceReleased", lifecycle.Done, lifecycle.Resuming,
			lifecycle.Cause{Reason: cluster.ReasonEdited, Message: "it was edited"},
			[]dialect.Event{event(good, "Submitted", "it was edited")}},
		{"suspended", "RunningHealthy", lifecycle.Running, lifecycle.Suspending, lifecycle.Cause{},
			[]dialect.Event{event(good, "Suspended", "the cluster is suspended, because spec.suspend is true: "+
				"its pods and its objects are deleted, except its Services")}},
		{"all pods are gone", "Suspended", lifecycle.Suspending, lifecycle.Suspended, lifecycle.Cause{}, nil},
		{"resumed", "Suspended", lifecycle.Suspended, lifecycle.Resuming,
			lifecycle.Cause{Reason: cluster.ReasonResumed, Message: "it is resumed"},
			[]dialect.Event{event(good, "Submitted", "it is resumed")}},
	} {
		sc := &sparkv1.SparkCluster{}
		if tc.before != "" {
			enter(&sc.Status, tc.before, "before", time.Unix(0, 0))
		}

		notices := Encode(sc, Decision{Want: cluster.Cluster{Workers: 3}, Plan: cluster.Plan{
			Next:        cluster.Memory{Phase: tc.to, Attempt: 1},
			Transitions: []lifecycle.Transition{{From: tc.from, To: tc.to, Attempt: 1, Cause: tc.cause}}}})
		if diff := cmp.Diff(tc.want, Events(lifecycle.Plan{Notices: notices})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestNoticeEvents checks the type and the reason of the event of each notice that is not about a state.
func TestNoticeEvents(t *testing.T) {
	const good, bad = corev1.EventTypeNormal, corev1.EventTypeWarning
	for _, tc := range []struct {
		name   string
		part   lifecycle.Part
		waits  bool
		reason string
		want   dialect.Event
	}{
		{"edited", lifecycle.Application, false, cluster.ReasonEdited,
			dialect.Event{Type: good, Reason: EventClusterSpecChanged, Message: "no room"}},
		{"rolled out", lifecycle.Application, false, cluster.ReasonRolledOut,
			dialect.Event{Type: good, Reason: EventClusterRolledOut, Message: "no room"}},
		{"recovered", lifecycle.Application, false, cluster.ReasonRecovered,
			dialect.Event{Type: good, Reason: EventClusterRecovered, Message: "no room"}},
		{"held", lifecycle.Application, false, apache.ReasonSuspendHeld,
			dialect.Event{Type: good, Reason: "SuspendHeld", Message: "no room"}},
		{"held by Kueue", lifecycle.Application, false, apache.ReasonEvicted,
			dialect.Event{Type: bad, Reason: "KueueEviction", Message: "no room"}},
		{"without a request for quota", lifecycle.Application, false, dialect.ReasonRequestMissing,
			dialect.Event{Type: bad, Reason: "KueueWorkloadMissing", Message: "no room"}},
		{"not rolled out", lifecycle.Application, false, cluster.ReasonRolloutTimedOut,
			dialect.Event{Type: bad, Reason: EventClusterRolloutTimedOut, Message: "no room"}},
		{"a pod delays the rollout of an edit", lifecycle.Members, false, cluster.ReasonRolloutTimedOut,
			dialect.Event{Type: bad, Reason: EventClusterRolloutTimedOut, Message: "no room"}},
		{"a pod waits", lifecycle.Members, true, "ImagePullBackOff",
			dialect.Event{Type: bad, Reason: EventClusterPending, Message: "ImagePullBackOff: no room"}},
		{"a pod is lost", lifecycle.Members, false, "NodeLost",
			dialect.Event{Type: bad, Reason: EventClusterDegraded, Message: "NodeLost: no room"}},
		{"a worker is missing", lifecycle.Application, false, cluster.ReasonWorkersNotReady,
			dialect.Event{Type: bad, Reason: EventClusterDegraded, Message: "WorkersNotReady: no room"}},
		{"an object is rejected for another reason", lifecycle.Application, true, "Forbidden",
			dialect.Event{Type: bad, Reason: EventRequestFailed, Message: "Forbidden: no room"}},
	} {
		plan := lifecycle.Plan{Notices: []lifecycle.Notice{{Part: tc.part, Name: "c-worker-0", Waits: tc.waits,
			Cause: lifecycle.Cause{Reason: tc.reason, Message: "no room"}}}}
		if diff := cmp.Diff([]dialect.Event{tc.want}, Events(plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestClusterIsDocumented checks that docs/clusters.md and cluster-states.md contain the names and numbers that users
// see.
func TestClusterIsDocumented(t *testing.T) {
	page, err := checkout.Docs("clusters.md", "cluster-states.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, word := range []string{
		EventClusterSubmitted, EventRequestFailed, EventClusterPending, EventClusterDegraded, EventClusterRecovered,
		EventClusterSpecChanged, EventClusterRolledOut, EventClusterRolloutTimedOut, EventClusterInvalid,
		EventClusterRestartRequested, EventClusterTakenOver, EventClusterWarning,
		dialect.ConditionReady, dialect.ConditionReconciling, dialect.ConditionStalled, dialect.ConditionDegraded,
		dialect.ConditionFailed,
		ConditionProgressing, ConditionObjects, reasonRollingOut, cluster.ReasonMasterNotReady,
		cluster.ReasonWorkersNotReady, cluster.ReasonRolloutTimedOut,
		lifecycle.ReasonInvalid, lifecycle.ReasonNodeLost,
	} {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the pages of clusters do not tell of %s", word)
		}
	}

	for _, state := range States {
		if !strings.Contains(page, "| `"+string(state)+"` |") {
			t.Errorf("the pages of clusters do not tell of %s", state)
		}
	}

	if MaxStates != 100 || !strings.Contains(page, "the last 100 states") {
		t.Errorf("the pages of clusters do not say that %d states are kept", MaxStates)
	}
}
