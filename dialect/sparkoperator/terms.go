package sparkoperator

import "github.com/sparkoperator/spark-operator/dialect"

// Types of conditions of every kind.
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

// Reasons of events, as the users of this API know them.
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

// AuxiliaryObjects are the auxiliary objects of an application.
type AuxiliaryObjects = dialect.AuxiliaryObjects

// FieldError names a field of a custom resource that cannot be used, and says why and what to write instead.
type FieldError = dialect.FieldError
