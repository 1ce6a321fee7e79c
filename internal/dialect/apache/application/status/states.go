// Package status writes the decisions about a SparkApplication of spark.apache.org into its status, and reads them
// back: the states of this API, their history, the conditions, and the operator's memory. It also reports the decisions
// as events.
//
// states.go says which states belong to which phase, history.go keeps the states within their limits, encode.go writes
// the whole status, memory.go is the part of it that the operator reads again.
package status

import (
	"fmt"
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// stateRow describes a state of this API.
type stateRow struct {
	state sparkv1.ApplicationStateSummary
	// phase is the phase in which an application has the state. If another operator wrote the state, the application
	// continues in this phase, because users and tools may have acted on the state already.
	phase lifecycle.Phase
	// outcomes are the outcomes of an attempt that ended in this state. If another operator wrote the state, the first
	// one applies.
	outcomes []lifecycle.Outcome
	// message says what the state means; empty if that depends on the transition.
	message string
}

// stateRows lists the states in the order of the definition. No state has the phase lifecycle.Unknown, in which the
// node of a driver is lost: the state then does not change, and a condition reports the node.
var stateRows = []stateRow{
	{state: sparkv1.ApplicationSubmitted, phase: lifecycle.New, message: "the application was submitted; its objects do not exist yet"},
	{state: sparkv1.ApplicationScheduledToRestart, phase: lifecycle.Waiting},
	{state: sparkv1.ApplicationDriverRequested, phase: lifecycle.Launched},
	{state: sparkv1.ApplicationDriverStarted, phase: lifecycle.Started, message: "the driver container runs"},
	{state: sparkv1.ApplicationDriverReady, phase: lifecycle.Ready, message: "the driver pod is ready"},
	{state: sparkv1.ApplicationInitializedBelowThresholdExecutors, phase: lifecycle.Scaling},
	{state: sparkv1.ApplicationRunningHealthy, phase: lifecycle.Running},
	{state: sparkv1.ApplicationRunningWithPartialCapacity, phase: lifecycle.Partial},
	{state: sparkv1.ApplicationRunningWithBelowThresholdExecutors, phase: lifecycle.Below},
	{state: sparkv1.ApplicationDriverStartTimedOut, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.StartTimedOut}},
	{state: sparkv1.ApplicationExecutorsStartTimedOut, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.ExecutorsTimedOut}},
	{state: sparkv1.ApplicationDriverReadyTimedOut, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.ReadyTimedOut}},
	{state: sparkv1.ApplicationSucceeded, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.Succeeded}, message: "the driver ended without an error"},
	{state: sparkv1.ApplicationFailed, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.Failed, lifecycle.Lost, lifecycle.RunTimedOut}},
	{state: sparkv1.ApplicationSchedulingFailure, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.Refused}},
	{state: sparkv1.ApplicationDriverEvicted, phase: lifecycle.Ended, outcomes: []lifecycle.Outcome{lifecycle.Evicted}},
	{state: sparkv1.ApplicationResourceReleased, phase: lifecycle.Done},
	{state: sparkv1.ApplicationTerminatedWithoutReleaseResources, phase: lifecycle.Retained},
	// The phase lifecycle.Suspended has this state too. In the phase of this row the pods may not be gone yet.
	{state: sparkv1.ApplicationSuspended, phase: lifecycle.Suspending, message: "the application is suspended, because spec.suspend is true; the objects of its attempt are deleted"},
}

// rowOf returns the row of a state, or nil if this API has no such state.
func rowOf(state sparkv1.ApplicationStateSummary) *stateRow {
	at := slices.IndexFunc(stateRows, func(r stateRow) bool { return r.state == state })
	if at < 0 {
		return nil
	}
	return &stateRows[at]
}

// phaseState returns the state of a phase in which no attempt has ended.
func phaseState(phase lifecycle.Phase) sparkv1.ApplicationStateSummary {
	at := slices.IndexFunc(stateRows, func(r stateRow) bool { return r.phase == phase })
	if at < 0 {
		return ""
	}
	return stateRows[at].state
}

// Meaning returns the memory that a state stands for if another operator wrote it. An application without a state is
// new. The second result is false if this API has no such state.
func Meaning(state sparkv1.ApplicationStateSummary) (m lifecycle.Memory, known bool) {
	row := rowOf(state)
	if row == nil {
		return m, state == ""
	}

	m.Phase = row.phase
	if len(row.outcomes) > 0 {
		m.Outcome = row.outcomes[0]
	}
	return m, true
}

