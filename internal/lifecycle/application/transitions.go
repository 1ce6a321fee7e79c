package application

import "github.com/sparkoperator/spark-operator/internal/lifecycle"

// Edge lists transitions to the same phase: Step may enter the phase To from each of the phases in From.
type Edge struct {
	From []lifecycle.Phase
	To   lifecycle.Phase
	When string // the event that leads to the transition, in a few words
}

// These are groups of phases from which the same transitions start.
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
	{only(lifecycle.New), lifecycle.Launched, "the first attempt is launched"},
	{only(lifecycle.New), lifecycle.Ended, "the spec is invalid, or the submission is rejected"},
	{only(lifecycle.New), lifecycle.Suspended, "the application was created suspended"},

	{only(lifecycle.Launched), lifecycle.Started, "the driver container runs"},
	{only(lifecycle.Started), lifecycle.Ready, "the driver pod is Ready"},
	{only(lifecycle.Ready), lifecycle.Scaling, "the first executors exist"},
	{only(lifecycle.Ready), lifecycle.Running, "enough executors run, or none are required"},
	{only(lifecycle.Scaling), lifecycle.Running, "enough executors run"},
	{[]lifecycle.Phase{lifecycle.Ready, lifecycle.Scaling}, lifecycle.Partial, "the start is over with fewer executors than the maximum"},
	{[]lifecycle.Phase{lifecycle.Ready, lifecycle.Scaling}, lifecycle.Below, "the start is over with fewer executors than the minimum"},
	{[]lifecycle.Phase{lifecycle.Running, lifecycle.Partial}, lifecycle.Below, "fewer executors run than the minimum"},
	{[]lifecycle.Phase{lifecycle.Running, lifecycle.Below}, lifecycle.Partial, "fewer executors run than the maximum, but at least the minimum"},
	{[]lifecycle.Phase{lifecycle.Partial, lifecycle.Below}, lifecycle.Running, "enough executors run"},
	{up, lifecycle.Unknown, "the driver's node is lost"},
	{only(lifecycle.Unknown), lifecycle.Launched, "the node is back, the driver container waits"},
	{only(lifecycle.Unknown), lifecycle.Started, "the node is back, the driver container runs"},
	{only(lifecycle.Unknown), lifecycle.Ready, "the node is back, the driver pod is Ready"},
	{only(lifecycle.Unknown), lifecycle.Scaling, "the node is back, the first executors exist"},
	{only(lifecycle.Unknown), lifecycle.Running, "the node is back, enough executors run"},
	{only(lifecycle.Unknown), lifecycle.Partial, "the node is back, fewer executors run than the maximum"},
	{only(lifecycle.Unknown), lifecycle.Below, "the node is back, fewer executors run than the minimum"},
	{alive, lifecycle.Ended, "the driver ended, is gone or was never submitted, or a deadline passed"},

	{only(lifecycle.Ended), lifecycle.Waiting, "the restart policy allows another attempt"},
	{only(lifecycle.Ended), lifecycle.Retained, "no attempt follows, and the driver pod or the pod that failed to submit it is kept"},
	{only(lifecycle.Ended), lifecycle.Done, "no attempt follows, and nothing is kept (there is no pod to keep, or all objects are gone because nothing is retained)"},
	{only(lifecycle.Waiting), lifecycle.Launched, "the interval is over, and all objects of the last attempt are gone"},
	{only(lifecycle.Waiting), lifecycle.Ended, "the spec is invalid, or the submission is rejected"},
	{only(lifecycle.Waiting), lifecycle.Retained, "the changed restart policy allows no other attempt, and the driver pod is kept"},
	{only(lifecycle.Waiting), lifecycle.Done, "the changed restart policy allows no other attempt, and no pod is kept"},
	{only(lifecycle.Retained), lifecycle.Done, "all objects are gone, after the end of the retention or a change of its policy"},

	{with(alive, lifecycle.Waiting, lifecycle.Editing), lifecycle.Suspending, "the application is suspended, or its queue evicts it"},
	{with(settled, lifecycle.Ended), lifecycle.Suspending, "the spec was edited or a restart was requested, and the application is suspended"},
	{only(lifecycle.Suspending), lifecycle.Suspended, "all objects of the attempt are gone"},
	{only(lifecycle.Suspending), lifecycle.Ended, "the driver exited with code 0 before the suspension stopped it"},
	{only(lifecycle.Suspended), lifecycle.Resuming, "the suspension is lifted, or the evicted application is in the queue again"},
	{only(lifecycle.Resuming), lifecycle.Launched, "all objects of the last attempt are gone"},
	{only(lifecycle.Resuming), lifecycle.Ended, "the spec is invalid, or the submission is rejected"},
	{only(lifecycle.Resuming), lifecycle.Suspended, "the application is suspended again"},

	{started, lifecycle.Editing, "the spec was edited"},
	{only(lifecycle.Editing), lifecycle.Launched, "all objects of the old spec are gone"},
	{only(lifecycle.Editing), lifecycle.Ended, "the spec is invalid, or the submission is rejected"},

	{with(with(alive, lifecycle.Ended), settled...), lifecycle.Waiting, "a restart was requested"},

	{every, lifecycle.Launched, "a pod of a newer attempt exists, and its launch is not stored"},
}

