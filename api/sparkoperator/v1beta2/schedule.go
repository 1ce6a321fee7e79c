package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScheduledSparkApplication runs a Spark application on a schedule. Each run is its own SparkApplication.
//
// The rule for metadata.name is checked only at creation, so that a stored object whose name breaks the rule can still
// be edited and deleted.
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
// +kubebuilder:printcolumn:name="Cause",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule=`oldSelf.hasValue() || self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,optionalOldSelf=true,message="is not valid as the beginning of a run's name: use at most 52 lower case letters, digits and '-', beginning with a letter and not ending with '-'",fieldPath=".metadata.name"
type ScheduledSparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name must be a DNS label that starts with a letter, because the names of the runs
	// are derived from it.
	metav1.ObjectMeta `json:"metadata"`

	// When runs start, and the application that they run.
	Spec ScheduledSparkApplicationSpec `json:"spec"`
	// The last observed state. Only the operator writes it.
	// +optional
	Status ScheduledSparkApplicationStatus `json:"status,omitzero"`

	// Why the spec could not be read: the field that exceeds a limit or does not fit its type, and how to correct it.
	// The spec is then empty, and encoding the object is an error, so that no update stores the empty spec.
	// UnmarshalJSON sets this field; it is not stored.
	OutOfBounds string `json:"-"`
	// The length of the spec's JSON in bytes, or 0 if the spec was not read. UnmarshalJSON sets this field; it is not
	// stored.
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

// ScheduledSparkApplicationSpec describes which application runs, and when.
type ScheduledSparkApplicationSpec struct {
	// When to run: five cron fields, or @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration such as
	// @every 5m. It may begin with CRON_TZ= or TZ= and a time zone, which takes precedence over timeZone.
	// +kubebuilder:validation:MaxLength=1024
	Schedule string `json:"schedule" bounds:"max=1024"`
	// The time zone of the schedule, by its name in the IANA database, for example Europe/Vienna. Default: UTC.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	TimeZone string `json:"timeZone,omitempty" bounds:"max=256"`
	// The spec of the SparkApplication that each run creates.
	Template SparkApplicationSpec `json:"template"`
	// While true, no new runs start. Active runs continue.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// Action when a run is due while another is active. Allow: run both. Forbid: start the new run when no other is
	// active. Replace: delete the active run first. Default Allow.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// How many successful runs are kept; 0 keeps none. Default 1.
	// +kubebuilder:validation:XValidation:rule=`self >= 0`,message="is below zero; 0 keeps no run that succeeded"
	// +kubebuilder:validation:XValidation:rule=`self <= 1000`,message="is above 1000, the largest number of runs that a schedule keeps; use a smaller number"
	// +optional
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`
	// How many failed runs are kept; 0 keeps none. Default 1.
	// +kubebuilder:validation:XValidation:rule=`self >= 0`,message="is below zero; 0 keeps no run that failed"
	// +kubebuilder:validation:XValidation:rule=`self <= 1000`,message="is above 1000, the largest number of runs that a schedule keeps; use a smaller number"
	// +optional
	FailedRunHistoryLimit *int32 `json:"failedRunHistoryLimit,omitempty"`
	// How late a run may start, in seconds after its time. A run that would start later is skipped and reported. If
	// absent, there is no limit, and one run replaces all missed runs. Optional, specific to this operator.
	// +kubebuilder:validation:Minimum=0
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Spreads the runs of many schedules. Each run starts up to this many seconds after its time. The delay is the same
	// for all runs of one resource, and a run always starts before the time of the next run. Default 0: on time.
	// Optional, specific to this operator.
	// +kubebuilder:validation:Minimum=0
	// +optional
	JitterSeconds *int64 `json:"jitterSeconds,omitempty"`
}

// ConcurrencyPolicy says what happens if a run is due while the last run is active. The definition accepts any value. A
// condition of the schedule reports an unknown value.
type ConcurrencyPolicy string

// The concurrency policies.
const (
	// ConcurrencyAllow: both runs are active at the same time.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid: the new run waits until no run is active.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace: the active run is deleted first.
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

// ScheduledSparkApplicationStatus is the last observed state of a schedule.
type ScheduledSparkApplicationStatus struct {
	// When the last run was started. Absent before the first one.
	// +nullable
	// +optional
	LastRun metav1.Time `json:"lastRun,omitzero"`
	// When the next run is due. Absent without a next run.
	// +nullable
	// +optional
	NextRun metav1.Time `json:"nextRun,omitzero"`
	// Name of the SparkApplication that the last run created, in the same namespace.
	// +optional
	LastRunName string `json:"lastRunName,omitempty"`
	// Names of the kept runs that succeeded, newest first.
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
	// The generation of the resource that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State that the operator must remember from one decision to the next. Not for users: its form may change in any
	// release.
	// +optional
	Operator *ScheduleOperatorStatus `json:"operator,omitempty"`
}

// ScheduleOperatorStatus contains the facts about a schedule that the operator must remember because it cannot observe
// them again.
type ScheduleOperatorStatus struct {
	// The schedule and time zone to which the other fields refer. If the spec has another schedule or time zone, it was
	// edited.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// When that schedule took effect. Runs that were due at or before this time are never started.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// The scheduled time of the last run that was started or skipped. Runs that were due at or before this time are
	// never started.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	LastTick *metav1.MicroTime `json:"lastTick,omitempty"`
	// Value of the last run-now request that was carried out.
	// +optional
	LastRunRequest string `json:"lastRunRequest,omitempty"`
	// Name of the last scheduled run that could not be created. Empty if there is no such run.
	// +optional
	RefusedRun string `json:"refusedRun,omitempty"`
	// Since when no run could be created.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RefusedSince *metav1.MicroTime `json:"refusedSince,omitempty"`
	// When the next try to create a run is due.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RetryTime *metav1.MicroTime `json:"retryTime,omitempty"`
	// Why runs cannot be started.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
	// The run-now request whose run is not started yet. Absent if there is none.
	// +optional
	WaitingRequest *WaitingRequest `json:"waitingRequest,omitempty"`
}

// WaitingRequest describes a run that a user requested with RunNowAnnotation and that is not started yet. Scheduled
// runs do not wait for it.
type WaitingRequest struct {
	// Name that the run's SparkApplication will have.
	// +optional
	Run string `json:"run,omitempty"`
	// Since when the run could not be created. Absent if the run waits for other runs to end.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RefusedSince *metav1.MicroTime `json:"refusedSince,omitempty"`
	// When the next try is due.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[^tz]*[.][0-9]{6}(Z|[-+][0-9:]+)$`
	// +optional
	RetryTime *metav1.MicroTime `json:"retryTime,omitempty"`
	// Why the run could not be created.
	// +optional
	Cause *OperatorCause `json:"cause,omitempty"`
}

// RunNowAnnotation requests one run of a schedule outside its times, even while the schedule is suspended. Its value
// names the request, for example the time of the request. Each new value starts one run, subject to the concurrency
// policy.
const RunNowAnnotation = "sparkoperator.dev/run-now"

// ScheduledAtAnnotation is an annotation of a run's SparkApplication. Its value is the scheduled time of the run, in
// the format of RFC 3339. A run that a user requested has RunNowAnnotation instead, with the value from the schedule.
const ScheduledAtAnnotation = "sparkoperator.dev/scheduled-at"
