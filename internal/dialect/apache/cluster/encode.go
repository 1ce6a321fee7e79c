package cluster

import (
	"math"
	"strconv"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

const (
	// maxClusterStates is the maximum number of states in the history of a cluster. The oldest states are dropped, and
	// the numbers of the states continue. A history of another operator may have thousands of states.
	maxClusterStates = 100
	// maxClusterAttempt is the largest attempt number.
	maxClusterAttempt = math.MaxInt32
)

// encode writes a decision into the status: the states of this API, and the operator's memory. Writing the same
// decision twice has the same result as writing it once.
func (c Clusters) encode(sc *sparkv1.SparkCluster, want cluster.Cluster, plan cluster.Plan, seen lifecycle.Observed, objects cluster.Objects, now time.Time) {
	s, m := &sc.Status, plan.Next
	if s.CurrentState == nil {
		enterCluster(s, sparkv1.ClusterSubmitted, "the cluster is submitted", firstSeen(sc, now))
	}

	for _, t := range plan.Transitions {
		if t.To == lifecycle.Resuming {
			rollClusterOver(s, c.Trim)
		}

		if state := clusterStates[t.To]; state != s.CurrentState.CurrentStateSummary {
			enterCluster(s, state, clusterMessage(state, t, want), t.At)
		}
	}
	// The current state differs from the phase if another operator wrote it.
	if state := clusterStates[m.Phase]; state != s.CurrentState.CurrentStateSummary {
		enterCluster(s, state, clusterMessage(state, lifecycle.Transition{To: m.Phase, Cause: m.Cause}, want), now)
	}

	boundClusterStates(s.StateTransitionHistory)
	rememberCluster(s, m)
	s.ObservedGeneration = sc.Generation
	encodeMembers(s, want, m, seen)
	encodeClusterConditions(sc, want, m, seen, objects, now)
}

// firstSeen returns the time of a cluster's submission: its creation time, which does not depend on the time of the
// first pass.
func firstSeen(sc *sparkv1.SparkCluster, now time.Time) time.Time {
	if created := sc.CreationTimestamp.Time; !created.IsZero() && created.Before(now) {
		return created
	}
	return now
}

// clusterStates maps phases to states of this API. If a running cluster loses pods, its state does not change, but
// conditions report the loss.
var clusterStates = map[lifecycle.Phase]sparkv1.ClusterStateSummary{
	lifecycle.New:      sparkv1.ClusterSubmitted,
	lifecycle.Resuming: sparkv1.ClusterSubmitted,
	lifecycle.Launched: sparkv1.ClusterSubmitted,
	lifecycle.Started:  sparkv1.ClusterSubmitted,
	lifecycle.Waiting:  sparkv1.ClusterSchedulingFailure,
	lifecycle.Running:  sparkv1.ClusterRunningHealthy,
	lifecycle.Ended:    sparkv1.ClusterFailed,
	lifecycle.Done:     sparkv1.ClusterResourceReleased,
}

// clusterMessage returns the message of a state, which says why the cluster entered the state.
func clusterMessage(state sparkv1.ClusterStateSummary, t lifecycle.Transition, want cluster.Cluster) string {
	switch {
	case state == sparkv1.ClusterSchedulingFailure:
		return "the API server rejects an object of the cluster, and the operator retries: " + dialect.CauseText(t.Cause)
	case state == sparkv1.ClusterRunningHealthy && want.Scales:
		return "the master and at least " + bounds.Count(want.Workers, "worker") + " are ready"
	case state == sparkv1.ClusterRunningHealthy:
		return "the master and " + bounds.Count(want.Workers, "worker") + " are ready"
	case state == sparkv1.ClusterFailed:
		return dialect.CauseText(t.Cause)
	case state == sparkv1.ClusterResourceReleased:
		return "the cluster's objects are gone; an edit of the spec starts it again"
	case t.To == lifecycle.Resuming:
		return t.Cause.Message
	}
	return "all objects of the cluster exist; its pods are starting"
}

// enterCluster adds a state to the history and makes it the current state. The time of the new state is never before
// the time of the previous state, even if different machines, whose clocks differ, wrote the two states.
func enterCluster(s *sparkv1.ClusterStatus, state sparkv1.ClusterStateSummary, message string, at time.Time) {
	if s.CurrentState != nil {
		if last := apache.ParseTimestamp(s.CurrentState.LastTransitionTime); last.After(at) {
			at = last
		}
	}

	entry := sparkv1.ClusterState{CurrentStateSummary: state, LastTransitionTime: apache.Timestamp(at), Message: lifecycle.Cut(message, apache.MaxMessage)}
	next := int64(0)

	histories := []map[string]sparkv1.ClusterState{s.StateTransitionHistory}
	if s.PreviousAttemptSummary != nil {
		histories = append(histories, s.PreviousAttemptSummary.StateTransitionHistory)
	}

	for _, history := range histories {
		if keys := apache.KeysOf(history); len(keys) > 0 {
			next = max(next, apache.KeyOf(keys[len(keys)-1])+1)
		}
	}

	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]sparkv1.ClusterState{}
	}

	s.StateTransitionHistory[strconv.FormatInt(next, 10)] = entry
	s.CurrentState = &entry
}

