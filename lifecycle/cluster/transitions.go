package cluster

import (
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// Groups of phases from which the same transitions start.
var (
	asking   = []lifecycle.Phase{lifecycle.New, lifecycle.Resuming, lifecycle.Waiting}
	starting = []lifecycle.Phase{lifecycle.Launched, lifecycle.Started}
)

func only(phase lifecycle.Phase) []lifecycle.Phase { return []lifecycle.Phase{phase} }

// Transitions lists all transitions that Step may make. A test checks every decision of the state machine against this
// list.
var Transitions = []application.Edge{
	{From: asking, To: lifecycle.Launched, When: "all objects stand"},
	{From: []lifecycle.Phase{lifecycle.New, lifecycle.Resuming}, To: lifecycle.Waiting, When: "the API server refuses an object"},
	{From: asking, To: lifecycle.Ended, When: "the spec is invalid"},
	{From: only(lifecycle.Launched), To: lifecycle.Started, When: "the master is ready, workers are not"},
	{From: only(lifecycle.Started), To: lifecycle.Launched, When: "the master is not ready any more"},
	{From: starting, To: lifecycle.Running, When: "the master and enough workers are ready"},
	{From: only(lifecycle.Launched), To: lifecycle.Waiting, When: "the API server refuses an object that is gone, or as it was edited"},
	{From: only(lifecycle.Started), To: lifecycle.Waiting, When: "the API server refuses an object that is gone, or as it was edited"},
	{From: only(lifecycle.Launched), To: lifecycle.Ended, When: "no master is ready in time, or the spec was edited and is invalid"},
	{From: only(lifecycle.Started), To: lifecycle.Ended, When: "the spec was edited and is invalid"},
	{From: only(lifecycle.Ended), To: lifecycle.Done, When: "nothing is left"},
	{From: only(lifecycle.Done), To: lifecycle.Resuming, When: "the spec was edited, or can be used although nobody edited it"},
}

// Waits has an entry for each phase in which a cluster can stay. The entry says what the cluster waits for.
var Waits = []application.Wait{
	{Phase: lifecycle.New, For: "the API server to take the objects, where it does not at once"},
	{Phase: lifecycle.Resuming, For: "the same, after an edit of what was over"},
	{Phase: lifecycle.Waiting, For: "the API server to take the object that it refused; asked again, ever later, every 5 min at last, and at once after an edit"},
	{Phase: lifecycle.Launched, For: "the master, within its time"},
	{Phase: lifecycle.Started, For: "as many workers as are wanted"},
	{Phase: lifecycle.Running, For: "an edit. What is lost is told, and made again by Kubernetes"},
	{Phase: lifecycle.Ended, For: "the objects and pods to be gone; looked at again every 15 s"},
	{Phase: lifecycle.Done, For: "an edit of the spec"},
}
