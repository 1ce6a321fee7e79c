package application

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// What differs for a driver that is a server (lifecycle.App.Serves; lifecycle/connect has the rules that go with it).

var (
	rungs       = []lifecycle.Phase{lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running}
	serverRungs = []lifecycle.Phase{lifecycle.Started, lifecycle.Running}
)

// noun is what messages call a driver, a run or an application: each is the server, where it serves.
func (s *step) noun(otherwise string) string {
	if s.app.Serves {
		return "server"
	}
	return otherwise
}

// ladder is what a driver comes through after its launch. A server awaits no executors.
func (s *step) ladder() []lifecycle.Phase {
	if s.app.Serves {
		return serverRungs
	}
	return rungs
}

// servedOut is why a server is over that ended without an error. That of one that failed is in its facts.
func servedOut(d *lifecycle.Driver) lifecycle.Cause {
	if d.Deleting {
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverDeleted, Message: fmt.Sprintf("pod %s was deleted, and the server in it stopped", d.Name)}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerEnded,
		Message: fmt.Sprintf("the server in pod %s ended by itself, without an error; its log says why", d.Name)}
}

// notServing is why a server that was Ready takes no sessions.
func (s *step) notServing(d *lifecycle.Driver) lifecycle.Cause {
	if cause := s.pendingCause(d); cause.Reason != "" {
		return cause
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: fmt.Sprintf("pod %s is not ready any more", d.Name)}
}
