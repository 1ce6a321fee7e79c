package cluster

import (
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
)

// These are groups of phases from which the same transitions start.
var (
	asking   = []lifecycle.Phase{lifecycle.New, lifecycle.Resuming, lifecycle.Waiting}
	starting = []lifecycle.Phase{lifecycle.Launched, lifecycle.Started}
)

func only(phase lifecycle.Phase) []lifecycle.Phase { return []lifecycle.Phase{phase} }

// Transitions lists all transitions that Step may make. A test checks every decision of the state machine against this
// list.
var Transitions = []application.Edge{
	{From: asking, To: lifecycle.Launched, When: "all objects exist as wanted"},
	{From: []lifecycle.Phase{lifecycle.New, lifecycle.Resuming}, To: lifecycle.Waiting, When: "the API server rejects an object"},
	{From: asking, To: lifecycle.Ended, When: "the spec is invalid, or contradicts its queue"},
	{From: only(lifecycle.Launched), To: lifecycle.Started, When: "the master is ready, too few workers are"},
	{From: only(lifecycle.Started), To: lifecycle.Launched, When: "the master is no longer ready"},
	{From: starting, To: lifecycle.Running, When: "the master and enough workers are ready"},
	{From: only(lifecycle.Launched), To: lifecycle.Waiting, When: "the API server rejects an object that was deleted or edited"},
	{From: only(lifecycle.Started), To: lifecycle.Waiting, When: "the API server rejects an object that was deleted or edited"},
	{From: only(lifecycle.Launched), To: lifecycle.Ended, When: "no master is ready in time, or the spec was edited and is invalid"},
	{From: only(lifecycle.Started), To: lifecycle.Ended, When: "the spec was edited and is invalid"},
	{From: slices.Concat(asking, starting, only(lifecycle.Running)), To: lifecycle.Suspending, When: "the cluster is suspended or its queue evicts it, and something of it exists"},
	{From: only(lifecycle.Suspending), To: lifecycle.Suspended, When: "all pods are gone, and all objects except Services"},
	{From: only(lifecycle.Suspended), To: lifecycle.Resuming, When: "the suspension is lifted, or the evicted cluster is in the queue again"},
	{From: only(lifecycle.Ended), To: lifecycle.Done, When: "all objects and pods are gone"},
	{From: only(lifecycle.Done), To: lifecycle.Resuming, When: "the spec was edited, or has become valid without an edit"},
}

// Waits has an entry for each phase in which a cluster can stay. The entry says what the cluster waits for.
var Waits = []application.Wait{
	{Phase: lifecycle.New, For: "quota of the queue, if there is one, and then the API server to accept the objects, if it cannot do that at once"},
	{Phase: lifecycle.Resuming, For: "the API server to accept the objects, as in New; the cluster was over before"},
	{Phase: lifecycle.Waiting, For: "the API server to accept the rejected object. The operator retries with intervals that grow to 5 min, and at once after an edit"},
	{Phase: lifecycle.Launched, For: "the master; bounded by the time limit of the start, without the time behind scheduling gates"},
	{Phase: lifecycle.Started, For: "the wanted number of workers"},
	{Phase: lifecycle.Running, For: "an edit. The operator reports what the cluster loses, and Kubernetes replaces it"},
	{Phase: lifecycle.Suspending, For: "all pods to be gone, and all objects except Services; a pass runs every 15 s"},
	{Phase: lifecycle.Suspended, For: "the suspension to be lifted, or the queue that evicted the cluster to take it back"},
	{Phase: lifecycle.Ended, For: "all objects and pods to be gone; a pass runs every 15 s"},
	{Phase: lifecycle.Done, For: "an edit of the spec"},
}
