package application

import (
	"fmt"
	"math"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// What differs where an application has thresholds (lifecycle.App.Thresholds), and what goes by the number of executors that run.

// running counts the attempt's executors that run now, and are Ready.
func (s *step) running() int32 {
	var running int32
	for i := range s.seen.Executors {
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && e.Phase == lifecycle.DriverRunning && !e.Unready {
			running++
		}
	}
	return running
}

// lackGrace is for how long fewer executors may run than a threshold asks for before the phase says so. The executors of
// a run that ends exit shortly before their driver, and each kubelet reports the ends of its pods a second or two later.
// An executor that the driver loses is replaced within seconds, or the loss lasts longer than that.
const lackGrace = 5 * time.Second

// standing is the phase of a driver that is Ready. Its start is over when so many executors came to run as that takes; what it is called then goes by
// those that run. A start that is over begins never again: a driver on a lost node, too, goes on from where it was.
//
// A driver that had enough executors keeps its phase until the lack of them has lasted for lackGrace. The end of a start
// needs no such time: executors that never ran did not go.
func (s *step) standing(came, running int32) lifecycle.Phase {
	t, from := s.app.Thresholds, s.stage()
	starts := !from.Runs()
	switch {
	case starts && came < t.Init:
		if came > 0 {
			return lifecycle.Scaling
		}
		return lifecycle.Ready
	case running < t.Min && (starts || from == lifecycle.Below || s.lasts(s.seen.Lacks.Min, &s.plan.Lacks.Min)):
		return lifecycle.Below
	case !t.Dynamic && running < t.Max && (starts || from != lifecycle.Running || s.lasts(s.seen.Lacks.Max, &s.plan.Lacks.Max)):
		return lifecycle.Partial
	}
	return lifecycle.Running
}

// lasts reports whether a lack of executors has lasted for lackGrace. It notes for the next decision since when there is
// one: since now, if no decision of this process has seen it. A new process thus reports a lack up to lackGrace later,
// and never earlier: an executor whose pod is gone does not tell when it ended.
func (s *step) lasts(since time.Time, note *time.Time) bool {
	*note = s.earlier(since)
	left := note.Add(lackGrace).Sub(s.now)
	if left > 0 {
		s.check(left)
	}
	return left <= 0
}

// lack is what a phase lacks that runs with too few executors.
func (s *step) lack(phase lifecycle.Phase) lifecycle.Cause {
	switch phase {
	case lifecycle.Below:
		return lifecycle.Cause{Reason: lifecycle.ReasonBelowThreshold,
			Message: fmt.Sprintf("%d executors run, and no fewer than %d are to", s.running(), s.app.Thresholds.Min)}
	case lifecycle.Partial:
		return lifecycle.Cause{Reason: lifecycle.ReasonPartialCapacity, Message: fmt.Sprintf("%d of %d executors run", s.running(), s.app.Thresholds.Max)}
	}
	return lifecycle.Cause{}
}

// initial is how many executors an attempt's start awaits.
func (s *step) initial() int32 {
	if s.app.Thresholds != nil {
		return s.app.Thresholds.Init
	}
	return s.app.InitialExecutors
}

// scalesFrom is the time that the executors' deadline counts from.
func (s *step) scalesFrom(phase lifecycle.Phase, d *lifecycle.Driver) time.Time {
	switch {
	case phase != lifecycle.Scaling || !s.app.Limits.ScalingAnew:
		return s.from(d.ReadyAt)
	case s.m.Phase == lifecycle.Scaling:
		return s.m.Since
	}
	return s.now // which enters it
}

// retrace leads a driver that has ended through what it must have come through unseen. A pod that has ended does not tell whether it was Ready, so one
// whose container started is taken to have been: whoever looked in time saw that of all but those with a probe of their own. An executor that was
// awaited and not seen is not made up. Nor is a lack of executors: they end with their driver, and how many ran before
// that cannot be seen any more.
//
// Where a container could not be started at all the kubelet says that it did so in 1970.
func (s *step) retrace(d *lifecycle.Driver) {
	if !s.app.Retrace || s.app.Serves || d.StartedAt.Unix() <= 0 {
		return
	}
	_, came := s.executors()
	target := lifecycle.Running
	switch {
	case s.app.Thresholds != nil:
		target = s.standing(came, math.MaxInt32)
	case came < s.app.InitialExecutors && came > 0:
		target = lifecycle.Scaling
	case came < s.app.InitialExecutors:
		target = lifecycle.Ready
	}
	s.climb(target)
}
