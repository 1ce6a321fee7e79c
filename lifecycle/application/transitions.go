package application

import "github.com/sparkoperator/spark-operator/lifecycle"

// Edge is a transition that Step may make from each of the phases in From to the phase To.
type Edge struct {
	From []lifecycle.Phase
	To   lifecycle.Phase
	When string // the event that leads to the transition, in a few words
}

// Groups of phases from which the same transitions start.
var (
	up = []lifecycle.Phase{
		lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below,
	}
	alive   = with(up, lifecycle.Unknown)
	settled = []lifecycle.Phase{lifecycle.Retained, lifecycle.Done}
	started = with(with(alive, lifecycle.Ended, lifecycle.Waiting), settled...)
	every   = with(started, lifecycle.Suspending, lifecycle.Resuming, lifecycle.New, lifecycle.Suspended, lifecycle.Editing)
)

func with(phases []lifecycle.Phase, more ...lifecycle.Phase) []lifecycle.Phase {
	return append(append([]lifecycle.Phase{}, phases...), more...)
}

func only(phase lifecycle.Phase) []lifecycle.Phase { return []lifecycle.Phase{phase} }

// Transitions lists all transitions that Step may make. A test checks every decision of the state machine against this
// list, and the diagram in docs/states.md is drawn from it.
var Transitions = []Edge{
	{only(lifecycle.New), lifecycle.Launched, "seen for the first time"},
	{only(lifecycle.New), lifecycle.Ended, "the spec is invalid, or the submission is refused"},
	{only(lifecycle.New), lifecycle.Suspended, "created suspended"},

	{only(lifecycle.Launched), lifecycle.Started, "the driver container runs"},
	{only(lifecycle.Started), lifecycle.Ready, "the driver pod is Ready"},
	{only(lifecycle.Ready), lifecycle.Scaling, "the first executors are there"},
	{only(lifecycle.Ready), lifecycle.Running, "enough executors run, or none are awaited"},
	{only(lifecycle.Scaling), lifecycle.Running, "enough executors run"},
	{[]lifecycle.Phase{lifecycle.Ready, lifecycle.Scaling}, lifecycle.Partial, "enough executors run to begin, fewer than there may be"},
	{[]lifecycle.Phase{lifecycle.Ready, lifecycle.Scaling}, lifecycle.Below, "enough executors run to begin, fewer than there must be"},
	{[]lifecycle.Phase{lifecycle.Running, lifecycle.Partial}, lifecycle.Below, "fewer executors run than there must be"},
	{[]lifecycle.Phase{lifecycle.Running, lifecycle.Below}, lifecycle.Partial, "fewer executors run than there may be"},
	{[]lifecycle.Phase{lifecycle.Partial, lifecycle.Below}, lifecycle.Running, "enough executors run"},
	{up, lifecycle.Unknown, "the driver's node is lost"},
	{only(lifecycle.Unknown), lifecycle.Launched, "the node is back, the driver waits"},
	{only(lifecycle.Unknown), lifecycle.Started, "the node is back, the driver runs"},
	{only(lifecycle.Unknown), lifecycle.Ready, "the node is back, the driver is Ready"},
	{only(lifecycle.Unknown), lifecycle.Scaling, "the node is back, executors are there"},
	{only(lifecycle.Unknown), lifecycle.Running, "the node is back, enough executors run"},
	{only(lifecycle.Unknown), lifecycle.Partial, "the node is back, fewer executors run than there may be"},
	{only(lifecycle.Unknown), lifecycle.Below, "the node is back, fewer executors run than there must be"},
	{alive, lifecycle.Ended, "the driver ended, is gone, was never submitted, or a deadline passed"},

	{only(lifecycle.Ended), lifecycle.Waiting, "the restart policy wants another attempt"},
	{only(lifecycle.Ended), lifecycle.Retained, "over for good, the driver pod is kept, or the one that failed to submit it"},
	{only(lifecycle.Ended), lifecycle.Done, "over for good, there is no driver pod, or nothing is retained and all of it is gone"},
	{only(lifecycle.Waiting), lifecycle.Launched, "the interval is over and the last attempt is gone"},
	{only(lifecycle.Waiting), lifecycle.Ended, "the submission is refused"},
	{only(lifecycle.Waiting), lifecycle.Retained, "the restart policy was changed and wants no more, the driver pod is kept"},
	{only(lifecycle.Waiting), lifecycle.Done, "the restart policy was changed and wants no more"},
	{only(lifecycle.Retained), lifecycle.Done, "the time of the retention is over, or its policy was changed, and all of it is gone"},

	{with(alive, lifecycle.Waiting, lifecycle.Editing), lifecycle.Suspending, "suspended"},
	{with(settled, lifecycle.Ended), lifecycle.Suspending, "the spec was edited, and the application is suspended"},
	{only(lifecycle.Suspending), lifecycle.Suspended, "everything of the attempt is gone"},
	{only(lifecycle.Suspended), lifecycle.Resuming, "the suspension is lifted"},
	{only(lifecycle.Resuming), lifecycle.Launched, "nothing of the last attempt is left"},
	{only(lifecycle.Resuming), lifecycle.Ended, "the submission is refused"},
	{only(lifecycle.Resuming), lifecycle.Suspended, "suspended again"},

	{started, lifecycle.Editing, "the spec was edited"},
	{only(lifecycle.Editing), lifecycle.Launched, "everything of the old spec is gone"},
	{only(lifecycle.Editing), lifecycle.Ended, "the spec is invalid, or the submission is refused"},

	{every, lifecycle.Launched, "a driver of a newer attempt is there: its launch was not remembered"},
}

