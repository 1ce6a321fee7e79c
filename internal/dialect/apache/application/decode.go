package application

import (
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Defaults of applicationTolerations. The CRD has no defaults for these fields, so the operator applies them when it
// reads a custom resource.
const (
	defaultMaxRestarts int64 = 3
	defaultBackoff           = 30 * time.Second
	defaultTimeout           = 5 * time.Minute
	defaultForceAfter        = 5 * time.Minute
	defaultCleanAgain        = 2 * time.Second
	// leastCleanAgain is the minimum cleanup interval. It limits the number of requests to the API server that a user
	// can cause.
	leastCleanAgain = time.Second
)

// wanted converts the application's spec into the state machine's input. It does not validate the spec; Decide does so
// before an attempt is launched. It computes no hash of the spec, because an edit never replaces a running attempt and
// applies only to the next attempt.
func (a *attempt) wanted() lifecycle.App {
	app := a.app
	t := fields.Tolerations(&app.Spec)
	initial, least := executorsOf(&app.Spec)
	out := lifecycle.App{
		UID:               string(app.UID),
		RestartRequest:    lifecycle.RestartRequest(app.Annotations),
		Edited:            app.Generation > 1,
		Deleting:          app.DeletionTimestamp != nil,
		Orphan:            slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents),
		Restart:           restart(t.RestartConfig),
		Deadlines:         limits(t.ApplicationTimeoutConfig, a.timeouts),
		InitialExecutors:  initial,
		MinExecutors:      least,
		TTL:               duration(t.TTLAfterStopMillis),
		MissingGrace:      a.MissingGrace,
		Thresholds:        thresholds(t.InstanceConfig, fields.DynamicAllocation(&app.Spec)),
		EnterMissedPhases: true,
		Retain:            retention(t, fields.Restarts(&app.Spec) && status.Current(&app.Status) != sparkv1.ApplicationTerminatedWithoutReleaseResources),
		ForceAfter:        stageTimeout(t.ApplicationTimeoutConfig.ForceTerminationGracePeriodMillis, defaultForceAfter),
		CleanupInterval:   cleanAgain(t.ApplicationTimeoutConfig.TerminationRequeuePeriodMillis),
	}

	out.Deadlines.Run = a.Run
	if app.DeletionTimestamp != nil {
		out.DeletedAt = app.DeletionTimestamp.UTC()
	}
	return out
}

func restart(c *sparkv1.RestartConfig) lifecycle.Restart {
	r := lifecycle.Restart{Policy: lifecycle.Never, Limits: &lifecycle.RestartLimits{
		MaxRestarts:      defaultMaxRestarts,
		MaxFailures:      c.MaxRestartOnFailure,
		MaxRejections:    c.MaxRestartOnSchedulingFailure,
		Backoff:          defaultBackoff,
		FailureBackoff:   interval(c.RestartBackoffMillisForFailure),
		RejectionBackoff: interval(c.RestartBackoffMillisForSchedulingFailure),
		ResetAfter:       duration(c.RestartCounterResetMillis),
	}}
	if c.MaxRestartAttempts != nil {
		r.Limits.MaxRestarts = *c.MaxRestartAttempts
	}

	if backoff := interval(c.RestartBackoffMillis); backoff != nil {
		r.Limits.Backoff = *backoff
	}

	switch c.RestartPolicy {
	case sparkv1.RestartAlways:
		r.Policy = lifecycle.Always
	case sparkv1.RestartOnFailure:
		r.Policy = lifecycle.OnFailure
	case sparkv1.RestartOnInfrastructureFailure:
		r.Policy = lifecycle.OnInfrastructureFailure
	}
	return r
}

func limits(c *sparkv1.ApplicationTimeoutConfig, defaults platform.Timeouts) lifecycle.Deadlines {
	return lifecycle.Deadlines{
		DriverStart:      stageTimeout(c.DriverStartTimeoutMillis, stageDefault(defaults.DriverStartSeconds, defaultTimeout)),
		DriverReady:      stageTimeout(c.DriverReadyTimeoutMillis, stageDefault(defaults.DriverReadySeconds, defaultTimeout)),
		ExecutorsStart:   stageTimeout(c.ExecutorStartTimeoutMillis, stageDefault(defaults.ExecutorsStartSeconds, defaultTimeout)),
		RestartAtScaling: true,
	}
}

