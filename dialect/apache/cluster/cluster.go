// Package cluster is the dialect of SparkClusters of spark.apache.org: standalone clusters of Spark. It reads a custom
// resource into the input of lifecycle/cluster, writes the decision into the status, and renders the objects. It is
// pure: nothing here reads anything but its arguments.
package cluster

import (
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/cluster"
	"github.com/sparkoperator/spark-operator/spark/standalone"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options are the settings of the operator's configuration that apply to every cluster.
type Options struct {
	// OperatorName is the value of the label spark.operator/name of all objects; empty means DefaultOperatorName.
	OperatorName string
	// ClusterDomain is the domain of the names of Services; empty means "cluster.local".
	ClusterDomain string
	// MasterStart is the deadline for a new cluster's master to be ready, counted from when the API server has accepted
	// all objects. It is also the deadline for each next pod of an edited cluster to follow the edit. 0 means no
	// deadline.
	MasterStart time.Duration
	// Submitters are the pods that may send applications to a master (standalone.Request). Empty means drivers of the
	// namespace.
	Submitters string
	// Trim keeps only the states of the current attempt in status.stateTransitionHistory. A cluster gets another
	// attempt when it is edited after a failure.
	Trim bool
	// Own is the operator's service account, which no pod of a cluster may use.
	Own dialect.ServiceAccount
}

// Clusters decides about and renders SparkClusters. It is pure: its methods read nothing but their arguments.
type Clusters struct{ Options }

// maxClusterWarnings is the maximum number of warnings about a spec that become events.
const maxClusterWarnings = 5

// Decide reads the cluster, runs the state machine with what is known of the objects, and writes the result into the
// status, in memory. A cluster that is being deleted keeps its status. AuxiliaryObjects.Decide handles the state of the
// objects in the same pass.
func (c Clusters) Decide(sc *sparkv1.SparkCluster, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	want, made, _ := c.want(sc)
	memory := decodeCluster(sc, seen)
	plan := cluster.Step(want, memory, seen, knownObjects(sc), now)
	if want.Deleting {
		return asPlan(plan)
	}
	var notices []lifecycle.Notice
	if sc.Status.Operator == nil && memory.Adopted {
		notices = append(notices, clusterTakenOver(sc))
	}
	if sc.Status.Operator == nil || sc.Status.ObservedGeneration != sc.Generation {
		warnings := append(inClusterFields(made.Warnings), withoutEffect(sc, made)...)
		for _, text := range warnings[:min(len(warnings), maxClusterWarnings)] {
			notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterWarning, Message: text}})
		}
	}
	if outlived := keptDespite(want, plan.Next); outlived != nil && !stalledReported(sc, *outlived) {
		notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterInvalid,
			Message: "the cluster continues; the edited spec is invalid: " + outlived.Message}})
	}
	plan.Notices = append(notices, plan.Notices...)
	c.encode(sc, want, plan, seen, knownObjects(sc), now)
	return asPlan(plan)
}

// asPlan returns a plan in the form that the controller carries out. It has no actions, since all objects of a cluster
// are its auxiliary objects.
func asPlan(plan cluster.Plan) lifecycle.Plan {
	m := plan.Next
	return lifecycle.Plan{Transitions: plan.Transitions, Notices: plan.Notices, RequeueAfter: plan.RequeueAfter,
		Next: lifecycle.Memory{Phase: m.Phase, Since: m.Since, Attempt: m.Attempt, Cause: m.Cause}}
}

// want reads what the cluster asks for, and renders its objects if that is possible.
func (c Clusters) want(sc *sparkv1.SparkCluster) (want cluster.Cluster, made standalone.Objects, all []standalone.Object) {
	want = cluster.Cluster{Deleting: sc.DeletionTimestamp != nil, Generation: sc.Generation, Start: c.MasterStart}
	if want.Deleting {
		return want, made, nil
	}
	if want.Invalid = dialect.Invalid(dialect.OutOfBounds(sc.OutOfBounds)); want.Invalid != nil {
		return want, made, nil
	}
	made, err := c.objects(sc)
	if err == nil {
		all, err = made.All()
	}
	if err != nil {
		if want.Invalid = dialect.Invalid(ValidateCluster(sc)); want.Invalid == nil {
			want.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
		}
		return want, standalone.Objects{}, nil
	}
	want.Workers = *made.Workers.Spec.Replicas
	if made.Autoscaler != nil {
		want.Scales, want.Workers = true, *made.Autoscaler.Spec.MinReplicas
	}
	want.Made = map[lifecycle.Role]string{
		lifecycle.Master: made.Master.Spec.Template.Annotations[lifecycle.SpecHashAnnotation],
		lifecycle.Worker: made.Workers.Spec.Template.Annotations[lifecycle.SpecHashAnnotation],
	}
	return want, made, all
}

// AuxiliaryObjects returns all objects of a cluster whose status Decide wrote, if its phase wants them. In other phases
// the set is empty, so that all objects are deleted. If a spec is invalid, the objects of a running cluster stay as
// they are.
//
// Inherited objects of the same cluster are kept: the StatefulSets have equal selectors, and their pods continue as
// they are until the cluster is edited. A StatefulSet that cannot be updated to an edit is replaced by another one of
// its name, which takes over its pods.
func (c Clusters) AuxiliaryObjects(sc *sparkv1.SparkCluster, seen lifecycle.Observed) dialect.AuxiliaryObjects {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil {
		return dialect.AuxiliaryObjects{Unsettled: true}
	}
	if !decodeCluster(sc, seen).Wants() {
		return dialect.AuxiliaryObjects{Record: func(live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
			encodeRelease(sc, seen, live, now)
			return nil
		}}
	}
	want, _, made := c.want(sc)
	if want.Invalid != nil {
		return dialect.AuxiliaryObjects{Unsettled: true} // Decide reports it
	}
	var all []submit.Object
	for _, object := range made {
		dialect.MarkContent(object)
		all = append(all, object)
	}
	return dialect.AuxiliaryObjects{Objects: all, Decide: func(live []lifecycle.AuxiliaryObject, now time.Time) lifecycle.Plan {
		objects := stateOfObjects(all, live)
		plan := cluster.Step(want, decodeCluster(sc, seen), seen, objects, now)
		encodeObjects(sc, objects, now)
		c.encode(sc, want, plan, seen, objects, now)
		return asPlan(plan)
	}}
}

// stateOfObjects returns the state of all objects together. A rejected object is reported before one that only needs
// time.
func stateOfObjects(all []submit.Object, live []lifecycle.AuxiliaryObject) cluster.Objects {
	if causes := dialect.ObjectFailures(live); len(causes) > 0 {
		cause := causes[0]
		for _, other := range causes[1:] {
			cause.Message += "; " + other.Message
		}
		cause = cause.Bounded()
		return cluster.Objects{Refused: &cause}
	}
	return cluster.Objects{Stand: !slices.ContainsFunc(all, func(object submit.Object) bool {
		made := dialect.FindObject(live, object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
		return made == nil || !made.Current
	})}
}

// keptDespite returns what is wrong with an edited spec while the cluster continues with the previous one; nil if
// nothing is wrong.
func keptDespite(want cluster.Cluster, m cluster.Memory) *lifecycle.Cause {
	if m.Phase == lifecycle.Running {
		return want.Invalid
	}
	return nil
}
