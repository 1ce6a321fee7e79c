// Package cluster is the dialect of SparkClusters of spark.apache.org: standalone clusters of Spark. It reads custom resources into what the machine of
// lifecycle/cluster decides by, writes the decision into their statuses, and renders their objects. It is pure: nothing here reads anything but its
// arguments.
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

// Options is what the operator's configuration gives every cluster. The zero value of a field means what it says.
type Options struct {
	// OperatorName is the value of the label spark.operator/name of all that is made; empty means DefaultOperatorName.
	OperatorName string
	// ClusterDomain ends the names of Services; empty means "cluster.local".
	ClusterDomain string
	// MasterStart is how long a master may take to be ready, from when the API server has taken all objects of its cluster, and how long an edited cluster may
	// take until the next of its pods is of the edit; 0 means no bound.
	MasterStart time.Duration
	// Submitters may send applications to a master; see standalone.Request. Empty means drivers of the namespace.
	Submitters string
	// Trim keeps the states of the current attempt alone in status.stateTransitionHistory, as Options.Trim does. A cluster is attempted anew when
	// one that failed is edited.
	Trim bool
	// Own is the operator's service account, which no pod of a cluster may have.
	Own dialect.ServiceAccount
}

// Clusters decides about and renders SparkClusters. It is pure: its methods read nothing but their arguments.
type Clusters struct{ Options }

// maxClusterWarnings is how many warnings about a spec are told one by one.
const maxClusterWarnings = 5

// Decide reads the cluster, lets the machine decide by what is known of its objects, and writes what follows into its status, in memory. One that is being
// deleted keeps the status that it has. What became of the objects in the same pass is decided about by Surroundings.Decides.
func (c Clusters) Decide(sc *sparkv1.SparkCluster, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	want, made, _ := c.want(sc)
	memory := decodeCluster(sc, seen)
	plan := cluster.Step(want, memory, seen, knownObjects(sc), now)
	if want.Deleting {
		return asPlan(plan)
	}
	var news []lifecycle.Notice
	if sc.Status.Operator == nil && memory.Adopted {
		news = append(news, clusterTakenOver(sc))
	}
	if sc.Status.Operator == nil || sc.Status.ObservedGeneration != sc.Generation {
		warnings := append(inClusterFields(made.Warnings), withoutEffect(sc, made)...)
		for _, text := range warnings[:min(len(warnings), maxClusterWarnings)] {
			news = append(news, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterWarning, Message: text}})
		}
	}
	if outlived := outlivedBy(want, plan.Next); outlived != nil && !toldStalled(sc, *outlived) {
		news = append(news, lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterInvalid,
			Message: "the cluster goes on; nothing can be made of the edited spec: " + outlived.Message}})
	}
	plan.Tell = append(news, plan.Tell...)
	c.encode(sc, want, plan, seen, knownObjects(sc), now)
	return asPlan(plan)
}

// asPlan is a plan as a controller carries it out: it makes no actions, since all objects of a cluster are its surroundings.
func asPlan(plan cluster.Plan) lifecycle.Plan {
	m := plan.Next
	return lifecycle.Plan{Trail: plan.Trail, Tell: plan.Tell, Check: plan.Check,
		Next: lifecycle.Memory{Phase: m.Phase, Since: m.Since, Attempt: m.Attempt, Cause: m.Cause}}
}

// want reads what the cluster asks for, and the objects that it is made of, where there can be any.
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

// Surroundings returns all objects of a cluster whose status Decide wrote, in the phases in which they are wanted; in the others none is, so that all of
// them go. A spec of which none can be made leaves everything as it is beside a cluster that runs.
//
// What another operator made of the same cluster is kept: its StatefulSets have the selectors that these have, and their pods go on as they are until the
// cluster is edited. A StatefulSet that an edit cannot be brought to is to be replaced by another of its name that takes over its pods.
func (c Clusters) Surroundings(sc *sparkv1.SparkCluster, seen lifecycle.Observed) dialect.Surroundings {
	if sc.DeletionTimestamp != nil || sc.Status.Operator == nil {
		return dialect.Surroundings{Unsettled: true}
	}
	if !decodeCluster(sc, seen).Wants() {
		return dialect.Surroundings{Told: func(is []lifecycle.Surrounding, now time.Time) []dialect.Event {
			encodeRelease(sc, seen, is, now)
			return nil
		}}
	}
	want, _, made := c.want(sc)
	if want.Invalid != nil {
		return dialect.Surroundings{Unsettled: true} // Decide tells
	}
	var all []submit.Object
	for _, object := range made {
		dialect.MarkContent(object)
		all = append(all, object)
	}
	return dialect.Surroundings{Objects: all, Decides: func(is []lifecycle.Surrounding, now time.Time) lifecycle.Plan {
		objects := became(all, is)
		plan := cluster.Step(want, decodeCluster(sc, seen), seen, objects, now)
		encodeObjects(sc, objects, now)
		c.encode(sc, want, plan, seen, objects, now)
		return asPlan(plan)
	}}
}

// became is what became of all objects together. What is refused is told before what only takes its time.
func became(all []submit.Object, is []lifecycle.Surrounding) cluster.Objects {
	if causes := dialect.Hindrances(is); len(causes) > 0 {
		cause := causes[0]
		for _, other := range causes[1:] {
			cause.Message += "; " + other.Message
		}
		cause = cause.Bounded()
		return cluster.Objects{Refused: &cause}
	}
	return cluster.Objects{Stand: !slices.ContainsFunc(all, func(object submit.Object) bool {
		made := dialect.Named(is, object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
		return made == nil || !made.Stands
	})}
}

// outlivedBy is what is wrong with an edited spec beside which a cluster goes on as it was before; nil where nothing is.
func outlivedBy(want cluster.Cluster, m cluster.Memory) *lifecycle.Cause {
	if m.Phase == lifecycle.Running {
		return want.Invalid
	}
	return nil
}
