package application

import (
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// A status write can fail after the actions of its plan took effect, because the spec was changed or the operator died.
// The next pass then decides from the old status. If the old status did not contain the reason of a deletion, the pass
// would mistake the operator's own deletion for one by somebody else: a driver that was deleted for a suspension would
// look like a failed run.
//
// Therefore, the reason of a deletion is stored before the deletion is requested. If the status write fails because of
// a conflict, nothing was deleted. If the operator dies after the status write, the next pass finds the reason.

// Exception describes deletions that may be requested before the status contains the phase that explains them. Unstored
// lists all exceptions.
type Exception struct {
	Parts []lifecycle.Part
	When  string
	Why   string // the conclusion of the next pass if the deletion took effect and the status write failed
}

// attemptParts lists the parts of an attempt whose deletion stops its driver. The operator deletes either all objects
// of the attempt at once, or first the driver pod alone.
var attemptParts = []lifecycle.Part{lifecycle.Attempt, lifecycle.DriverPod}

// Unstored lists the deletions that may be requested before the status contains the phase that explains them. Any other
// deletion must wait for the status write that stores this phase, and the next pass requests it. A test checks every
// decision of the state machine against this list.
var Unstored = []Exception{
	{attemptParts, "the application is being deleted",
		"The next pass decides the same: the API server has stored the deletion, and nobody can revert it."},
	{[]lifecycle.Part{lifecycle.Attempt}, "a live read found neither a driver nor a submitter of the attempt; in addition, either the attempt's number is stored, or no executor has this number",
		"The next pass decides the same: there is no driver whose end could be misread. No attempt number is reused while a pod has it."},
	{attemptParts, "the stored number is that of a later attempt",
		"The next pass decides the same: the stored number shows that the attempt is over."},
	{[]lifecycle.Part{lifecycle.QuotaRequest, lifecycle.QuotaReturn}, "a live read found no pod that uses quota",
		"The next pass decides the same, or requests quota again. No attempt ends."},
	{[]lifecycle.Part{lifecycle.DriverBudget}, "the spec no longer requests a budget",
		"The next pass decides the same, or creates the budget again if the spec requests it again. No attempt ends."},
}

// postponeDeletions removes deletions from a plan that enters a phase, except those in Unstored. The next pass requests
// them, because the phase is stored by then.
func (s *step) postponeDeletions() {
	if len(s.plan.Transitions) == 0 {
		return
	}

	s.plan.Actions = slices.DeleteFunc(s.plan.Actions, func(a lifecycle.Action) bool {
		if a.Verb != lifecycle.Delete || s.deletesLeftovers(a) {
			return false
		}

		s.requeueAfter(0)
		return true
	})
}

// deletesLeftovers reports whether a deletion removes only the remaining objects of an attempt that has neither a
// driver nor a submitter.
func (s *step) deletesLeftovers(a lifecycle.Action) bool {
	if a.Part != lifecycle.Attempt || !s.seen.Confirmed || s.seen.Driver(a.Attempt) != nil || s.seen.Submitter(a.Attempt) != nil {
		return false
	}
	return a.Attempt <= s.stored.Attempt ||
		!slices.ContainsFunc(s.seen.Executors, func(e lifecycle.Executor) bool { return e.Attempt == a.Attempt })
}