// Wait describes what an application in a given phase waits for, and what limits the duration of the wait.
type Wait struct {
	Phase lifecycle.Phase
	For   string
}

// Waits has an entry for each phase in which an application can stay.
var Waits = []Wait{
	{lifecycle.New, "the API server to accept the submission, if it cannot do that at once; bounded by driverStart. Before that: quota of the queue, if there is one"},
	{lifecycle.Launched, "the driver container; bounded by run, and by driverStart without the time behind scheduling gates. If the driver pod does not " +
		"appear, a live read decides. If spark-submit creates it, the phase first waits for the pod that runs spark-submit, which has a deadline of its own"},
	{lifecycle.Started, "the readiness of the driver pod; bounded by driverReady and run"},
	{lifecycle.Ready, "the first executor; bounded by run, and by executorsStart without the time behind scheduling gates. If no executor is created, the operator queries the reason"},
	{lifecycle.Scaling, "the initial executors; bounded by run, and by executorsStart without the time behind scheduling gates, which may restart at the entry of this phase. If too few executors " +
		"are created, the operator queries the reason"},
	{lifecycle.Running, "the driver's end; bounded by run. Meanwhile the operator reports why an executor does not start or is not created"},
	{lifecycle.Partial, "more executors, or the driver's end; bounded by run"},
	{lifecycle.Below, "the minimum of executors, or the driver's end; bounded by run. The shortage does not end the application"},
	{lifecycle.Unknown, "the driver's node to respond, or the driver pod to be gone; bounded by run. Until then nothing is concluded about the driver"},
	{lifecycle.Ended, "the driver to be gone if it still runs after a deadline or an interrupted submission. If nothing is retained, also all other " +
		"objects of the attempt to be gone. Deletions are repeated even if the node does not respond"},
	{lifecycle.Waiting, "the end of the interval, then the last attempt's objects to be gone, then quota of the queue, if there is one"},
	{lifecycle.Suspending, "the attempt's objects to be gone"},
	{lifecycle.Suspended, "the suspension to be lifted, or the queue that evicted the application to take it back"},
	{lifecycle.Resuming, "the remaining objects of the last attempt to be gone, then quota of the queue, if there is one"},
	{lifecycle.Editing, "the objects of the old spec to be gone, then quota of the queue, if there is one"},
	{lifecycle.Retained, "an edit of the spec, a restart request, the end of the retention, or the end of the time to live. After the end of the retention, all objects to be gone"},
	{lifecycle.Done, "an edit of the spec, a restart request, or the end of the time to live"},
}
