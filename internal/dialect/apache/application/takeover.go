package application

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file takes over applications that the Apache Spark project's operator started. Their status lacks our memory
// (status.operator), and their pods lack our labels. The operator derives the phase from the states in the status. It
// finds the pods by two labels, the application's name and spark.app.id (Adopt). After the take-over, the same state
// machine decides.

// adopted maps the last state that the other operator wrote to the memory with which this operator continues. The
// operator assumes that this state is correct, because users and tools may have acted on it already.
var adopted = map[sparkv1.ApplicationStateSummary]lifecycle.Memory{
	"":                                    {Phase: lifecycle.New},
	sparkv1.ApplicationSubmitted:          {Phase: lifecycle.New},
	sparkv1.ApplicationScheduledToRestart: {Phase: lifecycle.Waiting},
	sparkv1.ApplicationDriverRequested:    {Phase: lifecycle.Launched},
	sparkv1.ApplicationDriverStarted:      {Phase: lifecycle.Started},
	sparkv1.ApplicationDriverReady:        {Phase: lifecycle.Ready},
	sparkv1.ApplicationInitializedBelowThresholdExecutors: {Phase: lifecycle.Scaling},
	sparkv1.ApplicationRunningHealthy:                     {Phase: lifecycle.Running},
	sparkv1.ApplicationRunningWithPartialCapacity:         {Phase: lifecycle.Partial},
	sparkv1.ApplicationRunningWithBelowThresholdExecutors: {Phase: lifecycle.Below},
	sparkv1.ApplicationSucceeded:                          {Phase: lifecycle.Ended, Outcome: lifecycle.Succeeded},
	sparkv1.ApplicationFailed:                             {Phase: lifecycle.Ended, Outcome: lifecycle.Failed},
	sparkv1.ApplicationDriverEvicted:                      {Phase: lifecycle.Ended, Outcome: lifecycle.Evicted},
	sparkv1.ApplicationSchedulingFailure:                  {Phase: lifecycle.Ended, Outcome: lifecycle.Refused},
	sparkv1.ApplicationDriverStartTimedOut:                {Phase: lifecycle.Ended, Outcome: lifecycle.StartTimedOut},
	sparkv1.ApplicationDriverReadyTimedOut:                {Phase: lifecycle.Ended, Outcome: lifecycle.ReadyTimedOut},
	sparkv1.ApplicationExecutorsStartTimedOut:             {Phase: lifecycle.Ended, Outcome: lifecycle.ExecutorsTimedOut},
	sparkv1.ApplicationTerminatedWithoutReleaseResources:  {Phase: lifecycle.Retained},
	sparkv1.ApplicationResourceReleased:                   {Phase: lifecycle.Done},
}

// outcomeOf returns the outcome of an attempt for a state in which an attempt has ended. The second result is false for
// other states.
func outcomeOf(state sparkv1.ApplicationStateSummary) (lifecycle.Outcome, bool) {
	m := adopted[state]
	return m.Outcome, m.Phase == lifecycle.Ended
}

// takesOver reports whether another operator wrote a state into the status, so that this operator has to take over.
func takesOver(s *sparkv1.ApplicationStatus) bool { return s.Operator == nil && current(s) != "" }

// holdOf returns whether an application is held, and why.
func holdOf(app *sparkv1.SparkApplication) apache.Hold {
	s := &app.Status
	_, known := adopted[current(s)]
	return apache.HoldOf(apache.Resource{Suspend: app.Spec.Suspend, State: string(current(s)), Known: known, Ours: s.Operator != nil,
		Deleting: app.DeletionTimestamp != nil, Conditions: s.Conditions})
}