// Outcome returns the outcome of an attempt for a state in which an attempt has ended. The second result is false for
// other states.
func Outcome(state sparkv1.ApplicationStateSummary) (lifecycle.Outcome, bool) {
	m, _ := Meaning(state)
	return m.Outcome, m.Phase == lifecycle.Ended
}

// ladder lists the states through which every attempt passes, in order, until its driver is ready.
var ladder = []sparkv1.ApplicationStateSummary{sparkv1.ApplicationDriverRequested, sparkv1.ApplicationDriverStarted, sparkv1.ApplicationDriverReady}

// Rank returns how far an attempt has progressed if it is in the given state. A higher number is more progress,
// and an attempt never returns to a state with a lower number. For states in which no attempt is live, the result is
// -1.
func Rank(state sparkv1.ApplicationStateSummary) int {
	if at := slices.Index(ladder, state); at >= 0 {
		return at
	}

	switch state {
	case sparkv1.ApplicationInitializedBelowThresholdExecutors:
		return len(ladder)
	case sparkv1.ApplicationRunningHealthy, sparkv1.ApplicationRunningWithPartialCapacity, sparkv1.ApplicationRunningWithBelowThresholdExecutors:
		return len(ladder) + 1
	}
	return -1
}

// statesBetween returns the states that an attempt enters on its way from the current state to the target, with the
// target as the last one. The result is empty if the current state is the target or follows it. The result includes
// states of the ladder that no pass observed. Passes miss states only while the driver's node does not respond;
// otherwise the state machine enters each phase separately.
func statesBetween(current, target sparkv1.ApplicationStateSummary) []sparkv1.ApplicationStateSummary {
	if current == target || Rank(target) < Rank(current) {
		return nil
	}

	var out []sparkv1.ApplicationStateSummary
	for at, state := range ladder {
		if at > Rank(current) && at < Rank(target) {
			out = append(out, state)
		}
	}
	return append(out, target)
}

// endState returns the state of an attempt that has ended. If the attempt was not launched, the state is Failed if no
// attempt can ever be launched from the spec, and SchedulingFailure if only this attempt could not be launched.
func endState(t lifecycle.Transition, wanted lifecycle.App) sparkv1.ApplicationStateSummary {
	if wanted.Invalid != nil && t.Outcome == lifecycle.Refused && t.Cause.Reason == lifecycle.ReasonInvalid {
		return sparkv1.ApplicationFailed
	}

	at := slices.IndexFunc(stateRows, func(r stateRow) bool { return slices.Contains(r.outcomes, t.Outcome) })
	if at < 0 {
		return ""
	}
	return stateRows[at].state
}

// states returns the states that the application enters with a transition, in order. The argument before is the state
// before the transition.
func states(before sparkv1.ApplicationStateSummary, t lifecycle.Transition, wanted lifecycle.App) []sparkv1.ApplicationStateSummary {
	switch t.To {
	case lifecycle.Launched:
		switch {
		case t.From == lifecycle.Unknown:
			return nil // the node is back; the state did not change
		case before == sparkv1.ApplicationSubmitted || before == sparkv1.ApplicationScheduledToRestart:
			return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationDriverRequested}
		case before == sparkv1.ApplicationSuspended: // the resume was not stored
			return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationSubmitted, sparkv1.ApplicationDriverRequested}
		}
		// The operator stopped after it launched the attempt, and did not store that the attempt was scheduled.
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationScheduledToRestart, sparkv1.ApplicationDriverRequested}
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below:
		return statesBetween(before, phaseState(t.To))
	case lifecycle.Ended:
		return []sparkv1.ApplicationStateSummary{endState(t, wanted)}
	case lifecycle.Suspended:
		return nil // the state is Suspended already
	case lifecycle.Resuming:
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationSubmitted}
	case lifecycle.Waiting, lifecycle.Suspending, lifecycle.Retained, lifecycle.Done:
		return []sparkv1.ApplicationStateSummary{phaseState(t.To)}
	}
	return nil
}

