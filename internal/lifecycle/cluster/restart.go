package cluster

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// noticeRestart carries out a new restart request. It ignores a finished cluster, whose restart requests the method
// `over` handles. The request is part of the pods' template, so Kubernetes replaces the pods as after an edit.
//
// A request that is made before the first pass is only marked as carried out, because there are no pods yet. While the
// spec of a running cluster is invalid, no template can be rendered, so the request waits. While the cluster is held,
// the request waits too.
func (s *step) noticeRestart() {
	switch {
	case s.m.Suspended():
		s.restartDone()
		return
	case !lifecycle.RestartRequested(s.m.RestartRequest, s.want.RestartRequest), s.want.Hold != nil, !s.m.Wants(), s.m.Phase == lifecycle.Running && s.want.Invalid != nil:
		return
	}

	s.m.RestartRequest = s.want.RestartRequest
	if s.m.Phase == lifecycle.New && !s.m.Adopted {
		return
	}

	s.m.Adopted = false
	if s.m.Begun.IsZero() {
		return
	}

	s.m.Begun, s.m.Complete = s.now, time.Time{}
	if s.m.Phase == lifecycle.Running {
		s.m.Cause = lifecycle.Cause{}
		s.notice(ReasonRestarted, "a restart was requested; the cluster's pods are replaced, one after the other")
	}
}

// restartDone stores that the restart request was carried out, because the cluster starts again when it is resumed.
func (s *step) restartDone() {
	if s.want.RestartRequest != "" {
		s.m.RestartRequest = s.want.RestartRequest
	}
}
