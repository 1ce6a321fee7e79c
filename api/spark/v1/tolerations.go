package v1

// RestartPolicy says after which outcomes an application is restarted.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure;OnInfrastructureFailure
type RestartPolicy string

// The restart policies.
const (
	// RestartAlways restarts the application after every end.
	RestartAlways RestartPolicy = "Always"
	// RestartNever never restarts the application.
	RestartNever RestartPolicy = "Never"
	// RestartOnFailure restarts the application after every end except Succeeded.
	RestartOnFailure RestartPolicy = "OnFailure"
	// RestartOnInfrastructureFailure restarts the application after DriverStartTimedOut, ExecutorsStartTimedOut and
	// SchedulingFailure.
	RestartOnInfrastructureFailure RestartPolicy = "OnInfrastructureFailure"
)

// ResourceRetainPolicy says after which outcomes the objects of the last attempt are kept.
//
// +kubebuilder:validation:Enum=Always;Never;OnFailure
type ResourceRetainPolicy string

// The retain policies.
const (
	RetainAlways    ResourceRetainPolicy = "Always"    // after every end
	RetainNever     ResourceRetainPolicy = "Never"     // never
	RetainOnFailure ResourceRetainPolicy = "OnFailure" // after every end but Succeeded
)

// ApplicationTolerations configures restarts, timeouts, the number of executors, and how long objects are kept. Absent
// fields have their defaults, even if the whole struct is absent.
type ApplicationTolerations struct {
	// When the application is restarted.
	// +optional
	RestartConfig *RestartConfig `json:"restartConfig,omitempty"`
	// How long the stages of an attempt may take.
	// +optional
	ApplicationTimeoutConfig *ApplicationTimeoutConfig `json:"applicationTimeoutConfig,omitempty"`
	// How many executors the application needs.
	// +optional
	InstanceConfig *InstanceConfig `json:"instanceConfig,omitempty"`
	// Whether the objects of the last attempt are kept after its end: Always, Never (the default) or OnFailure. Has no
	// effect if restartPolicy is another than Never: an application that may restart keeps no objects.
	// +optional
	ResourceRetainPolicy ResourceRetainPolicy `json:"resourceRetainPolicy,omitempty"`
	// How long the objects of the last attempt are kept, in milliseconds. Negative: as long as the application exists.
	// +kubebuilder:default=-1
	// +optional
	ResourceRetainDurationMillis *int64 `json:"resourceRetainDurationMillis,omitempty"`
	// How long after its end the application itself is deleted, in milliseconds. Negative: never.
	// +kubebuilder:default=-1
	// +optional
	TTLAfterStopMillis *int64 `json:"ttlAfterStopMillis,omitempty"`
}

// RestartConfig describes when an application is restarted.
type RestartConfig struct {
	// When the application is restarted: Always, Never (the default), OnFailure or OnInfrastructureFailure.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
	// The maximum number of restarts. Default 3.
	// +optional
	MaxRestartAttempts *int64 `json:"maxRestartAttempts,omitempty"`
	// Milliseconds from the end of an attempt to the next attempt. Default 30000.
	// +optional
	RestartBackoffMillis *int64 `json:"restartBackoffMillis,omitempty"`
	// An attempt that lasts this many milliseconds resets the counters of restarts. Negative: the counters are never
	// reset.
	// +kubebuilder:default=-1
	// +optional
	RestartCounterResetMillis *int64 `json:"restartCounterResetMillis,omitempty"`
	// The maximum number of consecutive restarts after failures. Every end except Succeeded is a failure. Default: only
	// maxRestartAttempts limits these restarts.
	// +optional
	MaxRestartOnFailure *int64 `json:"maxRestartOnFailure,omitempty"`
	// Milliseconds from a failure to the next attempt. Default restartBackoffMillis.
	// +optional
	RestartBackoffMillisForFailure *int64 `json:"restartBackoffMillisForFailure,omitempty"`
	// The maximum number of consecutive restarts after SchedulingFailure. Default: maxRestartOnFailure.
	// +optional
	MaxRestartOnSchedulingFailure *int64 `json:"maxRestartOnSchedulingFailure,omitempty"`
	// Milliseconds from a SchedulingFailure to the next attempt. Default restartBackoffMillisForFailure.
	// +optional
	RestartBackoffMillisForSchedulingFailure *int64 `json:"restartBackoffMillisForSchedulingFailure,omitempty"`
}

// ApplicationTimeoutConfig limits how long the stages of an attempt may take, in milliseconds. A value of zero or less
// means that there is no limit.
type ApplicationTimeoutConfig struct {
	// Time until the driver's container has started. Time behind scheduling gates does not count. Default 300000.
	// +optional
	DriverStartTimeoutMillis *int64 `json:"driverStartTimeoutMillis,omitempty"`
	// Time from the start of the driver's container until its pod is ready. Default 300000.
	// +optional
	DriverReadyTimeoutMillis *int64 `json:"driverReadyTimeoutMillis,omitempty"`
	// Time from the moment at which the driver is ready until enough executors run. The time starts again when the
	// first executors run. Time behind scheduling gates does not count. Default 300000.
	// +optional
	ExecutorStartTimeoutMillis *int64 `json:"executorStartTimeoutMillis,omitempty"`
	// How long the deletion of an attempt's objects may take after the attempt's end. After that time the objects are
	// deleted without a grace period. Default 300000.
	// +optional
	ForceTerminationGracePeriodMillis *int64 `json:"forceTerminationGracePeriodMillis,omitempty"`
	// How long the operator waits before it repeats a deletion that has had no effect; at least 1000. Default 2000.
	// +optional
	TerminationRequeuePeriodMillis *int64 `json:"terminationRequeuePeriodMillis,omitempty"`
}

// InstanceConfig is the number of executors that an application needs.
type InstanceConfig struct {
	// How many executors must run before the application counts as started. Default 0: the application does not wait
	// for executors.
	// +optional
	InitExecutors *int64 `json:"initExecutors,omitempty"`
	// If fewer executors than this run, the application continues in state RunningWithBelowThresholdExecutors. Without
	// initExecutors this applies when as many have run at the same time, or after executorStartTimeoutMillis. Default 0.
	// +optional
	MinExecutors *int64 `json:"minExecutors,omitempty"`
	// If fewer executors than this run, and dynamic allocation is off, the application continues in state
	// RunningWithPartialCapacity. Default 0: never.
	// +optional
	MaxExecutors *int64 `json:"maxExecutors,omitempty"`
}
