package application

import (
	"fmt"
	"math"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// This file has the rules for applications with thresholds (lifecycle.App.Thresholds), and those that depend on the
// number of running executors.

// running counts the attempt's executors that run and are Ready.
func (s *step) running() int32 {
	var running int32
	for i := range s.seen.Executors {
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && e.Phase == lifecycle.DriverRunning && !e.Unready {
			running++
		}
	}
	return running
}

// shortageGrace is how long fewer executors than a threshold may run before the phase changes. The executors of an
// ending run exit shortly before their driver, and each kubelet reports the ends of its pods a second or two later. The
// driver replaces a lost executor within seconds; a longer loss is reported.
const shortageGrace = 5 * time.Second

// phaseByThresholds is the phase of a driver that is Ready. Its start is over when Init executors have run; then the
// number of running executors decides. A completed start never begins again: after a lost node, the driver continues
// from its earlier phase.
//
// A driver that had enough executors keeps its phase until the shortage has lasted for shortageGrace. The end of a
// start needs no such delay: executors that never ran were not lost.
func (s *step) phaseByThresholds(started, running int32) lifecycle.Phase {
	t, from := s.app.Thresholds, s.stage()
	starts := !from.Runs()
	switch {
	case starts && started < t.Init:
		if started > 0 {
			return lifecycle.Scaling
		}
		return lifecycle.Ready
	case running < t.Min && (starts || from == lifecycle.Below || s.shortageLasts(s.seen.Shortages.Min, &s.plan.Shortages.Min)):
		return lifecycle.Below
	case !t.Dynamic && running < t.Max && (starts || from != lifecycle.Running || s.shortageLasts(s.seen.Shortages.Max, &s.plan.Shortages.Max)):
		return lifecycle.Partial
	}
	return lifecycle.Running
}

// shortageLasts reports whether a shortage of executors has lasted for shortageGrace. It passes the start of the
// shortage to the next decision; that is now if no decision of this process has seen it. A new process may therefore
// report a shortage up to shortageGrace late, but never early: an executor whose pod is gone has no known end.
func (s *step) shortageLasts(since time.Time, note *time.Time) bool {
	*note = s.earlier(since)
	left := note.Add(shortageGrace).Sub(s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// shortageCause is the cause for a phase that runs with too few executors.
func (s *step) shortageCause(phase lifecycle.Phase) lifecycle.Cause {
	switch phase {
	case lifecycle.Below:
		return lifecycle.Cause{Reason: lifecycle.ReasonBelowThreshold,
			Message: fmt.Sprintf("%d executors run, and no fewer than %d are to", s.running(), s.app.Thresholds.Min)}
	case lifecycle.Partial:
		return lifecycle.Cause{Reason: lifecycle.ReasonPartialCapacity, Message: fmt.Sprintf("%d of %d executors run", s.running(), s.app.Thresholds.Max)}
	}
	return lifecycle.Cause{}
}

// initialExecutors is how many executors the start of an attempt waits for.
func (s *step) initialExecutors() int32 {
	if s.app.Thresholds != nil {
		return s.app.Thresholds.Init
	}
	return s.app.InitialExecutors
}

// executorsDeadlineStart is the start of the executors' deadline.
func (s *step) executorsDeadlineStart(phase lifecycle.Phase, d *lifecycle.Driver) time.Time {
	switch {
	case phase != lifecycle.Scaling || !s.app.Deadlines.RestartAtScaling:
		return s.deadlineStart(d.ReadyAt)
	case s.m.Phase == lifecycle.Scaling:
		return s.m.Since
	}
	return s.now // this pass enters Scaling
}

// enterMissedPhases leads an ended driver through the phases that it must have passed unobserved.
//
// An ended pod does not show whether it was Ready. If its container started, enterMissedPhases assumes that it was:
// only a pod with a readiness probe of its own may not have been. It does not invent executors that were expected and
// not observed, and no shortage of executors either. Executors end with their driver, and their earlier number can no
// longer be observed.
//
// If a container could not be started at all, the kubelet reports a start in 1970.
func (s *step) enterMissedPhases(d *lifecycle.Driver) {
	if !s.app.EnterMissedPhases || s.app.IsServer || d.StartedAt.Unix() <= 0 {
		return
	}
	_, started := s.executors()
	target := lifecycle.Running
	switch {
	case s.app.Thresholds != nil:
		target = s.phaseByThresholds(started, math.MaxInt32)
	case started < s.app.InitialExecutors && started > 0:
		target = lifecycle.Scaling
	case started < s.app.InitialExecutors:
		target = lifecycle.Ready
	}
	s.enterPhasesUpTo(target)
}
