package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScheduledSparkApplication runs a Spark application again and again by a schedule. Each run is a SparkApplication of its own.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=scheduledsparkapplications,singular=scheduledsparkapplication,shortName=scheduledsparkapp
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:name="Schedule",type="string",JSONPath=".spec.schedule"
// +kubebuilder:printcolumn:name="TimeZone",type="string",JSONPath=".spec.timeZone"
// +kubebuilder:printcolumn:name="Suspend",type="string",JSONPath=".spec.suspend"
// +kubebuilder:printcolumn:name="Last Run",type="date",JSONPath=".status.lastRun"
// +kubebuilder:printcolumn:name="Last Run Name",type="string",JSONPath=".status.lastRunName"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ScheduledSparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be a DNS label that starts with a letter, since the runs are named after it.
	metav1.ObjectMeta `json:"metadata"`

	// What is wanted.
	Spec ScheduledSparkApplicationSpec `json:"spec"`
	// What was seen last. Written by the operator alone.
	// +optional
	Status ScheduledSparkApplicationStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and the way out. The spec is empty then, and such an
	// object cannot be encoded, so that no update stores the empty spec. UnmarshalJSON writes this; it is no part of the stored object.
	OutOfBounds string `json:"-"`
	// The length of the JSON of the spec in bytes, or 0 if the spec was not read. UnmarshalJSON sets it; it is not stored.
	SpecBytes int `json:"-"`
}

// ScheduledSparkApplicationList is a list of ScheduledSparkApplications.
//
// +kubebuilder:object:root=true
type ScheduledSparkApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScheduledSparkApplication `json:"items"`
}

// ScheduledSparkApplicationSpec says what is run and when.
type ScheduledSparkApplicationSpec struct {
	// When to run: five fields of cron, or @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration such as @every 5m. It may begin with
	// CRON_TZ= or TZ= and a time zone, which is used instead of timeZone.
	// +kubebuilder:validation:MaxLength=1024
	Schedule string `json:"schedule" bounds:"max=1024"`
	// The time zone that the schedule is read in, by its name in the IANA database, for example Europe/Vienna. Default: UTC.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	TimeZone string `json:"timeZone,omitempty" bounds:"max=256"`
	// The application to run.
	Template SparkApplicationSpec `json:"template"`
	// Starts no further runs while true. Runs that go on are left alone.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// What to do when a run is due while another goes on: Allow both, Forbid the new one until none goes on, Replace the old one. Default Allow.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// How many runs that ended well are kept; 0 keeps none. Default 1. A negative number is told by a condition.
	// +optional
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`
	// How many runs that failed are kept; 0 keeps none. Default 1. A negative number is told by a condition.
	// +optional
	FailedRunHistoryLimit *int32 `json:"failedRunHistoryLimit,omitempty"`
	// How late a run may start, in seconds after its time; later than that it is skipped and told. Absent: however late, one run makes
	// up for all that were missed. Optional, known to this operator alone.
	// +kubebuilder:validation:Minimum=0
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Spreads the runs of many schedules: each run starts up to so many seconds after its time, by the same amount for one resource, and
	// always before the time of the next. Absent or 0: on time. Optional, known to this operator alone.
	// +kubebuilder:validation:Minimum=0
	// +optional
	JitterSeconds *int64 `json:"jitterSeconds,omitempty"`
}

// ConcurrencyPolicy says what happens when a run is due while the last one goes on. Values other than the known ones are told by a
// condition.
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ConcurrencyAllow: both run.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid: the new one waits until no run goes on.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace: the old one is deleted first.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// ScheduleState is the state of a schedule.
type ScheduleState string

// The states of a schedule.
const (
	ScheduleStateNew              ScheduleState = ""
	ScheduleStateValidating       ScheduleState = "Validating"
	ScheduleStateScheduled        ScheduleState = "Scheduled"
	ScheduleStateFailedValidation ScheduleState = "FailedValidation"
)

// ScheduledSparkApplicationStatus is what the operator saw and did last.
type ScheduledSparkApplicationStatus struct {
	// When the last run was started.
	// +nullable
	// +optional
	LastRun metav1.Time `json:"lastRun,omitzero"`
	// When the next run is due.
	// +nullable
	// +optional
	NextRun metav1.Time `json:"nextRun,omitzero"`
	// Name of the last run's SparkApplication.
	// +optional
	LastRunName string `json:"lastRunName,omitempty"`
	// Names of the kept runs that ended well, newest first.
	// +optional
	PastSuccessfulRunNames []string `json:"pastSuccessfulRunNames,omitempty"`
	// Names of the kept runs that failed, newest first.
	// +optional
	PastFailedRunNames []string `json:"pastFailedRunNames,omitempty"`
	// Empty (new), Validating, Scheduled or FailedValidation.
	// +optional
	ScheduleState ScheduleState `json:"scheduleState,omitempty"`
	// Why the state is FailedValidation.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Conditions in the common form: Ready, Reconciling, Stalled, Suspended, Degraded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// The generation of the resource that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// What the operator must remember from one decision to the next. Not for users: its form may change in any release.
	// +optional
	Operator *ScheduleOperatorStatus `json:"operator,omitempty"`
}

// ScheduleOperatorStatus is what the operator must remember about a schedule and cannot observe again.
type ScheduleOperatorStatus struct {
	// The schedule and its time zone that the rest is about, as they were read last. Others are an edit.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// Since when that schedule holds: nothing of it that was due at or before this is ever started.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// The time by the schedule of the last run that was started or skipped: nothing due at or before it is ever started.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	LastTick *metav1.MicroTime `json:"lastTick,omitempty"`
	// Value of the run-now request that was honored last.
	// +optional
	LastRunRequest string `json:"lastRunRequest,omitempty"`
	// Name of the run of a time that could not be created last; empty where none is waited for.
	// +optional
	RefusedRun string `json:"refusedRun,omitempty"`
	// Since when no run could be created.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RefusedSince *metav1.MicroTime `json:"refusedSince,omitempty"`
	// When the next try to create one is due.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RetryTime *metav1.MicroTime `json:"retryTime,omitempty"`
	// What keeps runs from being started.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
	// The run-now request whose run is not started yet; absent where there is none.
	// +optional
	WaitingRequest *WaitingRequest `json:"waitingRequest,omitempty"`
}

// WaitingRequest is a run that was asked for and is not started yet. It holds up no run of a time.
type WaitingRequest struct {
	// Name of the run.
	// +optional
	Run string `json:"run,omitempty"`
	// Since when it could not be created; absent where it waits for others to end.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RefusedSince *metav1.MicroTime `json:"refusedSince,omitempty"`
	// When the next try is due.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RetryTime *metav1.MicroTime `json:"retryTime,omitempty"`
	// What kept it from being created.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
}

// RunNowAnnotation asks a schedule for one run besides those of its times, also while it is suspended. Its value names the request, such as the
// time of asking: each value starts one run, by the concurrency policy.
const RunNowAnnotation = "sparkoperator.dev/run-now"

// ScheduledAtAnnotation is put on each run: the time of the schedule that it is for, in the form of RFC 3339. One that was asked for has
// RunNowAnnotation with the request's value instead.
const ScheduledAtAnnotation = "sparkoperator.dev/scheduled-at"
