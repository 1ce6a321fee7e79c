// Package schedule is the machine of a schedule that starts applications: Step, a pure function from what is wanted, remembered and seen to a
// plan.
//
// A schedule's times are its ticks: a pure function of the schedule, its zone and, for an interval, of the moment since when it holds. A run's
// name is computed from its tick. Three rules keep runs from being doubled or lost:
//
//   - a tick that is not remembered finds its own run by the name, so an operator that died between a run and its status write starts nothing twice;
//   - nothing at or before the last remembered tick is ever started, wherever the clock goes;
//   - that no run goes on is believed after a live read only, where anything depends on it.
//
// Where several ticks were missed the latest of them is started, and the others are told of.
package schedule

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Policy says what happens when a run is due while another goes on.
type Policy string

// The policies.
const (
	Allow   Policy = "Allow"   // both run
	Forbid  Policy = "Forbid"  // the new one waits until none goes on; a later tick takes its place
	Replace Policy = "Replace" // those that go on are deleted; the new one starts when nothing of them is left
)

// Schedule is what a custom resource asks for.
type Schedule struct {
	Name     string
	UID      string
	Created  time.Time
	Deleting bool // the custom resource has a deletion timestamp
	// Key tells the schedule and its zone from others (Key): another one is an edit.
	Key string
	// Times are the schedule's ticks; nil where Invalid says why there are none.
	Times *Times
	// Invalid is set when no run of this spec could ever be started, or when it is not known what is meant: no run is started then.
	Invalid *lifecycle.Cause
	// Generation is that of the spec: another one makes a run that was refused worth another try at once.
	Generation int64
	Suspend    bool // the ticks start nothing; a request does
	Policy     Policy
	// Successful and Failed are how many runs that ended so are kept.
	Successful, Failed int
	// Deadline is how late a run may start; nil means however late. It is counted in whole seconds.
	Deadline *time.Duration
	// Jitter is how long after its tick a run starts at most, in whole seconds; 0 means on time.
	Jitter time.Duration
	// Request asks for a run besides those of the ticks, each value for one; empty asks for nothing. See Request.
	Request string
	// Precision is how finely a run's name tells its tick; empty means Seconds.
	Precision Precision
}

// Memory is what must be remembered of a schedule from one decision to the next and cannot be observed again. The zero value is that of a schedule
// which was never seen.
type Memory struct {
	Key   string    // of the schedule that the rest is about
	Since time.Time // since when it holds: nothing at or before this is ever started
	// LastTick is the tick of the last run that was started or given up: nothing at or before it is ever started.
	LastTick    time.Time
	LastRun     time.Time // when the last run was started, in whole seconds
	LastRunName string
	LastRequest string // the value of the request that was honored last
	Generation  int64  // of the spec that was decided about last
	Suspended   bool   // the schedule was suspended then
	// Refused is the name of the tick's run that was refused last, RefusedSince when the first refusal was since one was started, and Retry when
	// the next try is due; Cause says why. All are zero where nothing is refused. The run of a later tick does not wait for the next try.
	Refused      string
	RefusedSince time.Time
	Retry        time.Time
	// Asked is the run of the request that waits. It is told when another request takes its place.
	Asked Waiting
	// Cause is why runs are not started; zero where there is no trouble. It does not say why a request's is refused.
	Cause lifecycle.Cause
	// Succeeded and Failed are the runs that were seen to have ended so, newest first. One is deleted only after it was remembered here.
	Succeeded, Failed []string
}

// Waiting is a run that was asked for and is not started yet; the zero value where there is none.
type Waiting struct {
	Run string // its name
	// Since is when it was refused first, Retry when the next try is due, and Cause why. All are zero of one that was not refused.
	Since, Retry time.Time
	Cause        lifecycle.Cause
}

// Plan is a decision about a schedule.
type Plan struct {
	Next Memory
	Tell []lifecycle.Notice // of runs, by name, or of the schedule; a cause's reason is one of this package's or the API server's
	// Do creates, deletes and confirms ScheduledRuns. One run is created at most. To confirm one is to look live for it, and without a name for all.
	Do    []lifecycle.Action
	Check time.Duration // look again after this; 0 = only on a change
	// NextRun is when the next run is due, which has passed where one waits; zero where none is.
	NextRun time.Time
}

// Reasons of causes and notices.
const (
	ReasonStarted   = "RunStarted"
	ReasonCompleted = "RunCompleted"
	ReasonFailed    = "RunFailed"
	ReasonReplaced  = "RunReplaced"
	ReasonWaiting   = "RunWaiting" // the run that is due waits for others to end
	ReasonReplacing = "Replacing"  // the run that is due waits for those that it replaces to be gone
	ReasonMissed    = "RunsMissed" // ticks were given up for a later one
	ReasonSkipped   = "RunSkipped" // the deadline has passed
	ReasonRefused   = "RunRefused" // of a notice; the cause has the API server's reason
	ReasonEdited    = "ScheduleChanged"
	ReasonValid     = "ScheduleValid"
	ReasonSuspended = "ScheduleSuspended"
	ReasonResumed   = "ScheduleResumed"
	ReasonClock     = "ClockWentBack"
	ReasonTakenOver = "ScheduleTakenOver" // of another operator
	ReasonHonored   = "RequestHonored"    // by a run that was started before
	ReasonDropped   = "RequestDropped"    // it was taken back, or another took its place, before its run could be started
)
