package connect

import (
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
)

// These are groups of phases from which the same transitions start.
var (
	alive   = []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Running, lifecycle.Unknown}
	settled = []lifecycle.Phase{lifecycle.Retained, lifecycle.Done}
	started = slices.Concat(alive, settled, []lifecycle.Phase{lifecycle.Ended, lifecycle.Waiting})
	every   = slices.Concat(started, []lifecycle.Phase{lifecycle.Suspending, lifecycle.Resuming, lifecycle.New, lifecycle.Suspended, lifecycle.Editing})
)

func only(phase lifecycle.Phase) []lifecycle.Phase { return []lifecycle.Phase{phase} }

// Transitions lists all transitions that Step may make. A test checks every decision of the state machine against this
// list.
var Transitions = []application.Edge{
	{From: only(lifecycle.New), To: lifecycle.Launched, When: "the first server is launched"},
	{From: only(lifecycle.New), To: lifecycle.Ended, When: "the spec is invalid, or the API server rejects an object"},
	{From: only(lifecycle.New), To: lifecycle.Suspended, When: "the server was created suspended"},

	{From: only(lifecycle.Launched), To: lifecycle.Started, When: "the server's container runs"},
	{From: only(lifecycle.Started), To: lifecycle.Running, When: "the server's pod is Ready"},
	{From: only(lifecycle.Running), To: lifecycle.Started, When: "the server's pod is no longer Ready, or is being deleted"},
	{From: []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Running}, To: lifecycle.Unknown, When: "the server's node is lost"},
	{From: only(lifecycle.Unknown), To: lifecycle.Launched, When: "the node is back, the server's container waits"},
	{From: only(lifecycle.Unknown), To: lifecycle.Started, When: "the node is back, the server's container runs"},
	{From: only(lifecycle.Unknown), To: lifecycle.Running, When: "the node is back, the server's pod is Ready"},
	{From: alive, To: lifecycle.Ended, When: "the server ended or is gone"},

	{From: only(lifecycle.Ended), To: lifecycle.Waiting, When: "another server is made"},
	{From: only(lifecycle.Ended), To: lifecycle.Retained, When: "the spec is invalid, and the pod of the last server is kept"},
	{From: only(lifecycle.Ended), To: lifecycle.Done, When: "the spec is invalid, and there is no pod"},
	{From: only(lifecycle.Waiting), To: lifecycle.Launched, When: "the back-off is over, and all objects of the last server are gone"},
	{From: only(lifecycle.Waiting), To: lifecycle.Ended, When: "the spec is invalid, or the API server rejects an object"},
	{From: only(lifecycle.Waiting), To: lifecycle.Retained, When: "the spec has become invalid, and the pod of the last server is kept"},
	{From: only(lifecycle.Waiting), To: lifecycle.Done, When: "the spec has become invalid, and there is no pod"},
	{From: settled, To: lifecycle.Waiting, When: "the spec has become valid without an edit"},

	{From: slices.Concat(alive, []lifecycle.Phase{lifecycle.Waiting, lifecycle.Editing}), To: lifecycle.Suspending, When: "the server is suspended"},
	{From: slices.Concat(settled, only(lifecycle.Ended)), To: lifecycle.Suspending, When: "the spec was edited or a restart was requested, and the server is suspended"},
	{From: only(lifecycle.Suspending), To: lifecycle.Suspended, When: "all objects of the server are gone"},
	{From: only(lifecycle.Suspended), To: lifecycle.Resuming, When: "the suspension is lifted"},
	{From: only(lifecycle.Resuming), To: lifecycle.Launched, When: "all objects of the last server are gone"},
	{From: only(lifecycle.Resuming), To: lifecycle.Ended, When: "the spec is invalid, or the API server rejects an object"},
	{From: only(lifecycle.Resuming), To: lifecycle.Suspended, When: "the server is suspended again"},

	{From: started, To: lifecycle.Editing, When: "the spec was edited; a running server is kept while the edited spec is invalid"},
	{From: only(lifecycle.Editing), To: lifecycle.Launched, When: "all objects of the old spec are gone"},
	{From: only(lifecycle.Editing), To: lifecycle.Ended, When: "the spec is invalid, or the API server rejects an object"},

	{From: slices.Concat(alive, settled, only(lifecycle.Ended)), To: lifecycle.Waiting, When: "a restart was requested, and the spec is valid"},

	{From: every, To: lifecycle.Launched, When: "a pod of a newer attempt exists, and its launch is not stored or another operator made it"},
}

// Waits has an entry for each phase in which a server can stay. The entry says what the server waits for.
var Waits = []application.Wait{
	{Phase: lifecycle.New, For: "the API server to accept the server's objects, if it cannot do that at once"},
	{Phase: lifecycle.Launched, For: "the server's container. If the pod does not appear, a live read decides"},
	{Phase: lifecycle.Started, For: "the readiness of the pod"},
	{Phase: lifecycle.Running, For: "an edit, a restart request, a suspension, or the server's end. If executors are not created, the operator queries the reason"},
	{Phase: lifecycle.Unknown, For: "the server's node to respond, or the pod to be gone. Until then nothing is concluded about the server"},
	{Phase: lifecycle.Ended, For: "the pod of a rejected server to be gone, if it still runs"},
	{Phase: lifecycle.Waiting, For: "the end of the back-off, then the last server's objects to be gone"},
	{Phase: lifecycle.Suspending, For: "the server's objects to be gone"},
	{Phase: lifecycle.Suspended, For: "the suspension to be lifted"},
	{Phase: lifecycle.Resuming, For: "the remaining objects of the last server to be gone"},
	{Phase: lifecycle.Editing, For: "the objects of the old spec to be gone"},
	{Phase: lifecycle.Retained, For: "an edit of the spec, a restart request, or a suspension"},
	{Phase: lifecycle.Done, For: "an edit of the spec, a restart request, or a suspension"},
}
