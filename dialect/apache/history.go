package apache

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// What bounds a status: a custom resource that outgrows what the API server takes (1.5 MB) could not be written any more, and nothing would ever be
// remembered again. An application that loses and gets executors enters a state with each of them.
const (
	// maxHistory is how many states a history has, of all attempts together where it is not trimmed. The first go, and numbers go on.
	maxHistory = 500
	// maxSnapshots is how many of them have the status of the driver's pod: the last ones.
	maxSnapshots = 10
	// maxMessage bounds a state's message, in bytes. Conditions have the whole of the last.
	maxMessage = 1024
)

// timestamp is a time as this API has it: RFC 3339 in UTC, always with fractions, in microseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// parseTimestamp reads a time of this API, also as Java writes it, as precisely as a status can hold it; zero where it is none.
func parseTimestamp(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// keyOf is the number of an entry of a history; -1 for a key that is none.
func keyOf(key string) int64 {
	n, err := strconv.ParseInt(key, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// keysOf are the keys of a history in the order of its states. What is no number was written by nobody who keeps a history, and is left alone.
func keysOf[S any](history map[string]S) []string {
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(history)), func(key string) bool { return keyOf(key) < 0 })
	slices.SortFunc(keys, func(a, b string) int { return int(min(max(keyOf(a)-keyOf(b), -1), 1)) })
	return keys
}

// statesOf is a history in its order.
func statesOf(history map[string]sparkv1.ApplicationState) []sparkv1.ApplicationState {
	var out []sparkv1.ApplicationState
	for _, key := range keysOf(history) {
		out = append(out, history[key])
	}
	return out
}

// nextKey is the number of the next state. Numbers go on through all attempts.
func nextKey(s *sparkv1.ApplicationStatus) int64 {
	last := int64(-1)
	for key := range s.StateTransitionHistory {
		last = max(last, keyOf(key))
	}
	if last < 0 && s.PreviousAttemptSummary != nil {
		for key := range s.PreviousAttemptSummary.StateTransitionHistory {
			last = max(last, keyOf(key))
		}
	}
	return last + 1
}

// current is the state stored last; "" where there is none.
func current(s *sparkv1.ApplicationStatus) sparkv1.ApplicationStateSummary {
	if s.CurrentState == nil {
		return ""
	}
	return s.CurrentState.CurrentStateSummary
}

// enter adds a state: to the history, and as the current one. Times never go back, whatever other machines' clocks say.
func enter(s *sparkv1.ApplicationStatus, state sparkv1.ApplicationStateSummary, message string, at time.Time, driver *runtime.RawExtension) {
	if s.CurrentState != nil {
		if last := parseTimestamp(s.CurrentState.LastTransitionTime); last.After(at) {
			at = last
		}
	}
	entry := sparkv1.ApplicationState{
		CurrentStateSummary: state, LastTransitionTime: timestamp(at), Message: cut(message, maxMessage), LastObservedDriverStatus: driver,
	}
	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]sparkv1.ApplicationState{}
	}
	s.StateTransitionHistory[strconv.FormatInt(nextKey(s), 10)] = entry
	s.CurrentState = entry.DeepCopy()
	bound(s.StateTransitionHistory)
}

// bound drops what a history has too much of, which another operator may have left: its messages hold whole stack traces.
func bound(history map[string]sparkv1.ApplicationState) {
	keys := keysOf(history)
	for len(keys) > maxHistory {
		delete(history, keys[0])
		keys = keys[1:]
	}
	snapshots := 0
	for _, key := range slices.Backward(keys) {
		entry := history[key]
		if len(entry.Message) > maxMessage+len(cutMark) { // else it is short, or was cut before
			entry.Message = cut(entry.Message, maxMessage)
		}
		if entry.LastObservedDriverStatus != nil {
			if snapshots++; snapshots > maxSnapshots {
				entry.LastObservedDriverStatus = nil
			}
		}
		history[key] = entry
	}
}

// cutMark ends a text that was longer.
const cutMark = "..."

// cut is a text of at most limit bytes, and what tells that it was longer.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + cutMark
}

// rollOver begins the next attempt: what is known of the last one becomes the previous attempt's, with its states where the history is trimmed.
func rollOver(s *sparkv1.ApplicationStatus, over sparkv1.AttemptInfo, trim bool) {
	previous := &sparkv1.ApplicationAttemptSummary{AttemptInfo: &over}
	if trim {
		previous.StateTransitionHistory, s.StateTransitionHistory = s.StateTransitionHistory, nil
	}
	s.PreviousAttemptSummary = previous
}
