package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file has the exceptions for a driver that is a server (lifecycle.App.IsServer). The other rules of servers are
// in lifecycle/connect.

var (
	applicationPhases = []lifecycle.Phase{lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running}
	serverPhases      = []lifecycle.Phase{lifecycle.Started, lifecycle.Running}
)

// noun is the word for a driver, a run or an application in messages: "server" if the application serves.
func (s *step) noun(otherwise string) string {
	if s.app.IsServer {
		return "server"
	}
	return otherwise
}

// phasesInOrder lists the phases that a driver passes after its launch. A server does not wait for executors.
func (s *step) phasesInOrder() []lifecycle.Phase {
	if s.app.IsServer {
		return serverPhases
	}
	return applicationPhases
}

// keepsServer reports whether a server keeps running although the spec has changed. The new spec cannot be rendered,
// and a replacement would only lose sessions. The launched spec stays remembered: a later valid edit replaces the
// server, and an edit that restores the old spec does not.
func (s *step) keepsServer() bool {
	return s.app.IsServer && s.app.Invalid != nil && !s.app.Suspend && s.m.Phase.Live()
}

// invalidServerCause is the cause for which an ended server is not replaced: the invalid spec, however the last server
// ended. The hash of the invalid spec is remembered too.
func (s *step) invalidServerCause() lifecycle.Cause {
	if !s.app.IsServer || s.app.Invalid == nil {
		return s.m.Cause
	}
	s.m.SpecHash = s.app.SpecHash
	return *s.app.Invalid
}

// serverEndCause is the cause of a server that ended without an error. The cause of a failed server is in its facts.
func serverEndCause(d *lifecycle.Driver) lifecycle.Cause {
	if d.Deleting {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted, Message: fmt.Sprintf("pod %s was deleted, and the server in it stopped", d.Name)}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerEnded,
		Message: fmt.Sprintf("the server in pod %s ended by itself, without an error; its log says why", d.Name)}
}

// notReadyCause is why a server that was Ready accepts no sessions.
func (s *step) notReadyCause(d *lifecycle.Driver) lifecycle.Cause {
	if cause := s.pendingCause(d); cause.Reason != "" {
		return cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: fmt.Sprintf("pod %s is not ready any more", d.Name)}
}
