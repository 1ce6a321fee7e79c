package application

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// unasked is for how long fewer executors may be there than are wanted before anybody is asked why: Spark asks for some each second, and for
	// another in the place of one that went.
	unasked = 5 * time.Second
	// unbegun is the same before the first of them, when the driver's JVM and Spark in it are still starting.
	unbegun = 10 * time.Second
)

// unmade is why executors are wanted and not there at all: what the API server says against a pod like theirs. Spark itself is told no more than
// that it is forbidden, and goes on trying without a word on any pod. What was remembered stays while the reason does: the figures of a quota are
// worded anew with every pod that comes or goes.
func (s *step) unmade() lifecycle.Cause {
	if s.m.ShortSince.IsZero() {
		return lifecycle.Cause{}
	}
	short := max(s.now.Sub(s.m.ShortSince), 0)
	if left := patience(s.m.Phase) - short; left > 0 {
		s.check(left)
		return lifecycle.Cause{}
	}
	s.check(lifecycle.AskAgain(short))
	answer := s.seen.Probed
	switch {
	case answer == nil:
		s.do(lifecycle.Confirm, lifecycle.Executors, s.m.Attempt)
		return lifecycle.Cause{}
	case answer.Reason == "":
		return lifecycle.Cause{}
	case answer.Reason == s.stored.Cause.Reason:
		s.m.Cause = s.stored.Cause
		return s.stored.Cause
	}
	return lifecycle.Cause{Reason: answer.Reason, Message: "executors are wanted and cannot be made: " + answer.Message}
}

func patience(phase lifecycle.Phase) time.Duration {
	if phase == lifecycle.Ready {
		return unbegun
	}
	return unasked
}

// short reports whether fewer executors exist than the application wants: those that it begins with, and once they ran those that it never goes below.
// One that waits for a node exists; one that ended does not.
func (s *step) short() bool {
	wanted, exist := s.app.InitialExecutors, int32(0)
	if s.m.Phase.Runs() {
		wanted = s.app.MinExecutors
	}
	for i := range s.seen.Executors {
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && !endedPhase(e.Phase) {
			exist++
		}
	}
	return exist < wanted
}

// sinceWhen remembers since when there are too few. As long as nothing is known to stand in their way, each one that comes begins that time anew:
// a thousand are made in a hundred seconds, and nothing is wrong with that.
func (s *step) sinceWhen() {
	switch {
	case !s.short():
		s.m.ShortSince = time.Time{}
		return
	case s.m.ShortSince.IsZero():
		s.m.ShortSince = s.earlier(s.seen.ShortSince)
	}
	if s.stored.Cause.Reason != "" {
		return
	}
	for i := range s.seen.Executors {
		// Other machines' clocks are not ours: what lies ahead would move with every look.
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && e.CreatedAt.After(s.m.ShortSince) && !e.CreatedAt.After(s.now) {
			s.m.ShortSince = e.CreatedAt
		}
	}
}
