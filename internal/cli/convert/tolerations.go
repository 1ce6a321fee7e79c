package convert

import (
	"cmp"
	"fmt"
	"math"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// unlimited is the number of restarts that stands for "no limit" in an application of spark.apache.org.
const unlimited = math.MaxInt32

// These are the paths of fields to which comments are added.
const (
	tolerationsField = "spec.applicationTolerations"
	restartField     = "spec.restartPolicy"
)

// defaultInterval is the default number of seconds before a retry in sparkoperator.k8s.io.
const defaultInterval = 5

// tolerations converts restarts, timeouts and the time to live.
func tolerations(spec *v1beta2.SparkApplicationSpec, n *notes) *sparkv1.ApplicationTolerations {
	t := &sparkv1.ApplicationTolerations{
		RestartConfig:            restartConfig(&spec.RestartPolicy, n),
		ApplicationTimeoutConfig: timeoutConfig(spec.Timeouts, n),
	}
	// Driver pods of sparkoperator.k8s.io stay until the application is deleted.
	if t.RestartConfig == nil {
		t.ResourceRetainPolicy = sparkv1.RetainAlways
	} else {
		n.add(tolerationsField+".restartConfig", "An application that may restart keeps no driver pod after its end. In the source the last one stays.")
	}

	if seconds := spec.TimeToLiveSeconds; seconds != nil {
		t.TTLAfterStopMillis = millis(max(*seconds, 0))
	}
	return t
}

// millis converts seconds to milliseconds. If the result would overflow, millis returns the largest whole number of
// seconds.
func millis(seconds int64) *int64 { return new(min(seconds, math.MaxInt64/1000) * 1000) }

func restartConfig(p *v1beta2.RestartPolicy, n *notes) *sparkv1.RestartConfig {
	const at = tolerationsField + ".restartConfig"

	c := &sparkv1.RestartConfig{
		RestartPolicy:                            sparkv1.RestartPolicy(p.Type),
		RestartBackoffMillis:                     millis(value(p.OnFailureRetryInterval, defaultInterval)),
		RestartBackoffMillisForSchedulingFailure: millis(value(p.OnSubmissionFailureRetryInterval, defaultInterval)),
	}
	if *c.RestartBackoffMillisForSchedulingFailure == *c.RestartBackoffMillis {
		c.RestartBackoffMillisForSchedulingFailure = nil
	}

	failures, rejections := int64(value(p.OnFailureRetries, 0)), int64(value(p.OnSubmissionFailureRetries, 0))
	switch p.Type {
	case v1beta2.RestartPolicyAlways:
		c.MaxRestartAttempts = new(int64(unlimited))

		n.add(at+".maxRestartAttempts", "The source has no limit. This number means that there is no limit.")
	case v1beta2.RestartPolicyOnFailure:
		c.MaxRestartAttempts = new(failures + rejections)
		if failures+rejections > 0 {
			c.MaxRestartOnFailure, c.MaxRestartOnSchedulingFailure = new(failures), new(rejections)
		}
	default:
		return nil
	}

	constant := p.Backoff != nil && p.Backoff.Factor != nil && *p.Backoff.Factor == 1
	if repeats := p.Type == v1beta2.RestartPolicyAlways || max(failures, rejections) > 1; repeats && !constant {
		n.add(at, "%s: no counterpart: in the source the time between attempts grows; here it stays the same", restartGrowth(p))
	}
	return c
}

// restartGrowth returns the path of the source's field that makes the time between attempts grow. The comment about the
// growth names this field.
func restartGrowth(p *v1beta2.RestartPolicy) string {
	if p.Backoff != nil {
		return restartField + ".backoff"
	}
	return restartField + ".onFailureRetryInterval"
}

func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func timeoutConfig(t *v1beta2.Timeouts, n *notes) *sparkv1.ApplicationTimeoutConfig {
	if t == nil {
		t = &v1beta2.Timeouts{}
	}

	c := &sparkv1.ApplicationTimeoutConfig{
		DriverStartTimeoutMillis:   millis(value(t.DriverStartSeconds, 0)),
		DriverReadyTimeoutMillis:   millis(value(t.DriverReadySeconds, 0)),
		ExecutorStartTimeoutMillis: millis(value(t.ExecutorsStartSeconds, 0)),
	}

	const at = tolerationsField + ".applicationTimeoutConfig"
	if *c.DriverStartTimeoutMillis == 0 || *c.DriverReadyTimeoutMillis == 0 || *c.ExecutorStartTimeoutMillis == 0 {
		n.add(at, "0 means no limit, as in the source. The default of this API group is 300000.")
	}

	n.dropped(droppedField{t.RunSeconds != nil, at, "spec.timeouts.runSeconds", "only the operator's configuration limits the whole run"})
	return c
}

// restartPolicy converts restarts of spark.apache.org.
func restartPolicy(c *sparkv1.RestartConfig, n *notes) v1beta2.RestartPolicy {
	var p v1beta2.RestartPolicy
	if c == nil {
		return p
	}
	const source = "spec.applicationTolerations.restartConfig."
	most := max(value(c.MaxRestartAttempts, 3), 0)
	failures := min(most, max(value(c.MaxRestartOnFailure, most), 0))

	rejections := min(most, max(value(c.MaxRestartOnSchedulingFailure, failures), 0))
	switch c.RestartPolicy {
	case sparkv1.RestartAlways:
		p.Type = v1beta2.RestartPolicyAlways

		n.dropped(
			droppedField{most < unlimited, restartField, source + "maxRestartAttempts", fmt.Sprintf("it was %d; the type Always restarts without a limit", most)},
			droppedField{c.MaxRestartOnFailure != nil, restartField, source + "maxRestartOnFailure", "the type Always restarts without a limit"},
			droppedField{c.MaxRestartOnSchedulingFailure != nil, restartField, source + "maxRestartOnSchedulingFailure", "the type Always restarts without a limit"},
		)
	case sparkv1.RestartOnFailure:
		p.Type = v1beta2.RestartPolicyOnFailure
		p.OnFailureRetries, p.OnSubmissionFailureRetries = number(failures), number(rejections)
		n.dropped(droppedField{failures+rejections > most, restartField, source + "maxRestartAttempts",
			fmt.Sprintf("it was %d for all restarts together; this API group counts failed runs and failed submissions separately", most)})
	case sparkv1.RestartOnInfrastructureFailure:
		p.Type = v1beta2.RestartPolicyOnFailure
		p.OnFailureRetries, p.OnSubmissionFailureRetries = number(0), number(rejections)

		n.dropped(droppedField{true, restartField, source + "restartPolicy", "it was OnInfrastructureFailure; only failed submissions are repeated here, and no attempt that timed out"})
	default:
		return p
	}

	n.dropped(droppedField{value(c.RestartCounterResetMillis, -1) >= 0, restartField, source + "restartCounterResetMillis", "earlier restarts always count"})
	general := value(c.RestartBackoffMillis, 30_000)
	failure := value(c.RestartBackoffMillisForFailure, general)
	p.OnFailureRetryInterval = interval(failure, source+"restartBackoffMillis", n)
	p.OnSubmissionFailureRetryInterval = interval(value(c.RestartBackoffMillisForSchedulingFailure, failure), source+"restartBackoffMillisForSchedulingFailure", n)
	n.dropped(droppedField{p.Type == v1beta2.RestartPolicyAlways && failure != general, restartField, source + "restartBackoffMillis",
		fmt.Sprintf("it was %d ms after a success; in this API group, the interval after a failure also applies after a success", general)})
	p.Backoff = &v1beta2.RestartBackoff{Factor: new(int32(1))}
	return p
}

func number(n int64) *int32 { return new(int32(min(n, math.MaxInt32))) }

// interval converts milliseconds to whole seconds, at least 1. If the value changes, interval adds a comment.
func interval(ms int64, field string, n *notes) *int64 {
	seconds := max(secondsOf(ms), 1)
	if seconds*1000 != ms {
		n.add(restartField, "%s: %d ms become %d s, because intervals are whole seconds here.", field, ms, seconds)
	}
	return &seconds
}

// secondsOf converts milliseconds to seconds, and rounds up.
func secondsOf(ms int64) int64 {
	ms = max(ms, 0)

	seconds := ms / 1000
	if ms%1000 != 0 {
		seconds++
	}
	return seconds
}

// timeouts converts timeouts of spark.apache.org. For a timeout that the source does not set, it writes the default of
// spark.apache.org, because sparkoperator.k8s.io has no default for it.
func timeouts(c *sparkv1.ApplicationTimeoutConfig, n *notes) *v1beta2.Timeouts {
	c = cmp.Or(c, &sparkv1.ApplicationTimeoutConfig{})
	const source, at, byDefault = "spec.applicationTolerations.applicationTimeoutConfig.", "spec.timeouts", 300_000
	n.dropped(
		droppedField{c.ForceTerminationGracePeriodMillis != nil, at, source + "forceTerminationGracePeriodMillis", "pods end within their own grace period"},
		droppedField{c.TerminationRequeuePeriodMillis != nil, at, source + "terminationRequeuePeriodMillis", "the operator chooses the interval"},
	)
	return &v1beta2.Timeouts{
		DriverStartSeconds:    new(secondsOf(value(c.DriverStartTimeoutMillis, byDefault))),
		DriverReadySeconds:    new(secondsOf(value(c.DriverReadyTimeoutMillis, byDefault))),
		ExecutorsStartSeconds: new(secondsOf(value(c.ExecutorStartTimeoutMillis, byDefault))),
	}
}
