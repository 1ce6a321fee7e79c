package lifecycle

// Reasons of causes that decisions rest on or make themselves. Others come from Kubernetes as they are (ImagePullBackOff, Unschedulable,
// OOMKilled and the like).
const (
	ReasonEvicted           = "Evicted"                 // the pod was taken from its node by Kubernetes or its Eviction API
	ReasonPreempted         = "Preempted"               // the pod gave way to one of higher priority
	ReasonSchedulerSilent   = "SchedulerSilent"         // the pod's scheduler has said nothing about it
	ReasonSchedulingGated   = "SchedulingGated"         // the pod has scheduling gates, which a queue removes
	ReasonNodeLost          = "NodeLost"                // the pod's node does not answer
	ReasonInvalid           = "InvalidSpec"             // no attempt of the spec could ever be rendered
	ReasonDriverLost        = "DriverNotFound"          // the driver pod is gone and nobody saw it end
	ReasonDriverFailed      = "DriverFailed"            // the driver pod failed and does not say why
	ReasonDriverDeleting    = "DriverDeleting"          // somebody is deleting the driver pod
	ReasonDriverDeleted     = "DriverDeleted"           // somebody deleted the driver pod before it ended
	ReasonExecutorDeleted   = "ExecutorDeleted"         // somebody deleted an executor pod, without a grace period, while it ran
	ReasonSubmitFailed      = "SparkSubmitFailed"       // the pod that was to submit failed and does not say why in one word
	ReasonSubmitterDeleted  = "SubmitterDeleting"       // somebody is deleting the pod that submits
	ReasonInterrupted       = "SubmissionInterrupted"   // the pod that submits ended between the driver pod and what that mounts
	ReasonDeadlineExceeded  = "DeadlineExceeded"        // a pod was active for longer than its own deadline
	ReasonStartTimedOut     = "DriverStartTimedOut"     // Deadlines.DriverStart passed
	ReasonReadyTimedOut     = "DriverReadyTimedOut"     // Deadlines.DriverReady passed
	ReasonExecutorsTimedOut = "ExecutorsStartTimedOut"  // Deadlines.ExecutorsStart passed
	ReasonRunTimedOut       = "RunTimedOut"             // Deadlines.Run passed
	ReasonSuspended         = "Suspended"               // asked to suspend
	ReasonNoAttempts        = "AttemptsExhausted"       // the attempts are numbered to the last that there is
	ReasonRestartsExhausted = "RestartsExhausted"       // a limit of Restart.Counted is reached
	ReasonBelowThreshold    = "ExecutorsBelowThreshold" // fewer executors run than Thresholds.Min
	ReasonPartialCapacity   = "PartialCapacity"         // fewer executors run than Thresholds.Max
	ReasonEdited            = "SpecChanged"             // the spec was edited
	ReasonServerEnded       = "ServerEnded"             // a server ended without an error, and nobody had asked it to
	ReasonServerNotReady    = "ServerNotReady"          // a server's pod was Ready and is not any more
)
