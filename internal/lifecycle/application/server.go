package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file has the rules that differ if a driver is a server (lifecycle.App.IsServer). The other rules of servers are
// in internal/lifecycle/connect.

var (
	applicationPhases = []lifecycle.Phase{lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running}
	serverPhases      = []lifecycle.Phase{lifecycle.Started, lifecycle.Running}
)

// noun returns "server" if the application is a server, and otherwise the given word. Messages use it.
func (s *step) noun(otherwise string) string {
	if s.app.IsServer {
		return "server"
	}
	return otherwise
}

// phasesInOrder lists the phases that a driver enters after its launch, in order. The list for a server is shorter,
// because a server does not wait for executors.
func (s *step) phasesInOrder() []lifecycle.Phase {
	if s.app.IsServer {
		return serverPhases
	}
	return applicationPhases
}

// keepsServer reports whether a running server is kept although its spec was edited, because the new spec is invalid. A
// new server could not replace it, so a stop would only end its sessions.
//
// The memory keeps the hash of the launched spec. A later valid edit therefore replaces the server, unless that edit
// restores the launched spec.
func (s *step) keepsServer() bool {
	return s.app.IsServer && s.app.Invalid != nil && !s.app.Suspend && s.m.Phase.Live()
}

// invalidServerCause returns the cause to store after a server has ended. If the spec is invalid, this is the error in
// the spec, even if the server ended for another reason. In that case invalidServerCause also stores the hash of the
// invalid spec in the memory. If the spec is valid, the result is the remembered cause.
func (s *step) invalidServerCause() lifecycle.Cause {
	if !s.app.IsServer || s.app.Invalid == nil {
		return s.m.Cause
	}

	s.m.SpecHash = s.app.SpecHash
	return *s.app.Invalid
}

// serverEndCause returns the cause of the end of a server that did not fail. Either its pod was deleted, or the server
// ended by itself. The cause of a failure is in Driver.Why.
func serverEndCause(d *lifecycle.Driver) lifecycle.Cause {
	if d.Deleting {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted, Message: fmt.Sprintf("pod %s was deleted, and the server in it stopped", d.Name)}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerEnded,
		Message: fmt.Sprintf("the server in pod %s ended by itself, without an error; its log says why", d.Name)}
}

// notReadyCause returns the reason why a server that was Ready no longer accepts sessions.
func (s *step) notReadyCause(d *lifecycle.Driver) lifecycle.Cause {
	if cause := s.pendingCause(d); cause.Reason != "" {
		return cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: fmt.Sprintf("pod %s is no longer ready", d.Name)}
}
