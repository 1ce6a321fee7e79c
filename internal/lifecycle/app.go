package lifecycle

import (
	"math"
	"time"
)

// App is the desired state of a custom resource, as a state machine needs it. It contains no objects and no Spark
// configuration. The dialect renders these when an action needs them.
type App struct {
	UID string // of the custom resource
	// SpecHash is the hash of the spec without the fields that only steer the operator: "<version of the
	// algorithm>:<digest>". A change of the digest replaces the run. A missing hash, or one of another version, never
	// counts as a change.
	SpecHash string
	// RestartRequest identifies a request to run the application again without an edit (see the function
	// RestartRequest); empty if there is no request. Each request is carried out once.
	RestartRequest string
	// Edited reports that the spec may have changed since the custom resource was created. An earlier launch that was
	// not stored may then have created a driver with another name, which would not block a second driver. The state
	// machine therefore searches for a driver even before the first attempt.
	Edited   bool
	Deleting bool // the custom resource has a deletion timestamp
	// DeletedAt is the deletion timestamp; zero if it is unknown. It is used only as the start of ForceAfter.
	DeletedAt time.Time
	// Orphan is set if the custom resource is being deleted and its dependents must stay (kubectl delete
	// --cascade=orphan).
	Orphan bool
	// Suspend stops a live attempt. The next attempt starts when the suspension is lifted, and uses up no retry. An
	// application without a live attempt becomes Suspended, or stays in its phase if Hold is set too.
	Suspend bool
	// Hold is set if no attempt may be launched. It stops nothing: an attempt that was launched continues to its end.
	// Restart requests wait until the hold ends.
	Hold    *Cause
	Invalid *Cause // set if no attempt can be rendered from this spec
	// Submitter is the reason why a separate pod creates the driver pod by running the real spark-submit; nil if the
	// operator creates the driver pod itself. It matters only while the attempt has no driver pod.
	Submitter *Cause
	Restart   Restart
	Deadlines Deadlines
	// InitialExecutors is the number of executors that the application starts with; 0 means unknown or none.
	InitialExecutors int32
	// MinExecutors is the number of executors that the application always wants while it runs; 0 means unknown or none.
	MinExecutors int32
	// TTL is how long a finished custom resource is kept, counted from its end; nil means forever, 0 or less means not
	// at all.
	TTL *time.Duration
	// IsServer reports that the driver is a server, which runs until it is stopped. A server that ends by itself has
	// failed, whatever its exit code is. The server is Running while its pod is Ready, whatever the state of its
	// executors is. Only an invalid spec ends it permanently.
	IsServer bool
	// Budget requests a PodDisruptionBudget that protects the driver from evictions. This field may change at any time,
	// and its change does not count as an edit.
	Budget bool
	// MissingGrace is how long a newly created driver pod may be missing from the cache before the state machine
	// requests a live read.
	MissingGrace time.Duration
	// Thresholds are the wanted numbers of executors. If Thresholds is nil, the phase depends on InitialExecutors until
	// the application is Running, and afterwards on no number of executors.
	Thresholds *Thresholds
	// EnterMissedPhases makes the history independent of how late a pass runs. If a driver ended before a pass observed
	// that it ran, the state machine enters all phases through which the driver must have passed. The end of an attempt
	// is stored before any of its objects is deleted.
	EnterMissedPhases bool
	// Retain is the retention rule for the last attempt's objects.
	Retain Retention
	// ForceAfter is the time after which the rest of an attempt is deleted without a grace period (Action.Force); 0
	// means never. The time counts from the end of the attempt or from the deletion of the custom resource. A pod that
	// is force-deleted disappears from the API server at once, even if its node is unreachable and the driver may still
	// run there.
	ForceAfter time.Duration
	// CleanupInterval is the time after which a deletion without effect is requested again; 0 means 15 s.
	CleanupInterval time.Duration
}

// Thresholds are numbers of executors that must run at the same time; 0 means no threshold.
type Thresholds struct {
	Init int32 // the attempt's start ends when this many run; 0: when the driver is Ready
	Min  int32 // if fewer run after the start, the phase is Below
	Max  int32 // if fewer run after the start, but at least Min, the phase is Partial
	// Dynamic reports that Spark itself chooses the number of executors. Fewer executors than Max are then not a
	// shortage.
	Dynamic bool
}

// Shortages contains what a decision notes about the numbers of executors. Min and Max are the times at which the
// number of running executors fell below Thresholds.Min and below Thresholds.Max. A time is zero if enough executors
// run, or if the application is already in the phase for this shortage (Below or Partial).
type Shortages struct {
	Min, Max time.Time
	// Released is the largest number of executors that were observed together after they ended without an error. It is 0
	// while an executor waits to start.
	Released int32
}

