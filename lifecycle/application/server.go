package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file has the rules that differ if a driver is a server (lifecycle.App.IsServer). The other rules of servers are
// in lifecycle/connect.

var (
	applicationPhases = []lifecycle.Phase{lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running}
	serverPhases      = []lifecycle.Phase{lifecycle.Started, lifecycle.Running}
)

// noun returns the noun that messages use: "server" if the application is a server, and the given word otherwise.
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

// keepsServer reports whether a server keeps running although its spec has changed. It keeps running if the new spec is
// invalid, because then nothing could replace the server, and stopping it would only end its sessions. The memory keeps
// the launched spec: a later valid edit replaces the server, and an edit that restores the launched spec does not.
func (s *step) keepsServer() bool {
	return s.app.IsServer && s.app.Invalid != nil && !s.app.Suspend && s.m.Phase.Live()
}

// invalidServerCause returns the cause for which an ended server is not replaced. If the spec is invalid, this is the
// fault of the spec, however the last server ended, and the memory stores the hash of the invalid spec.
func (s *step) invalidServerCause() lifecycle.Cause {
	if !s.app.IsServer || s.app.Invalid == nil {
		return s.m.Cause
	}
	s.m.SpecHash = s.app.SpecHash
	return *s.app.Invalid
}

// serverEndCause returns the cause of a server that ended without an error. The cause of a server that failed is among
// the facts of its pod.
func serverEndCause(d *lifecycle.Driver) lifecycle.Cause {
	if d.Deleting {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted, Message: fmt.Sprintf("pod %s was deleted, and the server in it stopped", d.Name)}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerEnded,
		Message: fmt.Sprintf("the server in pod %s ended by itself, without an error; its log says why", d.Name)}
}

// notReadyCause returns the cause for which a server that was Ready no longer accepts sessions.
func (s *step) notReadyCause(d *lifecycle.Driver) lifecycle.Cause {
	if cause := s.pendingCause(d); cause.Reason != "" {
		return cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: fmt.Sprintf("pod %s is no longer ready", d.Name)}
}
