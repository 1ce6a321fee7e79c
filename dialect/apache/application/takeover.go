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

// An application may have been begun by the operator of the Apache Spark project. Its status then has no memory of ours (status.operator), and its pods
// none of our labels: where it stands is read from its states, and the pods are known by the application's name and the id of Spark that is on them
// (Adopt). What follows is the same machine as for every application.

// adopted is where an application stands by the state that the other operator left. What it says is believed: readers of the status have acted on it.
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

// outcomeOf is the end that a state is of.
func outcomeOf(state sparkv1.ApplicationStateSummary) (lifecycle.Outcome, bool) {
	m := adopted[state]
	return m.Outcome, m.Phase == lifecycle.Ended
}

// taking reports whether a status was left by another operator, which had begun something.
func taking(s *sparkv1.ApplicationStatus) bool { return s.Operator == nil && current(s) != "" }

// foreign reports whether a status is another operator's, in a state that this API did not have yet: nothing can be made of it.
func foreign(s *sparkv1.ApplicationStatus) bool {
	_, known := adopted[current(s)]
	return s.Operator == nil && !known
}

// takeOver is the memory of an application: ours, or what another operator's status and pods come to.
func takeOver(app *sparkv1.SparkApplication, wanted lifecycle.App, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	s := &app.Status
	if !taking(s) || foreign(s) {
		return decodeMemory(s)
	}
	m := adopted[current(s)]
	m.Attempt, m.Restarts = attemptLeft(s), restartsOf(s.CurrentAttemptSummary)
	m.Since = cmp.Or(apache.ParseTimestamp(s.CurrentState.LastTransitionTime), now)
	if m.Attempt == 0 {
		return lifecycle.Memory{Restarts: m.Restarts} // nothing was launched
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
		m.Cause = causeLeft(*s.CurrentState, m.Outcome)
	case m.Phase.Terminal(), m.Phase == lifecycle.Waiting:
		lastEnd(&m, s)
	}
	if m.Phase == lifecycle.Waiting {
		m.NextAttempt = m.Since.Add(wanted.Restart.Counted.Delay(m.Outcome)) // from when it was scheduled
	}
	if m.Outcome == lifecycle.Refused {
		m.Runs-- // that one came to no run
	}
	return m
}

// attemptLeft is our number of the last attempt that another operator's status tells of, which counts from 0; 0 before the first. What waits is an attempt
// that was not launched.
func attemptLeft(s *sparkv1.ApplicationStatus) int32 {
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

// entered is when a history tells that a state was entered last; zero where it does not.
func entered(history map[string]sparkv1.ApplicationState, state sparkv1.ApplicationStateSummary) time.Time {
	for _, entry := range slices.Backward(statesOf(history)) {
		if entry.CurrentStateSummary == state {
			return apache.ParseTimestamp(entry.LastTransitionTime)
		}
	}
	return time.Time{}
}

// lastEnd reads how the last attempt ended, from the last state of an end: in the history of the current attempt, or of the one before where that was
// trimmed. An application whose history does not tell was deleted, or what wrote it died.
func lastEnd(m *lifecycle.Memory, s *sparkv1.ApplicationStatus) {
	past := statesOf(s.StateTransitionHistory)
	if s.PreviousAttemptSummary != nil && m.Phase == lifecycle.Waiting {
		past = append(statesOf(s.PreviousAttemptSummary.StateTransitionHistory), past...)
	}
	m.Outcome, m.EndedAt = lifecycle.Lost, m.Since
	m.Cause = lifecycle.Cause{Reason: string(lifecycle.Lost), Message: "the status does not tell how the last attempt ended"}
	for _, entry := range slices.Backward(past) {
		outcome, is := outcomeOf(entry.CurrentStateSummary)
		if !is {
			continue
		}
		m.Outcome, m.Cause = outcome, causeLeft(entry, outcome)
		m.EndedAt = cmp.Or(apache.ParseTimestamp(entry.LastTransitionTime), m.EndedAt)
		return
	}
}

// causeLeft is why an attempt ended, in the other operator's words.
func causeLeft(state sparkv1.ApplicationState, outcome lifecycle.Outcome) lifecycle.Cause {
	if outcome == lifecycle.Succeeded {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: string(state.CurrentStateSummary), Message: apache.Cut(state.Message, apache.MaxMessage)}
}

// takenOver tells where another operator left an application.
func takenOver(before sparkv1.ApplicationStateSummary, m lifecycle.Memory) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s in attempt %d", before, attemptInfoID(m)+1)}}
}

// reasonOtherOperator is the reason of the condition Ready of an application that another operator left in a state that is none of this API's.
const reasonOtherOperator = "OtherOperator"

// encodeForeign says why nothing happens, and leaves everything else of the status to whom it belongs.
func encodeForeign(app *sparkv1.SparkApplication, now time.Time) {
	set(app, metav1.Condition{Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: reasonOtherOperator,
		Message: fmt.Sprintf("another operator left the application in state %q, which this one does not know: let the other operator finish it, "+
			"or delete it and create it again", current(&app.Status))}, now)
}