// Wait describes what an application in a given phase waits for, and what limits the time of the wait.
type Wait struct {
	Phase lifecycle.Phase
	For   string
}

// Waits has an entry for each phase in which an application can stay.
var Waits = []Wait{
	{lifecycle.New, "the API server to take the submission, where it does not at once; bounded by driverStart"},
	{lifecycle.Launched, "the driver container; bounded by driverStart, which does not count behind scheduling gates, and by run. A driver pod that does not show is looked for live. Where " +
		"spark-submit makes it, first the pod that runs that, which has a deadline of its own; if it ends half way, for its driver to go"},
	{lifecycle.Started, "the driver pod's readiness; bounded by driverReady and run"},
	{lifecycle.Ready, "the first executor; bounded by executorsStart and run. What keeps it from being made is asked for"},
	{lifecycle.Scaling, "the initial executors; bounded by executorsStart, which may count anew from here, and run. What keeps them from being made is " +
		"asked for"},
	{lifecycle.Running, "the driver's end; bounded by run. What an executor that does not start waits for is told meanwhile"},
	{lifecycle.Partial, "more executors, or the driver's end; bounded by run"},
	{lifecycle.Below, "executors that must be there, or the driver's end; bounded by run. Nothing ends an application for it"},
	{lifecycle.Unknown, "the driver's node to answer, or its pod to be gone; bounded by run. Nothing else is concluded before"},
	{lifecycle.Ended, "the driver of an attempt that ran out of time, and, where nothing is retained, everything of the last attempt; deleted again " +
		"every 15 s until it is gone, also where its node does not answer"},
	{lifecycle.Waiting, "the retry's timer, then the last attempt's objects; deleted again every 15 s until they are gone"},
	{lifecycle.Suspending, "the attempt's objects; deleted again every 15 s until they are gone"},
	{lifecycle.Suspended, "the suspension to be lifted"},
	{lifecycle.Resuming, "what is left of the last attempt; deleted again every 15 s until it is gone"},
	{lifecycle.Editing, "the objects of the old spec; deleted again every 15 s until they are gone"},
	{lifecycle.Retained, "an edit of the spec, the end of the retention (then all of it is deleted, again every 15 s until it is gone), or the end of the " +
		"time to live"},
	{lifecycle.Done, "an edit of the spec, or the end of the time to live"},
}
