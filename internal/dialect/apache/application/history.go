package application

import (
	"slices"
	"strconv"
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
	// maxHistory is the maximum number of states in a history. A history that is not trimmed contains the states of all
	// attempts. If it is full, the oldest states are dropped. The remaining states keep their numbers.
	maxHistory = 500
	// maxSnapshots is the maximum number of states that contain the driver pod's status. These are the newest ones.
	maxSnapshots = 10
)

// statesOf returns the states of a history in order.
func statesOf(history map[string]sparkv1.ApplicationState) []sparkv1.ApplicationState {
	var out []sparkv1.ApplicationState
	for _, key := range apache.KeysOf(history) {
		out = append(out, history[key])
	}
	return out
}

// nextKey returns the number of the next state. States are numbered consecutively across all attempts.
func nextKey(s *sparkv1.ApplicationStatus) int64 {
	last := int64(-1)
	for key := range s.StateTransitionHistory {
		last = max(last, apache.KeyOf(key))
	}

	if last < 0 && s.PreviousAttemptSummary != nil {
		for key := range s.PreviousAttemptSummary.StateTransitionHistory {
			last = max(last, apache.KeyOf(key))
		}
	}
	return last + 1
}

// current returns the current state in the status; "" if the status has no state.
func current(s *sparkv1.ApplicationStatus) sparkv1.ApplicationStateSummary {
	if s.CurrentState == nil {
		return ""
	}
	return s.CurrentState.CurrentStateSummary
}

// enter adds a state to the history and makes it the current state. The time of the new state is never before the time
// of the previous state, even if different machines, whose clocks differ, wrote the two states.
func enter(s *sparkv1.ApplicationStatus, state sparkv1.ApplicationStateSummary, message string, at time.Time, driver *runtime.RawExtension) {
	if s.CurrentState != nil {
		if last := apache.ParseTimestamp(s.CurrentState.LastTransitionTime); last.After(at) {
			at = last
		}
	}

	entry := sparkv1.ApplicationState{
		CurrentStateSummary: state, LastTransitionTime: apache.Timestamp(at), Message: lifecycle.Cut(message, apache.MaxMessage), LastObservedDriverStatus: driver,
	}

	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]sparkv1.ApplicationState{}
	}

	s.StateTransitionHistory[strconv.FormatInt(nextKey(s), 10)] = entry
	s.CurrentState = entry.DeepCopy()
	bound(s.StateTransitionHistory)
}

// bound removes the parts of a history that exceed the limits. A history of another operator may exceed them, because
// that operator's messages contain whole stack traces.
func bound(history map[string]sparkv1.ApplicationState) {
	keys := apache.KeysOf(history)
	for len(keys) > maxHistory {
		delete(history, keys[0])
		keys = keys[1:]
	}

	snapshots := 0
	for _, key := range slices.Backward(keys) {
		entry := history[key]
		if len(entry.Message) > apache.MaxMessage+len(lifecycle.CutMark) { // a shorter message is complete, or was cut before
			entry.Message = lifecycle.Cut(entry.Message, apache.MaxMessage)
		}

		if entry.LastObservedDriverStatus != nil {
			if snapshots++; snapshots > maxSnapshots {
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
