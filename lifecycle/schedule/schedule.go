// Package schedule is the state machine of a schedule that starts applications. Step is a pure function from the
// desired, remembered and observed state to a plan.
//
// The times at which a schedule is due are its ticks. They follow from the schedule, its time zone and, for an
// interval, from the time at which the schedule took effect. The name of a run is computed from its tick. Three rules
// prevent duplicate and lost runs:
//
//   - if the operator died between the creation of a run and its status write, the tick is decided again, and the run
//     is found by its name, so nothing is started twice;
//   - no tick at or before the last remembered tick is ever started, even if the clock goes back;
//   - if a decision requires that no run is active, a live read confirms this.
//
// If several ticks were missed, the latest is started and the others are reported.
package schedule

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Policy says what happens if a run is due while another run is active.
type Policy string

// The policies.
const (
	Allow   Policy = "Allow"   // both run
	Forbid  Policy = "Forbid"  // the new one waits until all others have ended; a later tick replaces it
	Replace Policy = "Replace" // the active ones are deleted; the new one starts when they are gone
)

// Schedule is the desired state of a custom resource of the kind ScheduledSparkApplication.
type Schedule struct {
	Name     string
	UID      string
	Created  time.Time
	Deleting bool // the custom resource has a deletion timestamp
	// Key identifies the schedule and its zone (see the function Key): a different key means an edit.
	Key string
	// Times are the schedule's ticks; nil if Invalid gives the reason for their absence.
	Times *Times
	// Invalid is set if no run of this spec can ever be started, or if the spec is ambiguous. No run is started then.
	Invalid *lifecycle.Cause
	// Generation is the generation of the spec. If it changes, a rejected run is retried at once.
	Generation int64
	Suspend    bool // ticks start nothing; a request still does
	Policy     Policy
	// Successful and Failed are how many runs with that outcome are kept.
	Successful, Failed int
	// Deadline is how late a run may start; nil means without limit. It counts in whole seconds.
	Deadline *time.Duration
	// Jitter is the maximum delay of a run after its tick, in whole seconds; 0 means none.
	Jitter time.Duration
	// Request asks for a run besides those of the ticks, one run for each value; empty means none. See the function
	// Request.
	Request string
	// Precision is the unit of the tick in a run's name; empty means Seconds.
	Precision Precision
}

// Memory is the part of a schedule's state that one decision passes to the next because it cannot be observed again.
// The zero value belongs to a schedule about which nothing was decided yet.
type Memory struct {
	Key   string    // of the schedule that the other fields describe
	Since time.Time // when the schedule took effect: nothing at or before this time is ever started
	// LastTick is the tick of the last run that was started or skipped: nothing at or before it is ever started.
	LastTick    time.Time
	LastRun     time.Time // when the last run was started, in whole seconds
	LastRunName string
	LastRequest string // the value of the last request that was honored
	Generation  int64  // of the spec of the last decision
	Suspended   bool   // the schedule was suspended at that decision
	// Rejected is the name of the last rejected run of a tick. RejectedSince is when the first rejection since the last
	// started run happened. Retry is when the next try is due; Cause has the reason. All are zero if nothing was
	// rejected. The run of a later tick does not wait for Retry.
	Rejected      string
	RejectedSince time.Time
	Retry         time.Time
	// Requested is the requested run that has not started yet. If another request replaces it, that is reported.
	Requested Waiting
	// Cause is why runs are not started; zero if there is no problem. It does not include the rejection of a requested
	// run.
	Cause lifecycle.Cause
	// Succeeded and Failed are the runs whose end was observed, newest first. A run is deleted only after it is stored
	// here.
	Succeeded, Failed []string
}

// Waiting is a requested run that has not started yet. The zero value means that there is no such run.
type Waiting struct {
	Run string // its name
	// Since is when the run was first rejected, Retry when the next try is due, and Cause why. All are zero without a
	// rejection.
	Since, Retry time.Time
	Cause        lifecycle.Cause
}

// Plan is the result of a decision about a schedule.
type Plan struct {
	Next Memory
	// Notices holds notices about runs, by name, or about the schedule. The reason of a cause is one of this package or
	// of the API server.
	Notices []lifecycle.Notice
	// Actions creates, deletes and confirms ScheduledRuns. It creates one run at most. To confirm a run is to read it
	// live; an action without a name reads all runs.
	Actions      []lifecycle.Action
	RequeueAfter time.Duration // requeue after this time; 0 = only on a change
	// NextRun is when the next run is due; a time in the past if a run is waiting, zero if no run is due.
	NextRun time.Time
}

// Reasons of causes and notices.
const (
	ReasonStarted   = "RunStarted"
	ReasonCompleted = "RunCompleted"
	ReasonFailed    = "RunFailed"
	ReasonReplaced  = "RunReplaced"
	ReasonWaiting   = "RunWaiting" // the due run waits for other runs to end
	ReasonReplacing = "Replacing"  // the due run waits for the runs that it replaces to be gone
	ReasonMissed    = "RunsMissed" // ticks were skipped for a later one
	ReasonSkipped   = "RunSkipped" // the deadline has passed
	ReasonRefused   = "RunRefused" // of a notice; the cause has the API server's reason
	ReasonEdited    = "ScheduleChanged"
	ReasonValid     = "ScheduleValid"
	ReasonSuspended = "ScheduleSuspended"
	ReasonResumed   = "ScheduleResumed"
	ReasonClock     = "ClockWentBack"
	ReasonTakenOver = "ScheduleTakenOver" // from another operator
	ReasonHonored   = "RequestHonored"    // by a run that was started before
	ReasonDropped   = "RequestDropped"    // it was withdrawn or replaced before its run could be started
)
