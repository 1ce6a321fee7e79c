package application

import (
	"fmt"
	"math"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file has the rules for applications with thresholds (lifecycle.App.Thresholds), and the rules that depend on the
// number of running executors.

// running returns the number of the attempt's executors that run and are Ready.
func (s *step) running() int32 {
	var running int32
	for i := range s.seen.Executors {
		if e := &s.seen.Executors[i]; e.Attempt == s.m.Attempt && e.Phase == lifecycle.DriverRunning && !e.Unready {
			running++
		}
	}
	return running
}

// shortageGrace is how long the number of running executors may be below a threshold before the phase changes. Without
// this time, the phase would change at the end of every run, because the executors exit shortly before their driver and
// each kubelet reports the end of its pods a second or two later. The phase would also change if the driver replaces a
// lost executor within seconds.
const shortageGrace = 5 * time.Second

// phaseByThresholds returns the phase of a driver that is Ready. The start of an attempt ends when Init executors have
// run. After that, the number of running executors determines the phase. The start never begins again: after a lost
// node, the driver continues from its earlier phase.
//
// A driver that had enough executors keeps its phase until the shortage has lasted for shortageGrace. There is no such
// delay at the end of the start, because executors that never ran were not lost.
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

// shortageLasts reports whether a shortage of executors has lasted for shortageGrace. The first argument is the start
// of the shortage as an earlier decision of this process recorded it. If it is zero, the shortage starts at the time of
// this decision. The start is written to the second argument, from which the next decision reads it.
//
// A new process may therefore report a shortage up to shortageGrace late, but never early. It cannot compute the real
// start, because the end of an executor whose pod no longer exists is unknown.
func (s *step) shortageLasts(since time.Time, note *time.Time) bool {
	*note = lifecycle.NotInFuture(since, s.now)

	left := note.Add(shortageGrace).Sub(s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
}

// shortageCause returns the cause to store if the phase says that too few executors run. For all other phases it
// returns the zero Cause.
func (s *step) shortageCause(phase lifecycle.Phase) lifecycle.Cause {
	switch phase {
	case lifecycle.Below:
		return lifecycle.Cause{Reason: lifecycle.ReasonBelowThreshold,
			Message: fmt.Sprintf("too few executors run: %d, the minimum is %d", s.running(), s.app.Thresholds.Min)}
	case lifecycle.Partial:
		return lifecycle.Cause{Reason: lifecycle.ReasonPartialCapacity, Message: fmt.Sprintf("%d of %d executors run", s.running(), s.app.Thresholds.Max)}
	}
	return lifecycle.Cause{}
}

// initialExecutors returns the number of executors that an attempt waits for at its start.
func (s *step) initialExecutors() int32 {
	if s.app.Thresholds != nil {
		return s.app.Thresholds.Init
	}
	return s.app.InitialExecutors
}

// executorsDeadlineStart returns the time from which the deadline for the start of the executors counts.
func (s *step) executorsDeadlineStart(phase lifecycle.Phase, d *lifecycle.Driver) time.Time {
	switch {
	case phase != lifecycle.Scaling || !s.app.Deadlines.RestartAtScaling:
		return s.deadlineStart(d.ReadyAt)
	case s.m.Phase == lifecycle.Scaling:
		return s.m.Since
	}
	return s.now // because this pass enters Scaling
}

// enterMissedPhases enters the phases through which an ended driver must have passed although no pass observed it
// there.
//
// The status of an ended pod does not say whether the pod was Ready. If the pod's container started, enterMissedPhases
// assumes that the pod was Ready. This can be wrong only for a pod with a readiness probe of its own. An executor that
// was not observed does not count as started. No shortage of executors is assumed, because executors end together with
// their driver, and their earlier number can no longer be observed.
//
// A start time of 1970 does not count as a start, because the kubelet reports it for a container that could not be
// started.
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
