package lifecycle

// These are the values of Cause.Reason on which decisions depend, or which decisions return. All other reasons
// (ImagePullBackOff, Unschedulable and so on) are copied unchanged from Kubernetes, or come from the rules in package
// cause.
const (
	ReasonEvicted         = "Evicted"         // Kubernetes or its Eviction API evicted the pod
	ReasonPreempted       = "Preempted"       // a pod of higher priority replaced the pod
	ReasonSchedulerSilent = "SchedulerSilent" // the pod's scheduler has not handled it
	ReasonSchedulingGated = "SchedulingGated" // the pod has scheduling gates, which a queue removes
	ReasonNodeLost        = "NodeLost"        // the pod's node does not respond
	ReasonInvalid         = "InvalidSpec"     // no attempt or auxiliary object can be rendered from the spec
	ReasonDriverLost      = "DriverNotFound"  // the driver pod no longer exists, and its end was not observed
	ReasonDriverFailed    = "DriverFailed"    // the driver pod failed and gives no reason
	ReasonDriverDeleting  = "DriverDeleting"  // somebody is deleting the driver pod
	ReasonDriverDeleted   = "DriverDeleted"   // somebody deleted the driver pod before it ended
	// ReasonExecutorDeleted means that somebody deleted a running executor pod without a grace period.
	ReasonExecutorDeleted  = "ExecutorDeleted"
	ReasonSubmitFailed     = "SparkSubmitFailed" // the submitter pod failed and gives no one-word reason
	ReasonSubmitterDeleted = "SubmitterDeleting" // somebody is deleting the submitter pod
	// ReasonInterrupted means that the submitter pod ended after it created the driver pod and before it created the
	// objects that the driver mounts.
	ReasonInterrupted       = "SubmissionInterrupted"
	ReasonOOMKilled         = "OOMKilled"               // a container used more memory than its limit
	ReasonDeadlineExceeded  = "DeadlineExceeded"        // a pod was active for longer than its own deadline
	ReasonStartTimedOut     = "DriverStartTimedOut"     // Deadlines.DriverStart passed
	ReasonReadyTimedOut     = "DriverReadyTimedOut"     // Deadlines.DriverReady passed
	ReasonExecutorsTimedOut = "ExecutorsStartTimedOut"  // Deadlines.ExecutorsStart passed
	ReasonRunTimedOut       = "RunTimedOut"             // Deadlines.Run passed
	ReasonSuspended         = "Suspended"               // the spec requests a suspension
	ReasonQueueEviction     = "KueueEviction"           // the queue took back the quota of a running attempt
	ReasonQuotaAdmitted     = "KueueAdmitted"           // the queue gave quota to the attempt that is launched
	ReasonNoAttempts        = "AttemptsExhausted"       // the attempt number has reached its maximum
	ReasonRestartsExhausted = "RestartsExhausted"       // a limit of Restart.Limits is reached
	ReasonBelowThreshold    = "ExecutorsBelowThreshold" // fewer executors run than Thresholds.Min
	ReasonPartialCapacity   = "PartialCapacity"         // fewer executors run than Thresholds.Max
	ReasonQuota             = "QuotaExceeded"           // a quota of the namespace rejects a pod
	ReasonPodInvalid        = "Invalid"                 // the API server refuses a pod as invalid, so only an edit helps
	ReasonExecutorsMissing  = "ExecutorsMissing"        // fewer executors exist than wanted, for an unknown reason
	ReasonFinalizers        = "PodHasFinalizers"        // finalizers keep a pod that is being deleted
	ReasonSidecarRuns       = "SidecarRuns"             // a container of the driver pod outlives the driver
	ReasonEdited            = "SpecChanged"             // the spec was edited
	ReasonRestartRequested  = "RestartRequested"        // RestartAnnotation has a new value
	ReasonServerEnded       = "ServerEnded"             // a server ended without an error and without a request to stop
	ReasonServerNotReady    = "ServerNotReady"          // a server's pod was Ready and no longer is
)