func thresholds(c *sparkv1.InstanceConfig, dynamic bool) *lifecycle.Thresholds {
	return &lifecycle.Thresholds{Init: count(c.InitExecutors), Min: count(c.MinExecutors), Max: count(c.MaxExecutors), Dynamic: dynamic}
}

// retention returns which objects are kept after the end of an application, and for how long. They are kept at most for
// ttlAfterStopMillis, because the application itself is deleted then. As in release 1.1, an application that may
// restart keeps nothing, unless an earlier version of an operator retained its objects already.
func retention(t sparkv1.ApplicationTolerations, restarts bool) lifecycle.Retention {
	r := lifecycle.Retention{Policy: lifecycle.RetainNever, For: duration(t.ResourceRetainDurationMillis)}
	if restarts {
		return lifecycle.Retention{Policy: lifecycle.RetainNever}
	}

	switch t.ResourceRetainPolicy {
	case sparkv1.RetainAlways:
		r.Policy = lifecycle.RetainAlways
	case sparkv1.RetainOnFailure:
		r.Policy = lifecycle.RetainOnFailure
	}

	if ttl := duration(t.TTLAfterStopMillis); ttl != nil && (r.For == nil || *ttl < *r.For) {
		r.For = ttl
	}
	return r
}

func cleanAgain(millis *int64) time.Duration {
	return max(stageTimeout(millis, defaultCleanAgain), leastCleanAgain)
}

// stageTimeout returns the maximum duration of a stage: millis, or the argument fallback if millis is not set. If
// millis is 0 or negative, the stage has no deadline, and the result is 0.
func stageTimeout(millis *int64, fallback time.Duration) time.Duration {
	if millis == nil {
		return fallback
	}
	return max(0, milliseconds(*millis))
}

// duration converts a number of milliseconds. It returns nil if the number is not set or negative.
func duration(millis *int64) *time.Duration {
	if millis == nil || *millis < 0 {
		return nil
	}
	return new(milliseconds(*millis))
}

// interval converts a number of milliseconds between two attempts. It returns nil if the number is not set, and 0 if it
// is negative.
func interval(millis *int64) *time.Duration {
	if millis == nil {
		return nil
	}
	return new(max(0, milliseconds(*millis)))
}

// milliseconds converts a number of milliseconds to a duration of at most 292 years, the maximum of time.Duration. A
// larger number would overflow and become negative.
func milliseconds(n int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}

func count(n *int64) int32 {
	if n == nil {
		return 0
	}
	return int32(min(max(*n, 0), math.MaxInt32))
}

// sparkInstances is Spark's default number of executors (SchedulerBackendUtils).
const sparkInstances = 2

// executorsOf returns the number of executors that the application requests at its start (initial), and the number
// below which it never goes (least). Both are 0 if the driver creates no executor pods.
func executorsOf(spec *sparkv1.ApplicationSpec) (initial, least int32) {
	if driverOnly(spec) {
		return 0, 0
	}

	instances, set := dialect.ExecutorNumber(spec.SparkConf[fields.Instances])
	if fields.DynamicAllocation(spec) {
		// Spark starts with the largest of the three numbers (Utils.getDynamicAllocationInitialExecutors).
		first, _ := dialect.ExecutorNumber(spec.SparkConf[fields.DynamicInitial])
		least, _ := dialect.ExecutorNumber(spec.SparkConf[fields.DynamicMin])
		return max(first, least, instances), least
	}

	if !set {
		instances = sparkInstances
	}
	return instances, instances
}

// driverOnly reports whether the driver creates no executor pods, because the driver runs the tasks itself or uses the
// executors of a standalone cluster.
func driverOnly(spec *sparkv1.ApplicationSpec) bool {
	// Any other value of fields.DriverMaster is the API server's address.
	return driverMaster(spec) != "" || strings.HasPrefix(spec.SparkConf[fields.DriverMaster], "local")
}
