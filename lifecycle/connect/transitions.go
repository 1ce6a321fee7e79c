package connect

import (
	"slices"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// Groups of phases from which the same transitions start.
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
	{From: only(lifecycle.New), To: lifecycle.Launched, When: "seen for the first time"},
	{From: only(lifecycle.New), To: lifecycle.Ended, When: "the spec is invalid, or the server is refused"},
	{From: only(lifecycle.New), To: lifecycle.Suspended, When: "created suspended"},

	{From: only(lifecycle.Launched), To: lifecycle.Started, When: "the server's container runs"},
	{From: only(lifecycle.Started), To: lifecycle.Running, When: "the server's pod is Ready"},
	{From: only(lifecycle.Running), To: lifecycle.Started, When: "the server's pod is not Ready any more, or is being deleted"},
	{From: []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Running}, To: lifecycle.Unknown, When: "the server's node is lost"},
	{From: only(lifecycle.Unknown), To: lifecycle.Launched, When: "the node is back, the server waits"},
	{From: only(lifecycle.Unknown), To: lifecycle.Started, When: "the node is back, the server runs"},
	{From: only(lifecycle.Unknown), To: lifecycle.Running, When: "the node is back, the server's pod is Ready"},
	{From: alive, To: lifecycle.Ended, When: "the server ended or is gone"},

	{From: only(lifecycle.Ended), To: lifecycle.Waiting, When: "another is to be made"},
	{From: only(lifecycle.Ended), To: lifecycle.Retained, When: "the spec is invalid, the pod of the last server is kept"},
	{From: only(lifecycle.Ended), To: lifecycle.Done, When: "the spec is invalid, there is no pod"},
	{From: only(lifecycle.Waiting), To: lifecycle.Launched, When: "the back-off is over and the last server is gone"},
	{From: only(lifecycle.Waiting), To: lifecycle.Ended, When: "the server is refused"},
	{From: only(lifecycle.Waiting), To: lifecycle.Retained, When: "the spec cannot be used any more, the pod of the last server is kept"},
	{From: only(lifecycle.Waiting), To: lifecycle.Done, When: "the spec cannot be used any more"},
	{From: settled, To: lifecycle.Waiting, When: "the spec can be used although nobody edited it"},

	{From: slices.Concat(alive, []lifecycle.Phase{lifecycle.Waiting, lifecycle.Editing}), To: lifecycle.Suspending, When: "suspended"},
	{From: slices.Concat(settled, only(lifecycle.Ended)), To: lifecycle.Suspending, When: "the spec was edited, and the server is suspended"},
	{From: only(lifecycle.Suspending), To: lifecycle.Suspended, When: "everything of the server is gone"},
	{From: only(lifecycle.Suspended), To: lifecycle.Resuming, When: "the suspension is lifted"},
	{From: only(lifecycle.Resuming), To: lifecycle.Launched, When: "nothing of the last server is left"},
	{From: only(lifecycle.Resuming), To: lifecycle.Ended, When: "the server is refused"},
	{From: only(lifecycle.Resuming), To: lifecycle.Suspended, When: "suspended again"},

	{From: started, To: lifecycle.Editing, When: "the spec was edited; a server that goes on is kept while none can be made of it"},
	{From: only(lifecycle.Editing), To: lifecycle.Launched, When: "everything of the old spec is gone"},
	{From: only(lifecycle.Editing), To: lifecycle.Ended, When: "the spec is invalid, or the server is refused"},

	{From: every, To: lifecycle.Launched, When: "a server of a newer attempt is there: its launch was not remembered, or another operator made it"},
}

// Waits has an entry for each phase in which a server can stay. The entry says what the server waits for.
var Waits = []application.Wait{
	{Phase: lifecycle.New, For: "the API server to take the server's objects, where it does not at once"},
	{Phase: lifecycle.Launched, For: "the server's container. A pod that does not show is looked for live"},
	{Phase: lifecycle.Started, For: "the pod's readiness"},
	{Phase: lifecycle.Running, For: "an edit, a suspension, or the server's end. What keeps executors from being made is asked for meanwhile"},
	{Phase: lifecycle.Unknown, For: "the server's node to answer, or its pod to be gone. Nothing else is concluded before"},
	{Phase: lifecycle.Ended, For: "what may still run of a server that was refused; deleted again every 15 s until it is gone"},
	{Phase: lifecycle.Waiting, For: "the back-off, then the last server's objects; deleted again every 15 s until they are gone"},
	{Phase: lifecycle.Suspending, For: "the server's objects; deleted again every 15 s until they are gone"},
	{Phase: lifecycle.Suspended, For: "the suspension to be lifted"},
	{Phase: lifecycle.Resuming, For: "what is left of the last server; deleted again every 15 s until it is gone"},
	{Phase: lifecycle.Editing, For: "the objects of the old spec; deleted again every 15 s until they are gone"},
	{Phase: lifecycle.Retained, For: "an edit of the spec, or a suspension"},
	{Phase: lifecycle.Done, For: "an edit of the spec, or a suspension"},
}