// boundClusterStates removes the oldest states of a history that has more than maxClusterStates states.
func boundClusterStates(history map[string]sparkv1.ClusterState) {
	keys := apache.KeysOf(history)
	for _, key := range keys[:max(0, len(keys)-maxClusterStates)] {
		delete(history, key)
	}
}

// rollClusterOver prepares the status for the next attempt: currentAttemptSummary becomes previousAttemptSummary. If
// trim is true, the states in the history move into previousAttemptSummary too.
func rollClusterOver(s *sparkv1.ClusterStatus, trim bool) {
	previous := &sparkv1.ClusterAttemptSummary{}
	if last := s.CurrentAttemptSummary; last != nil && last.AttemptInfo != nil {
		previous.AttemptInfo = new(*last.AttemptInfo)
	}

	if trim {
		previous.StateTransitionHistory, s.StateTransitionHistory = s.StateTransitionHistory, nil
	}

	s.PreviousAttemptSummary = previous
}

// rememberCluster stores a memory in the status. decodeCluster reads the same memory back.
func rememberCluster(s *sparkv1.ClusterStatus, m cluster.Memory) {
	var defaults *sparkv1.OperatorDefaults
	if s.Operator != nil {
		defaults = s.Operator.Defaults // Decide sets this field
	}

	s.Operator = &sparkv1.ClusterOperatorStatus{
		Defaults: defaults, Phase: string(m.Phase), Since: dialect.EncodeTime(m.Since), Generation: m.Generation,
		RestartRequest: m.RestartRequest, Adopted: m.Adopted,
		BegunAt: dialect.EncodeTime(m.Begun), CompleteAt: dialect.EncodeTime(m.Complete), Cause: dialect.EncodeCause(m.Cause),
	}
	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &sparkv1.ClusterAttemptSummary{}
	}

	number := int64(m.Attempt) - 1
	s.CurrentAttemptSummary.AttemptInfo = &sparkv1.ClusterAttemptInfo{ID: number, RestartCounter: number}
}

// encodeMembers writes the numbers of desired and existing pods into the status. If the spec is invalid, the desired
// number of workers is unknown, so the status keeps the number that it already contains.
func encodeMembers(s *sparkv1.ClusterStatus, want cluster.Cluster, m cluster.Memory, seen lifecycle.Observed) {
	masters, workers := sparkv1.MemberCounts{}, sparkv1.MemberCounts{}
	if m.Wants() {
		masters.Desired, workers.Desired = 1, want.Workers
		if want.Invalid != nil && s.Workers != nil {
			workers.Desired = s.Workers.Desired
		}
	}

	for i := range seen.Members {
		counts := &workers
		if seen.Members[i].Role == lifecycle.Master {
			counts = &masters
		}

		countMember(counts, &seen.Members[i])
	}

	s.Masters, s.Workers = &masters, &workers
	if m.Phase == lifecycle.Done && masters == workers && masters == (sparkv1.MemberCounts{}) {
		s.Masters, s.Workers = nil, nil
	}
}

func countMember(counts *sparkv1.MemberCounts, m *lifecycle.Member) {
	switch m.Phase {
	case lifecycle.DriverPending:
		counts.Pending++
	case lifecycle.DriverRunning:
		counts.Running++
		if m.Ready && !m.Deleting {
			counts.Ready++
		}
	default:
		counts.Failed++
	}
}
