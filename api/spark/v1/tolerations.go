package v1

// RestartPolicy says after which ends an application is restarted.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure;OnInfrastructureFailure
type RestartPolicy string

// The restart policies.
const (
	RestartAlways                  RestartPolicy = "Always"                  // after every end
	RestartNever                   RestartPolicy = "Never"                   // after none
	RestartOnFailure               RestartPolicy = "OnFailure"               // after every end but Succeeded
	RestartOnInfrastructureFailure RestartPolicy = "OnInfrastructureFailure" // after DriverStartTimedOut, ExecutorsStartTimedOut and SchedulingFailure
)

// ResourceRetainPolicy says after which ends the objects of the last attempt are kept.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure
type ResourceRetainPolicy string

// The policies of retention.
const (
	RetainAlways    ResourceRetainPolicy = "Always"    // after every end
	RetainNever     ResourceRetainPolicy = "Never"     // after none
	RetainOnFailure ResourceRetainPolicy = "OnFailure" // after every end but Succeeded
)

// ApplicationTolerations says what is borne before an application counts as failed, and what happens then. What is absent has its default, also
// where this whole struct is.
type ApplicationTolerations struct {
	// When the application is restarted.
	// +optional
	RestartConfig *RestartConfig `json:"restartConfig,omitempty"`
	// How long its stages may take.
	// +optional
	ApplicationTimeoutConfig *ApplicationTimeoutConfig `json:"applicationTimeoutConfig,omitempty"`
	// How many executors it needs.
	// +optional
	InstanceConfig *InstanceConfig `json:"instanceConfig,omitempty"`
	// Whether the objects of the last attempt are kept after its end: Always, Never (the default) or OnFailure.
	// +optional
	ResourceRetainPolicy ResourceRetainPolicy `json:"resourceRetainPolicy,omitempty"`
	// For how many milliseconds they are kept; negative: as long as the application.
	// +kubebuilder:default=-1
	// +optional
	ResourceRetainDurationMillis *int64 `json:"resourceRetainDurationMillis,omitempty"`
	// How many milliseconds after its end the application itself is deleted; negative: never.
	// +kubebuilder:default=-1
	// +optional
	TTLAfterStopMillis *int64 `json:"ttlAfterStopMillis,omitempty"`
}

// RestartConfig says when an application is restarted.
type RestartConfig struct {
	// After which ends: Always, Never (the default), OnFailure or OnInfrastructureFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// How many restarts there are at most. Default 3.
	// +optional
	MaxRestartAttempts *int64 `json:"maxRestartAttempts,omitempty"`
	// Milliseconds from an end to the next attempt. Default 30000.
	// +optional
	RestartBackoffMillis *int64 `json:"restartBackoffMillis,omitempty"`
	// An attempt that lived for so many milliseconds sets the counters of restarts back; negative: none does.
	// +kubebuilder:default=-1
	// +optional
	RestartCounterResetMillis *int64 `json:"restartCounterResetMillis,omitempty"`
	// How many restarts there are at most in a row after failures, all ends but Succeeded. Default: maxRestartAttempts alone counts.
	// +optional
	MaxRestartOnFailure *int64 `json:"maxRestartOnFailure,omitempty"`
	// Milliseconds from a failure to the next attempt. Default restartBackoffMillis.
	// +optional
	RestartBackoffMillisForFailure *int64 `json:"restartBackoffMillisForFailure,omitempty"`
	// How many restarts there are at most in a row after SchedulingFailure, in the place of maxRestartOnFailure. Default: that.
	// +optional
	MaxRestartOnSchedulingFailure *int64 `json:"maxRestartOnSchedulingFailure,omitempty"`
	// Milliseconds from a SchedulingFailure to the next attempt. Default restartBackoffMillisForFailure.
	// +optional
	RestartBackoffMillisForSchedulingFailure *int64 `json:"restartBackoffMillisForSchedulingFailure,omitempty"`
}

// ApplicationTimeoutConfig says how many milliseconds the stages of an attempt may take. Zero and less: as long as they like.
type ApplicationTimeoutConfig struct {
	// Until the driver's container has started. Time behind scheduling gates does not count. Default 300000.
	// +optional
	DriverStartTimeoutMillis *int64 `json:"driverStartTimeoutMillis,omitempty"`
	// From then until the driver's pod is ready. Default 300000.
	// +optional
	DriverReadyTimeoutMillis *int64 `json:"driverReadyTimeoutMillis,omitempty"`
	// From then until enough executors run; anew once the first of them do. Default 300000.
	// +optional
	ExecutorStartTimeoutMillis *int64 `json:"executorStartTimeoutMillis,omitempty"`
	// How long after an attempt's end its objects may take to go before they are deleted without a grace period. Default 300000.
	// +optional
	ForceTerminationGracePeriodMillis *int64 `json:"forceTerminationGracePeriodMillis,omitempty"`
	// After how long a deletion that shows no effect is asked for again; a second at least. Default 2000.
	// +optional
	TerminationRequeuePeriodMillis *int64 `json:"terminationRequeuePeriodMillis,omitempty"`
}

// InstanceConfig says how many executors an application needs.
type InstanceConfig struct {
	// How many have to run for the application to count as started. Default 0: it does not wait for executors.
	// +optional
	InitExecutors *int64 `json:"initExecutors,omitempty"`
	// With fewer than these, the application goes on as RunningWithBelowThresholdExecutors. Default 0.
	// +optional
	MinExecutors *int64 `json:"minExecutors,omitempty"`
	// With fewer than these, and no dynamic allocation, it goes on as RunningWithPartialCapacity. Default 0: it never does.
	// +optional
	MaxExecutors *int64 `json:"maxExecutors,omitempty"`
}