// takeOver returns the memory of an application. If another operator wrote the status, takeOver computes the memory
// from this status and from the pods. Otherwise it returns the stored memory.
func takeOver(app *sparkv1.SparkApplication, wanted lifecycle.App, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	s := &app.Status
	if !takesOver(s) {
		return decodeMemory(s)
	}

	m := adopted[current(s)]
	m.Attempt, m.Restarts = inheritedAttempt(s), restartsOf(s.CurrentAttemptSummary)

	m.Since = cmp.Or(apache.ParseTimestamp(s.CurrentState.LastTransitionTime), now)
	if m.Attempt == 0 {
		return lifecycle.Memory{Restarts: m.Restarts} // no attempt was launched
	}

	m.Runs, m.Submissions = m.Attempt, m.Attempt
	m.SubmittedAt = cmp.Or(entered(s.StateTransitionHistory, sparkv1.ApplicationDriverRequested), m.Since)

	m.AttemptID = newAppID(app, m.Attempt)
	if driver := seen.Driver(m.Attempt); driver != nil {
		m.AttemptID = cmp.Or(driver.AttemptID, m.AttemptID)
	}

	switch {
	case m.Phase == lifecycle.Ended:
		m.EndedAt = m.Since
		m.Cause = inheritedCause(*s.CurrentState, m.Outcome)
	case m.Phase.Terminal(), m.Phase == lifecycle.Waiting:
		lastEnd(&m, s)
	}

	if m.Phase == lifecycle.Waiting {
		m.NextAttempt = m.Since.Add(wanted.Restart.Limits.Delay(m.Outcome)) // the delay begins when the attempt was scheduled
	}

	if m.Outcome == lifecycle.Refused {
		m.Runs-- // the last attempt was rejected, so it does not count as a run
	}
	return m
}

// inheritedAttempt returns the number of the last attempt that another operator launched, according to its status. The
// status counts attempts from 0, and the result counts from 1. It is 0 if no attempt was launched. An attempt that is
// only scheduled does not count.
func inheritedAttempt(s *sparkv1.ApplicationStatus) int32 {
	var id int64
	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		id = min(max(a.AttemptInfo.ID, 0), math.MaxInt32-1)
	}

	switch current(s) {
	case "", sparkv1.ApplicationSubmitted, sparkv1.ApplicationScheduledToRestart:
		return int32(id)
	}
	return int32(id) + 1
}

// entered returns the time of the newest entry of a history with the given state. If there is no such entry, it returns
// the zero time.
func entered(history map[string]sparkv1.ApplicationState, state sparkv1.ApplicationStateSummary) time.Time {
	for _, entry := range slices.Backward(statesOf(history)) {
		if entry.CurrentStateSummary == state {
			return apache.ParseTimestamp(entry.LastTransitionTime)
		}
	}
	return time.Time{}
}

// lastEnd reads from the status how the last attempt ended, and writes the result into the memory. It searches the
// history for the newest state in which an attempt has ended. If the history was trimmed, it searches the history of
// the previous attempt too. There may be no such state, because the other operator stopped or the application was
// deleted before the end was stored. The outcome is then Lost.
func lastEnd(m *lifecycle.Memory, s *sparkv1.ApplicationStatus) {
	past := statesOf(s.StateTransitionHistory)
	if s.PreviousAttemptSummary != nil && m.Phase == lifecycle.Waiting {
		past = append(statesOf(s.PreviousAttemptSummary.StateTransitionHistory), past...)
	}

	m.Outcome, m.EndedAt = lifecycle.Lost, m.Since

	m.Cause = lifecycle.Cause{Reason: string(lifecycle.Lost), Message: "the status that the other operator wrote does not show how the last attempt ended"}
	for _, entry := range slices.Backward(past) {
		outcome, ended := outcomeOf(entry.CurrentStateSummary)
		if !ended {
			continue
		}

		m.Outcome, m.Cause = outcome, inheritedCause(entry, outcome)
		m.EndedAt = cmp.Or(apache.ParseTimestamp(entry.LastTransitionTime), m.EndedAt)
		return
	}
}

// inheritedCause returns why an attempt ended, with the other operator's message.
func inheritedCause(state sparkv1.ApplicationState, outcome lifecycle.Outcome) lifecycle.Cause {
	if outcome == lifecycle.Succeeded {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: string(state.CurrentStateSummary), Message: lifecycle.Cut(state.Message, apache.MaxMessage)}
}

// takenOver returns the notice of a take-over. It names the last state that the other operator wrote.
func takenOver(before sparkv1.ApplicationStateSummary, m lifecycle.Memory) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s in attempt %d", before, attemptInfoID(m)+1)}}
}
