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

// present returns the number of the attempt's executors that are not missing. These are the running executors and, if
// no executor waits to start, those that ended without an error: a program that has stopped its SparkContext, or no
// longer needs an executor, lacks none. If Spark misses an executor, it creates another within seconds. Spark may
// delete the pods of ended executors, so their number is noted for the next decision.
func (s *step) present() int32 {
	released := s.seen.Shortages.Released

	var succeeded int32
	for i := range s.seen.Executors {
		switch e := &s.seen.Executors[i]; {
		case e.Attempt != s.m.Attempt:
		case e.Phase == lifecycle.DriverPending:
			return s.running()
		case e.Phase == lifecycle.DriverSucceeded:
			succeeded++
		}
	}

	s.plan.Shortages.Released = max(released, succeeded)
	return s.running() + s.plan.Shortages.Released
}

// rememberEnough stores in the memory which threshold the running executors have reached, if the attempt waits for no
// initial executors.
func (s *step) rememberEnough() {
	t := s.app.Thresholds
	if t == nil || t.Init > 0 {
		return
	}

	running := s.running()
	for _, threshold := range []int32{t.Min, t.Max} {
		if running >= threshold {
			s.m.EnoughExecutors = max(s.m.EnoughExecutors, threshold)
		}
	}
}

// expects reports whether fewer executors than a threshold are a shortage. They always are if the attempt has waited
// for its initial executors. Otherwise they are if enough executors ran before, or had the time to start: executors
// that start normally are not missing. If they have that time, expects requests a pass at its end.
func (s *step) expects(threshold int32, readyAt time.Time) bool {
	limit := s.app.Deadlines.ExecutorsStart
	switch {
	case s.app.Thresholds.Init > 0, s.m.EnoughExecutors >= threshold:
		return true
	case limit <= 0:
		return false
	}

	left := s.deadlineStart(readyAt).Add(limit).Sub(s.now)
	if left > 0 {
		s.requeueAfter(left)
	}
	return left <= 0
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
// delay at the end of the start, because executors that never ran were not lost. Without initial executors the start
// ends at once, and executors that have not started yet are no shortage (see expects).
func (s *step) phaseByThresholds(started, running int32, readyAt time.Time) lifecycle.Phase {
	t, from := s.app.Thresholds, s.stage()

	switch {
	case !from.Runs() && started < t.Init:
		if started > 0 {
			return lifecycle.Scaling
		}
		return lifecycle.Ready
	case running < t.Min && (from == lifecycle.Below || s.expects(t.Min, readyAt) && s.reports(s.seen.Shortages.Min, &s.plan.Shortages.Min)):
		return lifecycle.Below
	case !t.Dynamic && running < t.Max && (from == lifecycle.Partial || s.expects(t.Max, readyAt) && s.reports(s.seen.Shortages.Max, &s.plan.Shortages.Max)):
		return lifecycle.Partial
	}
	return lifecycle.Running
}

// reports reports whether a shortage of executors changes the phase now. If the driver had enough executors, the
// shortage must have lasted for some time (see shortageLasts).
func (s *step) reports(since time.Time, note *time.Time) bool {
	from := s.stage()
	return !from.Runs() || from == lifecycle.Below || s.shortageLasts(since, note)
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
		target = s.phaseByThresholds(started, math.MaxInt32, d.ReadyAt)
	case started < s.app.InitialExecutors && started > 0:
		target = lifecycle.Scaling
	case started < s.app.InitialExecutors:
		target = lifecycle.Ready
	}

	s.enterPhasesUpTo(target)
}
