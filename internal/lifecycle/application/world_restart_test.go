package application

import (
	"slices"
	"strconv"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// requestRestart simulates the owner of the application, who requests a restart or removes the request.
func (w *world) requestRestart() {
	w.edits++ // a restart resets the counts of failures, as an edit does
	if w.app.RestartRequest != "" && w.Chance(0.2) {
		w.app.RestartRequest = ""
		w.Tell("user: removes the restart request")
		return
	}
	w.requests++

	w.app.RestartRequest = "r" + strconv.Itoa(w.requests)
	for attempt := range w.carried {
		w.asked[w.app.RestartRequest] = max(w.asked[w.app.RestartRequest], attempt)
	}

	w.Tell("user: restart request %s", w.app.RestartRequest)
}

// checkRestarts fails if a plan replaces a running attempt because of a restart request that had led to this attempt.
func (w *world) checkRestarts(plan lifecycle.Plan) {
	for _, tr := range plan.Transitions {
		if carried, launched := w.carried[tr.Attempt]; launched && isRestart(tr) && tr.From.Live() &&
			carried == w.app.RestartRequest {
			w.Fail("attempt %d was created for the request %s, and is replaced because of it", tr.Attempt, carried)
		}
	}
}

// restartsDone checks at the end of a life cycle that no restart request was lost. The last attempt must have been
// created after the last request, and must have that request as its reason.
func (w *world) restartsDone() {
	request := w.app.RestartRequest
	if w.gone || request == "" || w.app.Deleting {
		return
	}

	if w.stored.RestartRequest != request {
		w.Fail("the request %s was never carried out; the last one is %s", request, w.stored.RestartRequest)
	}

	carried, launched := w.carried[w.stored.Attempt]
	if late := w.stored.Attempt <= w.asked[request] || carried != "" && carried != request; launched &&
		w.stored.Phase.Terminal() && late {
		w.Fail("finished in attempt %d, which was created for %q; the last request is %s", w.stored.Attempt, carried,
			request)
	}
}

func isRestart(tr lifecycle.Transition) bool {
	return tr.To == lifecycle.Waiting && tr.Cause.Reason == lifecycle.ReasonRestartRequested
}

// restartRequested reports whether a plan carries out a restart request.
func restartRequested(plan lifecycle.Plan) bool {
	return slices.ContainsFunc(plan.Notices,
		func(n lifecycle.Notice) bool { return n.Cause.Reason == lifecycle.ReasonRestartRequested })
}

// restart updates the ledger for a restart request. It resets the counts, and allows the next attempt at once.
func (l *ledger) restart(w *world) {
	l.counts, l.failed, l.due = [3]int64{}, false, w.Now
}

// requested reports whether there is a restart request that no pass has carried out yet.
func (w *world) requested() bool {
	return lifecycle.RestartRequested(w.stored.RestartRequest, w.app.RestartRequest)
}
