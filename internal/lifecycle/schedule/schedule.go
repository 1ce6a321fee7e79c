// Package schedule is the state machine of a schedule that starts applications. Step is a pure function from the
// desired, remembered and observed state to a plan.
//
// The times at which a schedule is due are its ticks. They follow from the schedule, its time zone and, for an
// interval, from the time at which the schedule took effect. The name of a run is computed from its tick. Three rules
// prevent duplicate and lost runs:
//
//   - if the operator dies between the creation of a run and the status write, the next pass finds the run by its name,
//     so no run is started twice;
//   - no tick at or before the last remembered tick is ever started, even if the clock goes back;
//   - if a decision requires that no run is active, a live read confirms this.
//
// If several ticks were missed, the latest is started and the others are reported.
package schedule

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Policy says what happens if a run is due while another run is active.
type Policy string

// The policies.
const (
	Allow   Policy = "Allow"   // both runs are active at the same time
	Forbid  Policy = "Forbid"  // the new run waits until all others have ended; the run of a later tick replaces it
	Replace Policy = "Replace" // the active runs are deleted; then the new run starts
)

// Schedule is the desired state of a custom resource of the kind ScheduledSparkApplication.
type Schedule struct {
	Name     string
	UID      string
	Created  time.Time
	Deleting bool // the custom resource has a deletion timestamp
	// Key identifies the schedule and its zone (see the function Key): a different key means an edit.
	Key string
	// Times are the schedule's ticks. Times is nil if the schedule has no ticks; Invalid then says why.
	Times *Times
	// Invalid is set if no run of this spec can ever be started, or if the spec is ambiguous. While it is set, no run
	// is started.
	Invalid *lifecycle.Cause
	// Generation is the generation of the spec. If it changes, a rejected run is retried at once.
	Generation int64
	Suspend    bool // ticks start no runs; a request still starts one
	Policy     Policy
	// Successful and Failed are the maximum numbers of runs with that outcome that are kept.
	Successful, Failed int
	// Deadline is the maximum delay with which a run may still start, in whole seconds; nil means no maximum.
	Deadline *time.Duration
	// Jitter is the maximum delay of a run after its tick, in whole seconds; 0 means none.
	Jitter time.Duration
	// Request requests a run in addition to the runs of the ticks. Each new value requests one run; empty means no
	// request. See the function Request.
	Request string
	// Precision is the unit in which the name of a run gives its tick; empty means Seconds.
	Precision Precision
}

// Memory is the part of a schedule's state that cannot be observed again, so each decision passes it to the next. A
// schedule without any decision has the zero value.
type Memory struct {
	Key   string    // identifies the schedule that the other fields describe
	Since time.Time // when the schedule took effect: no tick at or before this time is ever started
	// LastTick is the tick of the last run that was started or skipped. No tick at or before it is ever started.
	LastTick    time.Time
	LastRun     time.Time // when the last run was started, in whole seconds
	LastRunName string
	LastRequest string // the value of the last request whose run was started
	Generation  int64  // of the spec at the last decision
	Suspended   bool   // whether the schedule was suspended at the last decision
	// Rejected is the name of the last rejected run of a tick. RejectedSince is the time of the first rejection after
	// the last started run. Retry is when the creation is tried again; Cause has the reason. All are zero if no run was
	// rejected. The run of a later tick does not wait for Retry.
	Rejected      string
	RejectedSince time.Time
	Retry         time.Time
	// Requested is the requested run that has not started yet. If another request replaces it, a notice reports this.
	Requested Waiting
	// Cause is why runs are not started; zero if there is no problem. The rejection of a requested run is not in Cause
	// but in Requested.
	Cause lifecycle.Cause
	// Succeeded and Failed are the names of the runs whose end was observed, newest first. A run is deleted only after
	// its name is stored here.
	Succeeded, Failed []string
}

// Waiting is a requested run that has not started yet. The zero value means that there is no such run.
type Waiting struct {
	Run string // its name
	// Since is when the run was first rejected, Retry is when its creation is tried again, and Cause is the reason of
	// the rejection. All are zero if the run was not rejected.
	Since, Retry time.Time
	Cause        lifecycle.Cause
}

// Plan is the result of a decision about a schedule.
type Plan struct {
	Next Memory
	// Notices are about the schedule, or about a run whose name they contain. The reason of a notice's cause is defined
	// in this package or copied from the API server.
	Notices []lifecycle.Notice
	// Actions create, delete and confirm ScheduledRuns. They create at most one run. Confirm reads the named run live,
	// or all runs if the action has no name.
	Actions      []lifecycle.Action
	RequeueAfter time.Duration // requeue after this time; 0: only an event starts the next pass
	// NextRun is when the next run is due. It is in the past if a run waits, and zero if no run will be due.
	NextRun time.Time
}

// The values of Cause.Reason and Notice.Reason.
const (
	ReasonStarted   = "RunStarted"
	ReasonCompleted = "RunCompleted"
	ReasonFailed    = "RunFailed"
	ReasonReplaced  = "RunReplaced"
	ReasonWaiting   = "RunWaiting" // the due run waits for other runs to end
	ReasonReplacing = "Replacing"  // the due run waits until the runs that it replaces are deleted
	ReasonMissed    = "RunsMissed" // ticks were skipped because a later tick is due
	ReasonSkipped   = "RunSkipped" // the deadline has passed
	ReasonRefused   = "RunRefused" // only in notices; the cause has the API server's reason
	ReasonEdited    = "ScheduleChanged"
	ReasonValid     = "ScheduleValid"
	ReasonSuspended = "ScheduleSuspended"
	ReasonResumed   = "ScheduleResumed"
	ReasonClock     = "ClockWentBack"
	ReasonTakenOver = "ScheduleTakenOver" // from another operator
	ReasonHonored   = "RequestHonored"    // a run was already started for this request
	ReasonDropped   = "RequestDropped"    // the request was withdrawn or replaced before its run could be started
)

// The results of runs. The metrics count runs by result.
const (
	ResultStarted   = "started"   // started at its scheduled time
	ResultAsked     = "asked"     // started on request
	ResultSkipped   = "skipped"   // not started: another run was active, or its deadline had passed
	ResultRefused   = "refused"   // the run's application could not be created
	ResultReplaced  = "replaced"  // deleted while active, in favour of the next run
	ResultSucceeded = "succeeded" // the run's application succeeded
	ResultFailed    = "failed"    // the run's application ended without success
)
