package sparkoperator

import "github.com/sparkoperator/spark-operator/dialect"

// These are the types of conditions that the kinds of this API group share.
const (
	ConditionReady       = dialect.ConditionReady
	ConditionReconciling = dialect.ConditionReconciling
	ConditionStalled     = dialect.ConditionStalled
	ConditionSubmitted   = dialect.ConditionSubmitted
	ConditionRunning     = dialect.ConditionRunning
	ConditionDegraded    = dialect.ConditionDegraded
	ConditionSucceeded   = dialect.ConditionSucceeded
	ConditionFailed      = dialect.ConditionFailed
	ConditionSuspended   = dialect.ConditionSuspended
	ConditionExposed     = dialect.ConditionExposed
)

// Event is a Kubernetes Event about a custom resource.
type Event = dialect.Event

// These are the reasons of events. Users of this API rely on them.
const (
	EventTakenOver        = dialect.EventTakenOver
	EventSubmitted        = dialect.EventSubmitted
	EventSubmissionFailed = dialect.EventSubmissionFailed
	EventCompleted        = dialect.EventCompleted
	EventFailed           = dialect.EventFailed
	EventPendingRerun     = dialect.EventPendingRerun
	EventSpecChanged      = dialect.EventSpecChanged
	EventSuspending       = "SparkApplicationSuspending"
	EventSuspended        = "SparkApplicationSuspended"
	EventResuming         = "SparkApplicationResuming"
	EventDriverRunning    = dialect.EventDriverRunning
	EventDriverPending    = dialect.EventDriverPending
	EventDriverDisrupted  = dialect.EventDriverDisrupted
	EventDriverFailed     = dialect.EventDriverFailed
	EventDriverNotFound   = dialect.EventDriverNotFound
	EventDriverUnknown    = dialect.EventDriverUnknown
	EventSubmitterPending = dialect.EventSubmitterPending
	EventExecutorPending  = dialect.EventExecutorPending
	EventExecutorFailed   = dialect.EventExecutorFailed
)

// AuxiliaryObjects are the wanted auxiliary objects of a custom resource.
type AuxiliaryObjects = dialect.AuxiliaryObjects

// FieldError is an error that names a field of a custom resource with an invalid value, the reason, and what to write
// instead.
type FieldError = dialect.FieldError
