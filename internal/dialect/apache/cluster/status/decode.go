package status

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// Memory returns the memory that remember stored. If another operator wrote the status, it computes the
// memory from this status.
func Memory(sc *sparkv1.SparkCluster, seen lifecycle.Observed) cluster.Memory {
	o := sc.Status.Operator
	if o == nil {
		return takeOver(sc, seen)
	}

	phase := lifecycle.Phase(o.Phase)
	if _, known := States[phase]; !known {
		phase = lifecycle.New // a newer version of the operator may have stored a phase that this version lacks
	}
	return cluster.Memory{
		Phase: phase, Since: dialect.DecodeTime(o.Since), Attempt: attemptOf(&sc.Status), Generation: o.Generation, RestartRequest: o.RestartRequest, Adopted: o.Adopted,
		Begun: dialect.DecodeTime(o.BegunAt), Complete: dialect.DecodeTime(o.CompleteAt), Cause: dialect.DecodeCause(o.Cause),
	}
}

// Hold returns whether a cluster is held, and why. The argument queued reports that a queue decides about a cluster
// that it has evicted.
func Hold(sc *sparkv1.SparkCluster, queued bool) apache.Hold {
	var current sparkv1.ClusterState
	if sc.Status.CurrentState != nil {
		current = *sc.Status.CurrentState
	}

	state := current.CurrentStateSummary
	known := state == "" || slices.Contains(slices.Collect(maps.Values(States)), state)
	return apache.HoldOf(apache.Resource{Suspend: sc.Spec.Suspend, State: string(state), SuspendReason: current.SuspendReason, Known: known,
		Queued: queued, Deleting: sc.DeletionTimestamp != nil, Conditions: sc.Status.Conditions})
}

// attemptOf returns the number of the current attempt, counted from 1. The status of this API counts attempts from
// 0.
func attemptOf(s *sparkv1.ClusterStatus) int32 {
	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		return int32(min(max(a.AttemptInfo.ID, 0), maxAttempt-1)) + 1
	}
	return 1
}

// takeOver computes a memory from another operator's status. If the status has the state RunningHealthy, the
// phase is Running, although the other operator never checked the pods. The next decision checks them. If the other
// operator failed to create objects, our operator tries again. If the status has no state but pods exist, the other
// operator has created them without storing a status.
func takeOver(sc *sparkv1.SparkCluster, seen lifecycle.Observed) cluster.Memory {
	left := sc.Status.CurrentState
	if left == nil || left.CurrentStateSummary == "" {
		return cluster.Memory{Adopted: len(seen.Members) > 0, Cause: dialect.WaitInQueue(sc.Status.Conditions)}
	}

	since := apache.ParseTimestamp(left.LastTransitionTime)
	m := cluster.Memory{Since: since, Attempt: attemptOf(&sc.Status), Adopted: true}

	cause := lifecycle.Cause{Reason: string(left.CurrentStateSummary), Message: lifecycle.Cut(left.Message, apache.MaxMessage)}
	switch left.CurrentStateSummary {
	case sparkv1.ClusterRunningHealthy:
		m.Phase, m.Begun, m.Complete = lifecycle.Running, since, since
	case sparkv1.ClusterSchedulingFailure, sparkv1.ClusterFailed:
		m.Phase, m.Cause = lifecycle.Waiting, cause
	case sparkv1.ClusterSuspended:
		m.Phase = lifecycle.Suspending // its pods may not be gone yet
	case sparkv1.ClusterResourceReleased:
		m.Phase, m.Cause = lifecycle.Done, cause
	}
	return m
}

// KnownObjects reads from the condition ObjectsApplied what the last pass stored about the cluster's objects: all of
// them match the spec, or the API server rejected one. The result is empty if the spec was edited since then.
func KnownObjects(sc *sparkv1.SparkCluster) cluster.Objects {
	known := meta.FindStatusCondition(sc.Status.Conditions, ConditionObjects)
	switch {
	case known == nil || known.ObservedGeneration != sc.Generation:
		return cluster.Objects{}
	case known.Status == metav1.ConditionTrue:
		return cluster.Objects{Stand: true}
	}
	return cluster.Objects{Refused: &lifecycle.Cause{Reason: known.Reason, Message: known.Message}}
}
