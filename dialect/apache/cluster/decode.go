package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/cluster"
)

// decodeCluster returns the memory that rememberCluster stored, or a memory that follows from another operator's
// status.
func decodeCluster(sc *sparkv1.SparkCluster, seen lifecycle.Observed) cluster.Memory {
	o := sc.Status.Operator
	if o == nil {
		return takeClusterOver(sc, seen)
	}
	phase := lifecycle.Phase(o.Phase)
	if _, known := clusterStates[phase]; !known {
		phase = lifecycle.New // a newer operator may have more phases
	}
	return cluster.Memory{
		Phase: phase, Since: dialect.DecodeTime(o.Since), Attempt: clusterAttempt(&sc.Status), Generation: o.Generation, RestartRequest: o.RestartRequest, Adopted: o.Adopted,
		Begun: dialect.DecodeTime(o.BegunAt), Complete: dialect.DecodeTime(o.CompleteAt), Cause: dialect.DecodeCause(o.Cause),
	}
}

// clusterAttempt returns the number of the current attempt, counted from 1. The status of this API counts attempts from
// 0.
func clusterAttempt(s *sparkv1.ClusterStatus) int32 {
	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		return int32(min(max(a.AttemptInfo.ID, 0), maxClusterAttempt-1)) + 1
	}
	return 1
}

// takeClusterOver returns a memory that follows from another operator's status. If the status says that the cluster
// runs, the phase is Running; this operator's next decision checks the pods, which the other operator never did. If the
// status says that the other operator failed to create objects, the operator tries again. If the status has no state,
// existing pods come from a pass of the other operator whose result was not stored.
func takeClusterOver(sc *sparkv1.SparkCluster, seen lifecycle.Observed) cluster.Memory {
	left := sc.Status.CurrentState
	if left == nil || left.CurrentStateSummary == "" {
		return cluster.Memory{Adopted: len(seen.Members) > 0}
	}
	since := apache.ParseTimestamp(left.LastTransitionTime)
	m := cluster.Memory{Since: since, Attempt: clusterAttempt(&sc.Status), Adopted: true}
	cause := lifecycle.Cause{Reason: string(left.CurrentStateSummary), Message: apache.Cut(left.Message, apache.MaxMessage)}
	switch left.CurrentStateSummary {
	case sparkv1.ClusterRunningHealthy:
		m.Phase, m.Begun, m.Complete = lifecycle.Running, since, since
	case sparkv1.ClusterSchedulingFailure, sparkv1.ClusterFailed:
		m.Phase, m.Cause = lifecycle.Waiting, cause
	case sparkv1.ClusterResourceReleased:
		m.Phase, m.Cause = lifecycle.Done, cause
	}
	return m
}

// knownObjects returns the last known state of the objects of the current spec, read from the condition ObjectsApplied.
func knownObjects(sc *sparkv1.SparkCluster) cluster.Objects {
	known := meta.FindStatusCondition(sc.Status.Conditions, ConditionObjects)
	switch {
	case known == nil || known.ObservedGeneration != sc.Generation:
		return cluster.Objects{}
	case known.Status == metav1.ConditionTrue:
		return cluster.Objects{Stand: true}
	}
	return cluster.Objects{Refused: &lifecycle.Cause{Reason: known.Reason, Message: known.Message}}
}