// message returns the message of a state. It says what the state means for the application and why the application
// entered it.
func message(state sparkv1.ApplicationStateSummary, t lifecycle.Transition, wanted lifecycle.App, next lifecycle.Memory) string {
	if row := rowOf(state); row != nil && row.message != "" {
		return row.message
	}

	switch state {
	case sparkv1.ApplicationScheduledToRestart:
		return restartMessage(t, next)
	case sparkv1.ApplicationDriverRequested:
		if t.Cause.Message != "" {
			return "the driver is requested; " + t.Cause.Message
		}
		return "the driver pod and its objects were created; the driver pod has not started yet"
	case sparkv1.ApplicationTerminatedWithoutReleaseResources:
		return "the application has ended and its objects are kept" + until(t.At, wanted.Retain.For) + endedBy(t)
	case sparkv1.ApplicationResourceReleased:
		return "the application has ended and its objects are gone" + endedBy(t)
	}

	if state == sparkv1.ApplicationRunningHealthy && mayStart(wanted.Thresholds, next) {
		return "the driver runs; executors may still be starting, because " + thresholdsField + " applies when as many have run at the same time, or after executorStartTimeoutMillis; status.executors has the counts"
	}

	if text := thresholdMessage(state, wanted.Thresholds); text != "" {
		return text
	}
	return dialect.CauseText(t.Cause)
}

// thresholdsField is the path of the field with the thresholds of executors.
const thresholdsField = "spec.applicationTolerations.instanceConfig"

// mayStart reports whether a running application may have fewer executors than its thresholds, because the executors
// had no time to start yet.
func mayStart(limits *lifecycle.Thresholds, m lifecycle.Memory) bool {
	if limits == nil || limits.Init > 0 {
		return false
	}
	return m.EnoughExecutors < limits.Min || !limits.Dynamic && m.EnoughExecutors < limits.Max
}

func thresholdMessage(state sparkv1.ApplicationStateSummary, limits *lifecycle.Thresholds) string {
	if limits == nil {
		limits = &lifecycle.Thresholds{}
	}

	switch state {
	case sparkv1.ApplicationInitializedBelowThresholdExecutors:
		return fmt.Sprintf("fewer executors run than initExecutors (%d)", limits.Init)
	case sparkv1.ApplicationRunningHealthy:
		if limits.Init == 0 && limits.Min == 0 && limits.Max == 0 {
			return "the driver runs; " + thresholdsField + " sets no number of executors to wait for, so some may be pending; status.executors has the counts"
		}
		return "the driver runs, and at least as many executors run as " + thresholdsField + " requires"
	case sparkv1.ApplicationRunningWithPartialCapacity:
		return fmt.Sprintf("the driver runs, and fewer executors run than maxExecutors (%d)", limits.Max)
	case sparkv1.ApplicationRunningWithBelowThresholdExecutors:
		return fmt.Sprintf("the driver runs, and fewer executors run than minExecutors (%d)", limits.Min)
	}
	return ""
}

func restartMessage(t lifecycle.Transition, next lifecycle.Memory) string {
	over := t.Attempt
	if t.To == lifecycle.Launched { // a launch that was not stored
		over--
	}

	if t.Cause.Reason == lifecycle.ReasonRestartRequested {
		return fmt.Sprintf("a restart was requested; the next attempt follows when the objects of attempt %d are gone", over)
	}

	text := fmt.Sprintf("attempt %d has ended; the next attempt follows", over)
	if t.To == lifecycle.Waiting && !next.NextAttempt.IsZero() {
		text += " at " + apache.Timestamp(next.NextAttempt)
	}
	return text
}

func until(since time.Time, kept *time.Duration) string {
	if kept == nil {
		return ", as long as the application itself"
	}
	return ", until " + apache.Timestamp(since.Add(*kept))
}

// endedBy returns the last part of a message, which says why an application ended. If a limit of restarts ended it, the
// part names the limit. Otherwise it says why the last attempt failed or was rejected, and it is "" if the application
// succeeded.
func endedBy(t lifecycle.Transition) string {
	switch {
	case t.Cause.Reason == lifecycle.ReasonRestartsExhausted:
		return exhausted(t)
	case t.Outcome == lifecycle.Undecided || t.Outcome == lifecycle.Succeeded || dialect.CauseText(t.Cause) == "":
		return ""
	case t.Outcome == lifecycle.Refused: // an invalid spec had no attempt
		return "; it was rejected: " + dialect.CauseText(t.Cause)
	}
	return "; the last attempt failed: " + dialect.CauseText(t.Cause)
}

// exhausted returns a semicolon and the limit of restarts that ended the application. It returns "" if no limit did.
func exhausted(t lifecycle.Transition) string {
	if t.Cause.Reason != lifecycle.ReasonRestartsExhausted {
		return ""
	}
	return "; " + t.Cause.Message
}
