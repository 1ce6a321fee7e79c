// Package cluster is the state machine of a standalone Spark cluster. Step is a pure function that returns a plan. Its
// arguments are the desired, remembered and observed state of the cluster, and the state of the cluster's objects.
//
// A cluster consists of objects that the operator ensures (StatefulSets, Services and so on) and of pods that
// Kubernetes creates from these objects. The state machine itself creates nothing. It decides in which phases the
// objects are wanted (Memory.Wants), receives their state (Objects), and derives the phase of the cluster from the pods
// (lifecycle.Member).
//
// Four rules apply:
//
//   - The cluster is Running from the moment at which its master and the minimum number of workers are ready.
//   - If the cluster loses a pod later, Kubernetes replaces it. The loss is reported and does not end the cluster.
//   - If the API server rejects an object, the operator tries again without a time limit.
//   - The cluster fails if its objects cannot be rendered, or if all of them exist and no master is ready in time. Then
//     all objects are deleted. An edit of the spec or a restart request starts the cluster again.
//
// Transitions lists every possible change of phase, and Waits lists what each phase waits for.
package cluster

import (
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Cluster is the desired state of a custom resource of the kind SparkCluster.
type Cluster struct {
	Deleting   bool  // the custom resource has a deletion timestamp: Kubernetes deletes its dependents
	Generation int64 // of the spec: a different number means an edit
	// RestartRequest identifies a request to restart the cluster without an edit (lifecycle.RestartRequest); empty if
	// there is none.
	RestartRequest string
	// Suspend deletes the pods of the cluster and all its objects except Services, until the suspension is lifted. Hold
	// is then set as well, so that a cluster of which nothing exists stays in its phase.
	Suspend bool
	// Hold is set if no object may be created or changed. It deletes nothing: a cluster that runs continues, and its
	// edits and restart requests wait.
	Hold *lifecycle.Cause
	// Invalid is set if the objects of the spec cannot be rendered. The fields below are unknown in that case.
	Invalid *lifecycle.Cause
	// Workers is the number of workers that must be ready.
	Workers int32
	// Scales reports that an autoscaler chooses the number of workers. Workers is then the minimum.
	Scales bool
	// Made identifies, for each role, the spec from which the pods should be created (lifecycle.Member.Generation).
	Made map[lifecycle.Role]string
	// Start is the maximum time until the master is ready, counted from the time at which all objects exist. It is also
	// the maximum time in a rollout until the next pod with the new spec is created. 0 means no limit.
	Start time.Duration
}

// Objects is the state of the objects that a cluster consists of. The zero value means that the operator is creating
// the objects, so that their state is unknown.
type Objects struct {
	Stand   bool             // all objects exist and equal the wanted objects
	Refused *lifecycle.Cause // why the API server rejected an object; nil if it rejected none
}

// Memory is the part of a cluster's state that cannot be observed again, so that one decision must pass it to the next.
// The zero value belongs to a new cluster.
type Memory struct {
	Phase      lifecycle.Phase
	Since      time.Time // when Phase was entered
	Attempt    int32     // how often the cluster was started, including this time; 0 before the first pass
	Generation int64     // generation of the spec that the objects follow
	// RestartRequest is the last restart request that was carried out; empty if there was none.
	RestartRequest string
	// Adopted reports that another operator created the cluster and that nobody has edited it since. The pods of such a
	// cluster stay unchanged.
	Adopted bool
	// Begun is when the current time limit started: when all objects existed, when the master was lost during the
	// start, or when the rollout of a spec began. It is zero before that.
	Begun time.Time
	// Complete is when all pods matched the spec and were ready. It is zero before that, and becomes zero again after
	// an edit.
	Complete time.Time
	Cause    lifecycle.Cause // why the cluster failed, or its wait reason
}

// Wants reports whether the cluster's objects must exist. If Wants returns false, all of them must be deleted, except
// the Services of a suspended cluster.
func (m Memory) Wants() bool {
	return m.Phase != lifecycle.Ended && m.Phase != lifecycle.Done && !m.Suspended()
}

// Suspended reports whether the cluster is suspended, or is being stopped because of a suspension.
func (m Memory) Suspended() bool {
	return m.Phase == lifecycle.Suspending || m.Phase == lifecycle.Suspended
}

// Rolling reports whether the rollout of a running cluster's spec is not complete yet.
func (m Memory) Rolling() bool { return m.Phase == lifecycle.Running && m.Complete.IsZero() }

// WaitsInQueue reports whether the objects of the cluster may not be created yet, because they need quota.
func (m Memory) WaitsInQueue(seen lifecycle.Observed) bool {
	q := seen.Quota
	return q != nil && m.asks() && (!q.Asked || q.Wait != nil)
}

// EditWaits reports whether the objects of the cluster may not follow the spec of the given generation yet, because the
// quota of the pods that exist may be for other pods.
func (m Memory) EditWaits(seen lifecycle.Observed, generation int64) bool {
	q := seen.Quota
	return q != nil && m.Wants() && !m.asks() && m.Generation != generation && (q.Reserved || q.Unread) && !q.Asked
}

// asks reports whether not all objects of the cluster exist yet.
func (m Memory) asks() bool { return slices.Contains(asking, m.Phase) }

// Plan is a decision about a cluster. Its actions concern quota only, because all changes of Kubernetes objects follow
// from the phase (Memory.Wants).
type Plan struct {
	Actions     []lifecycle.Action
	Transitions []lifecycle.Transition // phases entered, oldest first; Attempt is Memory.Attempt
	// Notices are about a pod (Part Members), or about the cluster (Part Application). Notices about the cluster have a
	// reason of this package.
	Notices      []lifecycle.Notice
	Next         Memory
	RequeueAfter time.Duration // requeue after this time; 0: only an event starts the next pass
}

// These are the values of Cause.Reason and Notice.Reason.
const (
	ReasonMasterNotReady  = "MasterNotReady"  // if no pod has a wait reason
	ReasonWorkersNotReady = "WorkersNotReady" // if no pod has a wait reason
	ReasonStartTimedOut   = "MasterStartTimedOut"
	ReasonRolloutTimedOut = "RolloutTimedOut"
	ReasonEdited          = "SpecChanged"
	ReasonRestarted       = lifecycle.ReasonRestartRequested
	ReasonRolledOut       = "RolledOut"
	ReasonRecovered       = "Recovered"
	ReasonPodsRemain      = "PodsRemain" // a suspended cluster's pods should be gone
	ReasonResumed         = "Resumed"
)
