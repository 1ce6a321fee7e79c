package application

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file takes over applications that the Apache Spark project's operator started. Their status contains no memory
// of ours (status.operator), and their pods have none of our labels. The phase follows from the states in the status.
// The pods are found by the application's name and by Spark's id, which are labels on them (Adopt). After the
// take-over, the same state machine decides.

// adopted maps the last state that the other operator wrote to the memory with which this operator continues. The
// operator does not check that state, because readers of the status have already acted on it.
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

// takesOver reports whether another operator wrote the status and that status has a state.
func takesOver(s *sparkv1.ApplicationStatus) bool { return s.Operator == nil && current(s) != "" }

// foreign reports whether another operator wrote a state that this version of the API does not have. The operator
// cannot decide about such a status.
func foreign(s *sparkv1.ApplicationStatus) bool {
	_, known := adopted[current(s)]
	return s.Operator == nil && !known
}

// takeOver returns the memory of an application: the stored memory if the status is ours, and otherwise a memory that
// is computed from another operator's status and pods.
func takeOver(app *sparkv1.SparkApplication, wanted lifecycle.App, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	s := &app.Status
	if !takesOver(s) || foreign(s) {
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
		m.NextAttempt = m.Since.Add(wanted.Restart.Limits.Delay(m.Outcome)) // counted from when it was scheduled
	}
	if m.Outcome == lifecycle.Refused {
		m.Runs-- // that attempt was rejected, so it was no run
	}
	return m
}

// inheritedAttempt returns the number, counted from 1, of the last attempt in another operator's status, which counts
// from 0. It returns 0 before the first attempt. An attempt that was scheduled but not launched does not count.
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

// entered returns the time at which a history last entered a state; the zero time if the history does not contain the
// state.
func entered(history map[string]sparkv1.ApplicationState, state sparkv1.ApplicationStateSummary) time.Time {
	for _, entry := range slices.Backward(statesOf(history)) {
		if entry.CurrentStateSummary == state {
			return apache.ParseTimestamp(entry.LastTransitionTime)
		}
	}
	return time.Time{}
}

// lastEnd reads from the status how the last attempt ended, and writes the result into the memory. It uses the newest
// state that is the end of an attempt. That state is in the history of the current attempt, or of the previous attempt
// if the history was trimmed. If neither history contains such a state, because the application was deleted or the
// other operator died, the attempt counts as Lost.
func lastEnd(m *lifecycle.Memory, s *sparkv1.ApplicationStatus) {
	past := statesOf(s.StateTransitionHistory)
	if s.PreviousAttemptSummary != nil && m.Phase == lifecycle.Waiting {
		past = append(statesOf(s.PreviousAttemptSummary.StateTransitionHistory), past...)
	}
	m.Outcome, m.EndedAt = lifecycle.Lost, m.Since
	m.Cause = lifecycle.Cause{Reason: string(lifecycle.Lost), Message: "the status does not contain how the last attempt ended"}
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
	return lifecycle.Cause{Reason: string(state.CurrentStateSummary), Message: apache.Cut(state.Message, apache.MaxMessage)}
}

// takenOver returns the notice of a take-over. It names the last state that the other operator wrote.
func takenOver(before sparkv1.ApplicationStateSummary, m lifecycle.Memory) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s in attempt %d", before, attemptInfoID(m)+1)}}
}

// reasonOtherOperator is the reason of the condition Ready if the last state that another operator wrote does not exist
// in this API.
const reasonOtherOperator = "OtherOperator"

// encodeForeign sets the condition Ready, whose message says why the operator does nothing. It changes no other part of
// the status.
func encodeForeign(app *sparkv1.SparkApplication, now time.Time) {
	set(app, metav1.Condition{Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: reasonOtherOperator,
		Message: fmt.Sprintf("another operator left the application in state %q, which this operator does not support: let the other operator finish it, "+
			"or delete it and create it again", current(&app.Status))}, now)
}
