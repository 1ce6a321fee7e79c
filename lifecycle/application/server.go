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

// keepsServer reports whether a running server stays unchanged because its edited spec is invalid. Nothing could
// replace the server then, so stopping it would only end its sessions. The memory keeps the hash of the launched spec:
// a later valid edit replaces the server, unless that edit restores the launched spec.
func (s *step) keepsServer() bool {
	return s.app.IsServer && s.app.Invalid != nil && !s.app.Suspend && s.m.Phase.Live()
}

// invalidServerCause returns the cause to store with a server that has ended. If the spec is invalid, this is the fault
// of the spec, however the server ended, and invalidServerCause also stores the hash of the invalid spec in the memory.
// Otherwise it is the remembered cause.
func (s *step) invalidServerCause() lifecycle.Cause {
	if !s.app.IsServer || s.app.Invalid == nil {
		return s.m.Cause
	}
	s.m.SpecHash = s.app.SpecHash
	return *s.app.Invalid
}

// serverEndCause returns the cause for a server that ended without an error: its pod was deleted, or the server ended
// by itself. For a server that failed, Driver.Why contains the cause.
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
