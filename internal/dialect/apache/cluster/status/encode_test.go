package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestMembersAreCountedByTheirState checks the counts of pods in a status. A pod that is being deleted is not ready,
// although Kubernetes still reports it as ready.
func TestMembersAreCountedByTheirState(t *testing.T) {
	running := cluster.Memory{Phase: lifecycle.Running}
	want := cluster.Cluster{Workers: 4}
	var s sparkv1.ClusterStatus
	member := func(role lifecycle.Role, phase lifecycle.DriverPhase, ready, deleting bool) lifecycle.Member {
		return lifecycle.Member{Role: role, Phase: phase, Ready: ready, Deleting: deleting}
	}
	seen := lifecycle.Observed{Members: []lifecycle.Member{
		member(lifecycle.Master, lifecycle.DriverRunning, true, false),
		member(lifecycle.Worker, lifecycle.DriverRunning, true, false),
		member(lifecycle.Worker, lifecycle.DriverRunning, true, true),
		member(lifecycle.Worker, lifecycle.DriverRunning, false, false),
		member(lifecycle.Worker, lifecycle.DriverPending, false, false),
		member(lifecycle.Worker, lifecycle.DriverFailed, false, false),
		member(lifecycle.Worker, lifecycle.DriverUnknown, true, false),
	}}
	expect := func(when string, masters, workers *sparkv1.MemberCounts) {
		t.Helper()

		if diff := cmp.Diff([]*sparkv1.MemberCounts{masters, workers},
			[]*sparkv1.MemberCounts{s.Masters, s.Workers}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}

	encodeMembers(&s, want, running, seen)

	master := &sparkv1.MemberCounts{Desired: 1, Running: 1, Ready: 1}
	expect("every state", master, &sparkv1.MemberCounts{Desired: 4, Pending: 1, Running: 3, Ready: 1, Failed: 2})
	encodeMembers(&s, cluster.Cluster{Invalid: &lifecycle.Cause{}}, running,
		lifecycle.Observed{Members: seen.Members[:2]})
	expect("an invalid edit", master, &sparkv1.MemberCounts{Desired: 4, Running: 1, Ready: 1})
	encodeMembers(&s, want, cluster.Memory{Phase: lifecycle.Ended}, lifecycle.Observed{Members: seen.Members[:1]})
	expect("while it is released", &sparkv1.MemberCounts{Running: 1, Ready: 1}, &sparkv1.MemberCounts{})
	encodeMembers(&s, want, cluster.Memory{Phase: lifecycle.Done}, lifecycle.Observed{})
	expect("after its release", nil, nil)
	encodeMembers(&s, cluster.Cluster{Workers: 4, Invalid: &lifecycle.Cause{}}, running, lifecycle.Observed{})
	expect("an invalid spec without counts", &sparkv1.MemberCounts{Desired: 1}, &sparkv1.MemberCounts{Desired: 4})
}

// TestMessagesOfClusterStates checks what the states say.
func TestMessagesOfClusterStates(t *testing.T) {
	why := lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room"}
	for name, c := range map[string]struct {
		state sparkv1.ClusterStateSummary
		to    lifecycle.Phase
		want  cluster.Cluster
		text  string
	}{
		"a rejection": {sparkv1.ClusterSchedulingFailure, lifecycle.Waiting, cluster.Cluster{},
			"the API server rejects an object of the cluster, and the operator retries: QuotaExceeded: no room"},
		"a constant number": {sparkv1.ClusterRunningHealthy, lifecycle.Running, cluster.Cluster{Workers: 3},
			"the master and 3 workers are ready"},
		"an autoscaler": {sparkv1.ClusterRunningHealthy, lifecycle.Running,
			cluster.Cluster{Workers: 3, Scales: true}, "the master and at least 3 workers are ready"},
		"a failure": {sparkv1.ClusterFailed, lifecycle.Ended, cluster.Cluster{}, "QuotaExceeded: no room"},
		"a release": {sparkv1.ClusterResourceReleased, lifecycle.Done, cluster.Cluster{},
			"the cluster's objects are gone; an edit of the spec starts it again"},
		"another start": {sparkv1.ClusterSubmitted, lifecycle.Resuming, cluster.Cluster{}, "no room"},
		"the first start": {sparkv1.ClusterSubmitted, lifecycle.Launched, cluster.Cluster{},
			"all objects of the cluster exist; its pods are starting"},
		"a master that left": {sparkv1.ClusterSubmitted, lifecycle.Started, cluster.Cluster{},
			"all objects of the cluster exist; its pods are starting"},
	} {
		if got := message(c.state, lifecycle.Transition{To: c.to, Cause: why}, c.want); got != c.text {
			t.Errorf("%s: %q, want %q", name, got, c.text)
		}
	}
}

// TestStatesOfAClusterAreNumberedOnce checks the numbers and the times of new states. Numbers continue across attempts,
// times never go back, and the states that exist do not change.
func TestStatesOfAClusterAreNumberedOnce(t *testing.T) {
	state := func(text string) sparkv1.ClusterState {
		return sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterFailed, LastTransitionTime: text}
	}

	const later = "2026-01-01T13:00:00.000000Z"
	for name, c := range map[string]struct {
		history, previous map[string]sparkv1.ClusterState
		last              string
		key, at           string
	}{
		"the first": {nil, nil, "", "0", "2026-01-01T12:00:00.000000Z"},
		"after others": {map[string]sparkv1.ClusterState{"9": state(""), "10": state("")}, nil,
			"2026-01-01T11:00:00.000000Z", "11", "2026-01-01T12:00:00.000000Z"},
		"after a previous attempt": {nil, map[string]sparkv1.ClusterState{"3": state(""), "4": state("")}, "",
			"5", "2026-01-01T12:00:00.000000Z"},
		"after both": {map[string]sparkv1.ClusterState{"7": state("")},
			map[string]sparkv1.ClusterState{"6": state("")}, "", "8", "2026-01-01T12:00:00.000000Z"},
		"after what is no number": {map[string]sparkv1.ClusterState{"x": state(""), "-3": state("")}, nil, "",
			"0", "2026-01-01T12:00:00.000000Z"},
		"after a clock that was ahead": {map[string]sparkv1.ClusterState{"0": state(later)}, nil, later, "1",
			later},
		"after a time that cannot be read": {map[string]sparkv1.ClusterState{"0": state("soon")}, nil, "soon", "1",
			"2026-01-01T12:00:00.000000Z"},
	} {
		s := sparkv1.ClusterStatus{StateTransitionHistory: c.history}
		if c.last != "" {
			s.CurrentState = &sparkv1.ClusterState{LastTransitionTime: c.last}
		}

		if c.previous != nil {
			s.PreviousAttemptSummary = &sparkv1.ClusterAttemptSummary{StateTransitionHistory: c.previous}
		}

		before := s.DeepCopy()
		enter(&s, sparkv1.ClusterRunningHealthy, strings.Repeat("m", 2000), noon)
		want := sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterRunningHealthy, LastTransitionTime: c.at,
			Message: strings.Repeat("m", 1024) + "..."}

		if before.StateTransitionHistory == nil {
			before.StateTransitionHistory = map[string]sparkv1.ClusterState{}
		}

		before.StateTransitionHistory[c.key], before.CurrentState = want, &want
		if diff := cmp.Diff(before, &s); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKnownObjectsAreThoseOfTheSpec checks what a pass concludes from the condition ObjectsApplied. A condition about
// an older spec says nothing about the objects of the present one.
func TestKnownObjectsAreThoseOfTheSpec(t *testing.T) {
	applied := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 3},
			{Type: "ObjectsApplied", Status: status, Reason: "Forbidden", Message: "no",
				ObservedGeneration: generation}}
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		want       cluster.Objects
	}{
		"nothing":          {nil, cluster.Objects{}},
		"other conditions": {applied(metav1.ConditionTrue, 3)[:1], cluster.Objects{}},
		"all match":        {applied(metav1.ConditionTrue, 3), cluster.Objects{Stand: true}},
		"one was rejected": {applied(metav1.ConditionFalse, 3),
			cluster.Objects{Refused: &lifecycle.Cause{Reason: "Forbidden", Message: "no"}}},
		"all match, before an edit":        {applied(metav1.ConditionTrue, 2), cluster.Objects{}},
		"one was rejected, before an edit": {applied(metav1.ConditionFalse, 2), cluster.Objects{}},
	} {
		sc := &sparkv1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Generation: 3},
			Status: sparkv1.ClusterStatus{Conditions: c.conditions}}
		if diff := cmp.Diff(c.want, KnownObjects(sc)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
