package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Limits of a status. The API server rejects a custom resource above 1.5 MB, and then no decision could be stored. The
// history of an application whose executors come and go grows all the time, because each threshold that is crossed adds
// a state.
const (
	// MaxHistory is the maximum number of states in a history. A history that is not trimmed contains the states of all
	// attempts. If it is full, the oldest states are dropped. The remaining states keep their numbers.
	MaxHistory = 500
	// MaxSnapshots is the maximum number of states that contain the driver pod's status. These are the newest ones.
	MaxSnapshots = 10
)

// States returns the states of a history in order.
func States(history map[string]sparkv1.ApplicationState) []sparkv1.ApplicationState {
	var out []sparkv1.ApplicationState
	for _, key := range apache.KeysOf(history) {
		out = append(out, history[key])
	}
	return out
}

// Current returns the current state in the status; "" if the status has no state.
func Current(s *sparkv1.ApplicationStatus) sparkv1.ApplicationStateSummary {
	if s.CurrentState == nil {
		return ""
	}
	return s.CurrentState.CurrentStateSummary
}

// enter adds a state to the history and makes it the current state.
func enter(s *sparkv1.ApplicationStatus, state sparkv1.ApplicationStateSummary, message string, at time.Time, driver *runtime.RawExtension) {
	last, histories := "", []map[string]sparkv1.ApplicationState{s.StateTransitionHistory}
	if s.CurrentState != nil {
		last = s.CurrentState.LastTransitionTime
	}

	if s.PreviousAttemptSummary != nil {
		histories = append(histories, s.PreviousAttemptSummary.StateTransitionHistory)
	}

	key, timestamp := apache.NextEntry(at, last, histories...)
	entry := sparkv1.ApplicationState{
		CurrentStateSummary: state, LastTransitionTime: timestamp, Message: lifecycle.Cut(message, apache.MaxMessage), LastObservedDriverStatus: driver,
	}

	if state == sparkv1.ApplicationSuspended {
		entry.SuspendReason = sparkv1.SpecSuspend
	}

	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]sparkv1.ApplicationState{}
	}

	s.StateTransitionHistory[key] = entry
	s.CurrentState = entry.DeepCopy()
	bound(s.StateTransitionHistory)
}

// explainSuspension changes the state Suspended that was just entered, if a queue is its reason.
func explainSuspension(s *sparkv1.ApplicationStatus, why lifecycle.Cause) {
	if why.Reason != lifecycle.ReasonQueueEviction {
		return
	}

	s.CurrentState.SuspendReason = sparkv1.KueueEviction
	s.CurrentState.Message = lifecycle.Cut(why.Message+"; the objects of its attempt are deleted, and it is queued again", apache.MaxMessage)
	keys := apache.KeysOf(s.StateTransitionHistory)
	s.StateTransitionHistory[keys[len(keys)-1]] = *s.CurrentState.DeepCopy()
}

// bound removes the parts of a history that exceed the limits. A history of another operator may exceed them, because
// that operator's messages contain whole stack traces.
func bound(history map[string]sparkv1.ApplicationState) {
	snapshots := 0
	for _, key := range slices.Backward(apache.DropOldest(history, MaxHistory)) {
		entry := history[key]
		if len(entry.Message) > apache.MaxMessage+len(lifecycle.CutMark) { // a shorter message is complete, or was cut before
			entry.Message = lifecycle.Cut(entry.Message, apache.MaxMessage)
		}

		if entry.LastObservedDriverStatus != nil {
			if snapshots++; snapshots > MaxSnapshots {
				entry.LastObservedDriverStatus = nil
			}
		}

		history[key] = entry
	}
}

// rollOver prepares the status for the next attempt: it stores the given summary of the ended attempt as
// previousAttemptSummary. If trim is true, it also moves the states of the ended attempt from the history in the status
// into previousAttemptSummary.
func rollOver(s *sparkv1.ApplicationStatus, ended sparkv1.AttemptInfo, trim bool) {
	previous := &sparkv1.ApplicationAttemptSummary{AttemptInfo: &ended}
	if trim {
		previous.StateTransitionHistory, s.StateTransitionHistory = s.StateTransitionHistory, nil
	}

	s.PreviousAttemptSummary = previous
}
