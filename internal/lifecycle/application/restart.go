package application

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file carries out requests to run an application again without an edit of its spec
// (lifecycle.App.RestartRequest).
//
// A restart enters the phase Waiting without a time of the next attempt. In this phase the objects of the last attempt
// are deleted, and then the next attempt is launched. The request and the phase are stored in one status write, before
// anything is deleted. Therefore each request is carried out once, even if the operator dies.

// noticeRestart carries out a new restart request. During a suspension or an edit, it only marks the request as carried
// out, because the next attempt starts anyway. In the phase New it does nothing, because the first launch carries out
// the request.
//
// Like an edit, a restart resets the counts of failures. While the spec of a server is invalid, no new server could
// replace the running one, so the request waits until the spec is valid. While an application is held in
// another phase than those of a suspension, the request waits too.
func (s *step) noticeRestart() {
	switch {
	case !lifecycle.RestartRequested(s.m.RestartRequest, s.app.RestartRequest), s.m.Phase == lifecycle.New, s.app.Hold != nil && !s.startsAgain(), s.app.IsServer && s.app.Invalid != nil:
		return
	}

	s.restartDone(s.app.RestartRequest)

	switch {
	case s.isSuspended():
		s.replaceSuspending()
		s.noticeRequest("the " + s.noun("application") + " is suspended; it starts again when it is resumed")
		return
	case s.m.Phase == lifecycle.Editing:
		return
	}

	if !s.stops() || s.m.Phase.Terminal() {
		s.m.Runs, s.m.Submissions, s.m.SuspendedRuns, s.m.Restarts = 0, 0, 0, lifecycle.Restarts{}
	}

	if s.stops() {
		s.suspend()
		s.replaceSuspending()
		return
	}

	waits := s.m.Phase == lifecycle.Waiting
	cause := lifecycle.Cause{Reason: lifecycle.ReasonRestartRequested, Message: "a restart was requested; the " + s.noun("application") + " runs again"}
	s.noticeRequest(s.restartEffect())

	s.m.NextAttempt = time.Time{}
	if waits {
		s.m.Cause = cause
		return
	}

	s.m.Outcome, s.m.EndedAt = lifecycle.Undecided, time.Time{}
	s.enter(lifecycle.Waiting, cause)
}

// isSuspended reports whether the next attempt starts when a suspension is lifted, or was lifted.
func (s *step) isSuspended() bool {
	return s.m.Phase == lifecycle.Suspending || s.m.Phase == lifecycle.Suspended || s.m.Phase == lifecycle.Resuming
}

// startsAgain reports whether a held application starts again anyway, when its suspension is lifted.
func (s *step) startsAgain() bool {
	return s.isSuspended() || s.stops() && (s.m.Phase.Live() || s.m.Phase == lifecycle.Editing)
}

// restartEffect returns a text about the effect of a restart request on the current attempt. The text is a part of a
// message.
func (s *step) restartEffect() string {
	switch {
	case s.m.Phase.Live():
		return "the running attempt is replaced"
	case s.m.Phase == lifecycle.Waiting:
		return "the next attempt starts without further delay"
	}
	return "the " + s.noun("application") + " runs again"
}

func (s *step) noticeRequest(effect string) {
	s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{Part: lifecycle.Application, Attempt: s.m.Attempt, Cause: lifecycle.Cause{
		Reason: lifecycle.ReasonRestartRequested, Message: "a restart was requested: " + effect}})
}

// restartDone stores that a restart request was carried out. It ignores an empty request and keeps the last one, so
// that a request whose annotation was removed and set again is not carried out twice.
func (s *step) restartDone(request string) {
	if request != "" {
		s.m.RestartRequest = request
	}
}
