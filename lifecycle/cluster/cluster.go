// Package cluster is the state machine of a standalone Spark cluster: Step, a pure function from what is wanted, remembered and seen, and what became of
// the objects that the cluster is made of, to a plan.
//
// A cluster is objects that the API server keeps so (StatefulSets, Services and what belongs to them), and pods that Kubernetes makes of them. The machine
// makes nothing itself: it says in which phases the objects are wanted (Memory.Wants), learns what became of them (Objects), and judges by the pods (
// lifecycle.Member) how the cluster fares. Four rules:
//
//   - it runs when its master and the workers that it is to have at least are ready, and not before;
//   - what it loses afterwards is made again by Kubernetes: that is told, and ends nothing;
//   - what the API server refuses is asked for again, for as long as it takes;
//   - it fails when it can be made of no objects, or when its objects stand and no master is ready in time. Then everything is released. An edit begins anew.
//
// Transitions lists every edge, Waits what each phase waits for.
package cluster

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Cluster is what a custom resource asks for.
type Cluster struct {
	Deleting   bool  // the custom resource has a deletion timestamp: Kubernetes deletes what it owns
	Generation int64 // of the spec: another one is an edit
	// Invalid is set when no objects can be made of the spec. What is said below is not known then.
	Invalid *lifecycle.Cause
	// Workers is how many workers have to be ready.
	Workers int32
	// Scales tells that somebody else chooses how many workers there are, Workers at least (an autoscaler).
	Scales bool
	// Made tells what the pods of each role are to be made from (lifecycle.Member.Generation).
	Made map[lifecycle.Role]string
	// Start is how long the master may take to be ready, from when all objects stand, and an edited spec until the next pod is of it; 0 means no bound.
	Start time.Duration
}

// Objects is what became of the objects that the cluster is made of. The zero value means that it is not known: they are on their way.
type Objects struct {
	Stand   bool             // all of them are as they are wanted
	Refused *lifecycle.Cause // why one of them is not
}

// Memory is what must be remembered of a cluster from one decision to the next and cannot be observed again. The zero value is that of a cluster which was
// never seen.
type Memory struct {
	Phase      lifecycle.Phase
	Since      time.Time // when Phase was entered
	Attempt    int32     // how often the cluster was begun, this time included; 0 of one that was never seen
	Generation int64     // of the spec that the cluster is brought to
	// Adopted tells that another operator made the cluster, and that nobody edited it since: its pods are left as they are.
	Adopted bool
	// Begun is since when all objects stand, or since when a cluster that goes on is brought to another spec; zero before.
	Begun time.Time
	// Complete is when all pods were of the spec and ready; zero while that is awaited for the first time, or again after an edit.
	Complete time.Time
	Cause    lifecycle.Cause // why the cluster failed, or what it lacks or waits for
}

// Wants reports whether the objects are wanted; else all of them are to go.
func (m Memory) Wants() bool { return m.Phase != lifecycle.Ended && m.Phase != lifecycle.Done }

// Rolling reports whether a cluster that goes on is on its way to a spec.
func (m Memory) Rolling() bool { return m.Phase == lifecycle.Running && m.Complete.IsZero() }

// Plan is a decision about a cluster. All that is done in the cluster follows from the phase (Memory.Wants).
type Plan struct {
	Trail []lifecycle.Transition // phases entered, oldest first; Attempt is Memory.Attempt
	Tell  []lifecycle.Notice     // of a pod (Part Members), or of the cluster (Part Application), whose reason is one of this package's
	Next  Memory
	Check time.Duration // look again after this; 0 = only on a change
}

// Reasons of causes and notices.
const (
	ReasonMasterNotReady  = "MasterNotReady"  // and no pod says why
	ReasonWorkersNotReady = "WorkersNotReady" // and no pod says why
	ReasonStartTimedOut   = "MasterStartTimedOut"
	ReasonRolloutTimedOut = "RolloutTimedOut"
	ReasonEdited          = "SpecChanged"
	ReasonRolledOut       = "RolledOut"
	ReasonRecovered       = "Recovered"
)
