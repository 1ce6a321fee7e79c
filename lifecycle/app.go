package lifecycle

import (
	"math"
	"time"
)

// App is what a custom resource asks for, in the terms a machine decides by. It holds no objects and no Spark configuration: those
// are rendered by the dialect when an action needs them.
type App struct {
	UID string // of the custom resource
	// SpecHash is the hash of the spec less the fields that only steer the operator: "<version of the algorithm>:<digest>". A change of
	// the digest replaces the run; another version, or none, is never taken for a change.
	SpecHash string
	// Edited tells that the spec may have been another one since the custom resource was created. A launch that was not remembered may have made a driver by
	// another name then, which does not stop a second one: it is looked for before the first attempt as well.
	Edited   bool
	Deleting bool // the custom resource has a deletion timestamp
	// DeletedAt is that timestamp; zero where it is not known. Only ForceAfter counts from it.
	DeletedAt time.Time
	Orphan    bool // it is being deleted, and what it made is to stay (kubectl delete --cascade=orphan)
	Suspend   bool
	Invalid   *Cause // set when no attempt of this spec could ever be rendered
	// Submitter says why a pod of its own makes the driver pod, by the real spark-submit; nil where the operator makes it itself. It matters
	// only while an attempt's driver is not there.
	Submitter *Cause
	Restart   Restart
	Limits    Deadlines
	// Executors that the application starts with; 0 means that it is not known or none are wanted.
	InitialExecutors int32
	// Executors that the application always wants while it runs; 0 means that it is not known or none are.
	MinExecutors int32
	// TTL is how long a finished custom resource is kept, counted from its end; nil means for ever, 0 or less at once.
	TTL *time.Duration
	// Serves tells that the driver is a server, which ends when it is stopped and not before: one that ends by itself has failed, whatever its exit
	// code, and it is Running while its pod is Ready, whatever its executors do. An end for good there is only of a spec that cannot be used.
	Serves bool
	// Budget asks for a budget that keeps the driver from being evicted. It may change at any time, and is no edit.
	Budget bool
	// MissingGrace is how long a driver pod that was just created may be invisible before a live read is made.
	MissingGrace time.Duration
	// Thresholds say how many executors the application is to have; nil where only InitialExecutors counts, and nothing once it is Running.
	Thresholds *Thresholds
	// Retrace makes the history the same however late anybody looks: a driver that ended before it was seen to run is led through the phases that it
	// must have come through, and an end is stored before anything of its attempt is deleted.
	Retrace bool
	// Retain says what becomes of the last attempt's objects.
	Retain Retention
	// ForceAfter is after how long since an attempt's end, or the deletion of the custom resource, what is left of the attempt is deleted without
	// a grace period (Action.Force); 0 means never. A pod that is deleted so is gone for the API server at once, also where its node cannot be
	// asked whether the driver in it still runs.
	ForceAfter time.Duration
	// CleanAgain is after how long a deletion that shows no effect is asked for again; 0 means 15 s.
	CleanAgain time.Duration
}

// Thresholds are counts of executors that run at the same time; 0 is no threshold.
type Thresholds struct {
	Init int32 // the attempt's start is over when so many run; 0: as soon as the driver is Ready
	Min  int32 // with fewer, once it started, it is Below
	Max  int32 // with fewer, once it started, and no fewer than Min, it is Partial
	// Dynamic tells that Spark itself chooses how many there are: fewer than Max are no lack then.
	Dynamic bool
}

// Lacks are the times since when fewer executors run than Thresholds asks for; zero if enough run, or if the phase
// already says so.
type Lacks struct {
	Min, Max time.Time
}

// RetainPolicy says after which ends what the last attempt had is kept: driver pod, ConfigMaps, Services, claims. A driver that goes on although its
// attempt is over is kept by none. The zero value keeps the driver pod for its log, as long as it is there, whoever may be deleting it.
type RetainPolicy string

// The policies of retention.
const (
	RetainAlways    RetainPolicy = "Always" // what is there, and nobody deletes
	RetainNever     RetainPolicy = "Never"
	RetainOnFailure RetainPolicy = "OnFailure" // after every outcome but Succeeded
)

