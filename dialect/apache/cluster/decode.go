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

// decodeCluster reads what rememberCluster stored, or what another operator wrote.
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
		Phase: phase, Since: dialect.DecodeTime(o.Since), Attempt: clusterAttempt(&sc.Status), Generation: o.Generation, Adopted: o.Adopted,
		Begun: dialect.DecodeTime(o.BegunAt), Complete: dialect.DecodeTime(o.CompleteAt), Cause: dialect.DecodeCause(o.Cause),
	}
}

// clusterAttempt returns our number of the current attempt. This API counts from 0, the operator from 1.
func clusterAttempt(s *sparkv1.ClusterStatus) int32 {
	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		return int32(min(max(a.AttemptInfo.ID, 0), maxClusterAttempt-1)) + 1
	}
	return 1
}

// takeClusterOver reads what another operator wrote. A cluster that it called running is running, although that
// operator never checked the pods: they are checked now. Objects that it failed to create, and gave up, are tried
// again. Pods that exist although no state mentions them come from a pass whose result it did not store.
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

// knownObjects returns the last known state of the objects of the current spec.
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
