// Package history contains what the tests of applications and clusters of spark.apache.org share: which states a pass
// has added to a history, and which of them it has reported.
package history

import (
	"maps"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
)

// Merged returns the entries of several histories.
func Merged[S any](histories ...map[string]S) map[string]S {
	all := map[string]S{}
	for _, one := range histories {
		maps.Copy(all, one)
	}
	return all
}

// Entered returns the states that a pass has added to a history, in order, with their messages. If begins is true, it
// leaves out the first state, which has no event. The argument parts returns the name, the time and the message of a
// state.
func Entered[S any](before, after map[string]S, begins bool, parts func(S) (state, since, message string)) (entered []string) {
	for _, key := range apache.KeysOf(after) {
		state, since, message := parts(after[key])
		if was, at, _ := parts(before[key]); state != was || since != at {
			entered = append(entered, state+": "+message)
		}
	}

	if begins && len(entered) > 0 {
		return entered[1:]
	}
	return entered
}

// Reported returns the reasons and messages of those events whose reason is a state.
func Reported(events []dialect.Event, isState func(reason string) bool) (reported []string) {
	for _, e := range events {
		if isState(e.Reason) {
			reported = append(reported, e.Reason+": "+e.Message)
		}
	}
	return reported
}