// Retention is what becomes of the last attempt's objects. What is not retained is deleted before the application is Done; nothing is retained from one
// attempt to the next.
type Retention struct {
	Policy RetainPolicy
	// For is how long they are kept, counted from the entry of Retained; nil means as long as the custom resource, 0 or less not at all.
	For *time.Duration
}

// RestartPolicy says after which outcomes another attempt is made.
type RestartPolicy string

// The restart policies.
const (
	Never     RestartPolicy = "Never"
	OnFailure RestartPolicy = "OnFailure"
	Always    RestartPolicy = "Always"
	// OnInfrastructureFailure is after what is not the application's own doing: StartTimedOut, ExecutorsTimedOut, Refused.
	OnInfrastructureFailure RestartPolicy = "OnInfrastructureFailure"
)

// Restart is the rule for further attempts. Retries count what comes after the first: FailureRetries 2 means at most 3 runs.
type Restart struct {
	Policy             RestartPolicy
	FailureRetries     int32
	SubmissionRetries  int32
	FailureInterval    time.Duration // before the first retry after a failed run, counted from its end
	SubmissionInterval time.Duration // before the first retry after a refused submission, counted from the refusal
	// Factor multiplies the interval from one retry to the next. 0 means the linear growth of the sparkoperator.k8s.io family:
	// interval times the number of submissions so far.
	Factor float64
	// Max caps the interval; 0 means no cap.
	Max time.Duration
	// Settled is for how long a run must have been Running so that what failed before it is forgotten, and it counts as the first; 0 means that nothing
	// is forgotten but by an edit.
	Settled time.Duration
	// Counted replaces, where it is set, the retries, the intervals and what they grow by.
	Counted *Counted
}

// Counted bounds restarts by how many came one after the other (Memory.Restarts), each kind of end with a limit and an interval of its own. A limit or an
// interval that is nil is that of the next wider kind: of refusals that of failures, of failures that of all.
type Counted struct {
	Most         int64  // restarts, after whatever end
	MostFailures *int64 // in a row after failures; nil: no limit but Most
	MostRefusals *int64 // in a row after refusals, for which MostFailures does not count then; nil: MostFailures
	// The intervals are counted from the end of the attempt that failed, and do not grow.
	Backoff        time.Duration
	FailureBackoff *time.Duration
	RefusalBackoff *time.Duration
	// ResetAfter is for how long an attempt must have lived, from its launch to its end, so that what was counted before it is forgotten; nil: never.
	ResetAfter *time.Duration
}

// Delay is the time from the end of an attempt with an outcome to the next, in microseconds, which is what a status can hold.
func (c *Counted) Delay(outcome Outcome) time.Duration {
	delay := c.Backoff
	switch {
	case outcome == Refused && c.RefusalBackoff != nil:
		delay = *c.RefusalBackoff
	case outcome != Succeeded && c.FailureBackoff != nil:
		delay = *c.FailureBackoff
	}
	return min(max(delay, 0), math.MaxInt64/2).Truncate(time.Microsecond)
}

// Restarts are what Counted bounds. They count an attempt from when it is decided on: in Waiting they are those of the attempt that is waited for.
type Restarts struct {
	Total    int64 // since the first attempt, or the last one that lived long enough
	Failures int64 // of these, those in a row that came after a failure; a refusal is one
	Refusals int64 // of these, those in a row that came after a refusal
}

// Deadlines bound the phases of an attempt; 0 means no bound.
type Deadlines struct {
	// DriverStart bounds Launched: from the launch until the driver container runs. Time that the driver pod spends behind
	// scheduling gates does not count.
	DriverStart    time.Duration
	DriverReady    time.Duration // Started: until the driver pod is Ready
	ExecutorsStart time.Duration // Ready, Scaling: until the initial executors run
	// ScalingAnew gives them that time once more from the entry of Scaling.
	ScalingAnew bool
	Run         time.Duration // from the launch until the end
}
