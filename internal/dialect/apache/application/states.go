package application

import (
	"fmt"
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// liveStates maps the phases of a live attempt to states of this API. It lacks lifecycle.Unknown, the phase of a driver
// whose node is lost: the state then does not change, and a condition reports the node.
var liveStates = map[lifecycle.Phase]sparkv1.ApplicationStateSummary{
	lifecycle.Launched: sparkv1.ApplicationDriverRequested,
	lifecycle.Started:  sparkv1.ApplicationDriverStarted,
	lifecycle.Ready:    sparkv1.ApplicationDriverReady,
	lifecycle.Scaling:  sparkv1.ApplicationInitializedBelowThresholdExecutors,
	lifecycle.Running:  sparkv1.ApplicationRunningHealthy,
	lifecycle.Partial:  sparkv1.ApplicationRunningWithPartialCapacity,
	lifecycle.Below:    sparkv1.ApplicationRunningWithBelowThresholdExecutors,
}

// endStates maps the outcomes of an attempt that has ended to states of this API.
var endStates = map[lifecycle.Outcome]sparkv1.ApplicationStateSummary{
	lifecycle.Succeeded:         sparkv1.ApplicationSucceeded,
	lifecycle.Failed:            sparkv1.ApplicationFailed,
	lifecycle.Lost:              sparkv1.ApplicationFailed,
	lifecycle.RunTimedOut:       sparkv1.ApplicationFailed,
	lifecycle.Evicted:           sparkv1.ApplicationDriverEvicted,
	lifecycle.Refused:           sparkv1.ApplicationSchedulingFailure,
	lifecycle.StartTimedOut:     sparkv1.ApplicationDriverStartTimedOut,
	lifecycle.ReadyTimedOut:     sparkv1.ApplicationDriverReadyTimedOut,
	lifecycle.ExecutorsTimedOut: sparkv1.ApplicationExecutorsStartTimedOut,
}

// ladder lists the states through which every attempt passes, in order, until its driver is ready.
var ladder = []sparkv1.ApplicationStateSummary{sparkv1.ApplicationDriverRequested, sparkv1.ApplicationDriverStarted, sparkv1.ApplicationDriverReady}

// stateRank returns how far an attempt has progressed if it is in the given state. A higher number is more progress,
// and an attempt never returns to a state with a lower number. For states in which no attempt is live, the result is
// -1.
func stateRank(state sparkv1.ApplicationStateSummary) int {
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
	if current == target || stateRank(target) < stateRank(current) {
		return nil
	}

	var out []sparkv1.ApplicationStateSummary
	for at, state := range ladder {
		if at > stateRank(current) && at < stateRank(target) {
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
	return endStates[t.Outcome]
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
		}
		// The operator stopped after it launched the attempt, and did not store that the attempt was scheduled.
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationScheduledToRestart, sparkv1.ApplicationDriverRequested}
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below:
		return statesBetween(before, liveStates[t.To])
	case lifecycle.Ended:
		return []sparkv1.ApplicationStateSummary{endState(t, wanted)}
	case lifecycle.Waiting:
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationScheduledToRestart}
	case lifecycle.Retained:
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationTerminatedWithoutReleaseResources}
	case lifecycle.Done:
		return []sparkv1.ApplicationStateSummary{sparkv1.ApplicationResourceReleased}
	}
	return nil
}

// message returns the message of a state. It says what the state means for the application and why the application
// entered it.
func message(state sparkv1.ApplicationStateSummary, t lifecycle.Transition, wanted lifecycle.App, next lifecycle.Memory) string {
	switch state {
	case sparkv1.ApplicationSubmitted:
		return "the application was submitted; its objects do not exist yet"
	case sparkv1.ApplicationScheduledToRestart:
		return restartMessage(t, next)
	case sparkv1.ApplicationDriverRequested:
		if t.Cause.Message != "" {
			return "the driver is requested; " + t.Cause.Message
		}
		return "the driver pod and its objects were created; the driver pod has not started yet"
	case sparkv1.ApplicationDriverStarted:
		return "the driver container runs"
	case sparkv1.ApplicationDriverReady:
		return "the driver pod is ready"
	case sparkv1.ApplicationTerminatedWithoutReleaseResources:
		return "the application has ended and its objects are kept" + until(t.At, wanted.Retain.For) + endedBy(t)
	case sparkv1.ApplicationResourceReleased:
		return "the application has ended and its objects are gone" + endedBy(t)
	case sparkv1.ApplicationSucceeded:
		return "the driver ended without an error"
	}

	if text := thresholdMessage(state, wanted.Thresholds); text != "" {
		return text
	}
	return dialect.CauseText(t.Cause)
}

// thresholdsField is the path of the field with the thresholds of executors.
const thresholdsField = "spec.applicationTolerations.instanceConfig"

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