// RetainPolicy specifies after which outcomes the objects of the last attempt are kept: driver pod, ConfigMaps,
// Services and claims. A driver that still runs after its attempt has ended is deleted under every policy.
//
// With the zero value, the operator does not delete the ended driver pod, so that the pod's log can be read. Somebody
// else may delete the pod.
type RetainPolicy string

// The retention policies.
const (
	RetainAlways    RetainPolicy = "Always" // after every outcome; objects that somebody is deleting are not kept
	RetainNever     RetainPolicy = "Never"
	RetainOnFailure RetainPolicy = "OnFailure" // after every outcome except Succeeded
)

// Retention specifies which objects of the last attempt are kept, and for how long. All other objects are deleted
// before the application enters the phase Done. When another attempt follows, no object of the earlier attempt is kept.
type Retention struct {
	Policy RetainPolicy
	// For is how long the objects are kept, counted from the entry of the phase Retained. Nil means as long as the
	// custom resource exists. 0 or less means that no objects are kept.
	For *time.Duration
}

// RestartPolicy specifies after which outcomes another attempt follows.
type RestartPolicy string

// The restart policies.
const (
	Never     RestartPolicy = "Never"
	OnFailure RestartPolicy = "OnFailure"
	Always    RestartPolicy = "Always"
	// OnInfrastructureFailure restarts only after outcomes that the application did not cause: StartTimedOut,
	// ExecutorsTimedOut, Refused.
	OnInfrastructureFailure RestartPolicy = "OnInfrastructureFailure"
)

// Restart specifies whether and when further attempts follow. The first attempt is not a retry. With FailureRetries 2,
// for example, there are at most 3 runs.
type Restart struct {
	Policy             RestartPolicy
	FailureRetries     int32
	SubmissionRetries  int32
	FailureInterval    time.Duration // before the first retry after a failed run, counted from its end
	SubmissionInterval time.Duration // before the first retry after a rejected submission, counted from the rejection
	// Factor is the factor by which the interval grows from one retry to the next. 0 means the linear growth of
	// sparkoperator.k8s.io: the interval times the number of submissions so far.
	Factor float64
	// Max is the maximum of the grown interval; 0 means no maximum.
	Max time.Duration
	// ResetAfter is how long a run must have been in the phase Running until earlier failures are forgotten and the run
	// counts as the first one. 0 means that only an edit resets the counts.
	ResetAfter time.Duration
	// Limits, if set, replaces the retries, the intervals and their growth.
	Limits *RestartLimits
}

// RestartLimits limits consecutive restarts (Memory.Restarts). There are separate limits and intervals for restarts
// after any outcome, after a failure, and after a rejection. If the limit or interval for rejections is nil, the one
// for failures applies. If the limit or interval for failures is nil, the one for any outcome applies.
type RestartLimits struct {
	MaxRestarts   int64  // restarts, after any outcome
	MaxFailures   *int64 // restarts in a row after failures; nil: only MaxRestarts limits them
	MaxRejections *int64 // restarts in a row after rejections, which then do not count for MaxFailures; nil: they do
	// The intervals count from the end of the failed attempt. They do not grow.
	Backoff          time.Duration
	FailureBackoff   *time.Duration
	RejectionBackoff *time.Duration
	// ResetAfter is the minimum time from the launch to the end of an attempt after which earlier restarts are
	// forgotten; nil means that they are never forgotten.
	ResetAfter *time.Duration
}

// Delay returns the time from the end of an attempt with the given outcome to the start of the next attempt. The time
// is rounded down to microseconds, the precision of a status.
func (c *RestartLimits) Delay(outcome Outcome) time.Duration {
	delay := c.Backoff
	switch {
	case outcome == Refused && c.RejectionBackoff != nil:
		delay = *c.RejectionBackoff
	case outcome != Succeeded && c.FailureBackoff != nil:
		delay = *c.FailureBackoff
	}
	return min(max(delay, 0), math.MaxInt64/2).Truncate(time.Microsecond)
}

// Restarts contains the counts to which RestartLimits applies. A restart is counted when it is decided. In the phase
// Waiting, the counts therefore include the attempt that has not started yet.
type Restarts struct {
	Total      int64 // since the first attempt, or since the last attempt that lived long enough
	Failures   int64 // consecutive restarts after a failure, including a rejection
	Rejections int64 // consecutive restarts after a rejection
}

// Deadlines limit the durations of the phases of an attempt; 0 means that a phase has no limit.
type Deadlines struct {
	// DriverStart limits the phase Launched: the time from the launch until the driver container runs. Time that the
	// driver pod spends behind scheduling gates does not count.
	DriverStart time.Duration
	DriverReady time.Duration // limits Started: until the driver pod is Ready
	// ExecutorsStart limits Ready and Scaling: until the initial executors run. Time that an executor spends behind
	// scheduling gates does not count.
	ExecutorsStart time.Duration
	// RestartAtScaling means that the time of ExecutorsStart starts again at the entry of Scaling.
	RestartAtScaling bool
	Run              time.Duration // limits the time from the launch until the end
}
