// Package takeover takes over SparkApplications that the Apache Spark project's operator started. Their status lacks
// our memory (status.operator), and their pods lack our labels. The operator derives the phase from the states in the
// status (Memory). It finds the pods by two labels, the application's name and spark.app.id (Pods). After the
// take-over, the same state machine decides.
package takeover

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Due reports whether another operator wrote a state into the status, so that this operator has to take over.
func Due(s *sparkv1.ApplicationStatus) bool { return s.Operator == nil && status.Current(s) != "" }

// Memory returns the memory of an application. If another operator wrote the status, Memory computes the memory
// from this status and from the pods. Otherwise it returns the stored memory.
func Memory(app *sparkv1.SparkApplication, wanted lifecycle.App, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	s := &app.Status
	if !Due(s) {
		return status.Memory(s)
	}

	m, _ := status.Meaning(status.Current(s))
	m.Attempt, m.Restarts = launchedByOther(s), status.Restarts(s.CurrentAttemptSummary)

	m.Since = cmp.Or(apache.ParseTimestamp(s.CurrentState.LastTransitionTime), now)
	if m.Attempt == 0 {
		return lifecycle.Memory{Restarts: m.Restarts} // no attempt was launched
	}

	if m.Phase == lifecycle.New {
		m.Phase = lifecycle.Resuming // submitted again after a suspension
	}

	m.Runs, m.Submissions = m.Attempt, m.Attempt
	m.SubmittedAt = cmp.Or(entered(s.StateTransitionHistory, sparkv1.ApplicationDriverRequested), m.Since)

	m.AttemptID = naming.NewID(app, m.Attempt)
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

// launchedByOther returns the number of the last attempt that another operator launched, according to its status. The
// status counts attempts from 0, and the result counts from 1. It is 0 if no attempt was launched. An attempt that is
// only scheduled does not count.
func launchedByOther(s *sparkv1.ApplicationStatus) int32 {
	var id int64
	if a := s.CurrentAttemptSummary; a != nil && a.AttemptInfo != nil {
		id = min(max(a.AttemptInfo.ID, 0), math.MaxInt32-1)
	}

	switch status.Current(s) {
	case "", sparkv1.ApplicationSubmitted, sparkv1.ApplicationScheduledToRestart:
		return int32(id)
	}
	return int32(id) + 1
}

// entered returns the time of the newest entry of a history with the given state. If there is no such entry, it returns
// the zero time.
func entered(history map[string]sparkv1.ApplicationState, state sparkv1.ApplicationStateSummary) time.Time {
	for _, entry := range slices.Backward(status.States(history)) {
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
	past := status.States(s.StateTransitionHistory)
	if s.PreviousAttemptSummary != nil && m.Phase == lifecycle.Waiting {
		past = append(status.States(s.PreviousAttemptSummary.StateTransitionHistory), past...)
	}

	m.Outcome, m.EndedAt = lifecycle.Lost, m.Since

	m.Cause = lifecycle.Cause{Reason: string(lifecycle.Lost), Message: "the status that the other operator wrote does not show how the last attempt ended"}
	for _, entry := range slices.Backward(past) {
		outcome, ended := status.Outcome(entry.CurrentStateSummary)
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

// Notice returns the notice of a take-over. It names the last state that the other operator wrote.
func Notice(before sparkv1.ApplicationStateSummary, m lifecycle.Memory) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s in attempt %d", before, status.AttemptInfoID(m)+1)}}
}
