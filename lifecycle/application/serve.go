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

// keepsServing reports whether a server goes on although the spec is another by now: none could be made of that, and there are sessions to lose. What was
// launched is remembered, so that an edit that can be used replaces the server, and one that takes all back does not.
func (s *step) keepsServing() bool {
	return s.app.Serves && s.app.Invalid != nil && !s.app.Suspend && s.m.Phase.Live()
}

// unserved is why a server that is over is not followed by another: the spec, whatever ended the last. Of that, too, it is known now what it is of.
func (s *step) unserved() lifecycle.Cause {
	if !s.app.Serves || s.app.Invalid == nil {
		return s.m.Cause
	}
	s.m.SpecHash = s.app.SpecHash
	return *s.app.Invalid
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
