package application

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	success  = "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy, 5 Succeeded"
	failure  = "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy, 5 Failed"
	released = ", 6 ResourceReleased"
	retained = ", 6 TerminatedWithoutReleaseResources"
)

// TestHistories checks the histories of states that users of this API rely on. A history must not depend on how often
// or how late the passes observe the driver.
func TestHistories(t *testing.T) {
	for _, c := range []struct {
		name   string
		app    []func(*sparkv1.SparkApplication)
		live   func(*life)
		states string
	}{
		{"success, with a pass at every step", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second).passWithDriver(time.Second,
				running).passWithDriver(time.Second, ready).passWithDriver(time.Second, ready).
				passWithDriver(time.Second, succeeded).passWithoutObjects(time.Second)
		}, success + released},
		{"success of a driver that has ended at the second pass", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(2*time.Second, succeeded).passWithoutObjects(time.Second)
		}, success + released},
		{"success of a driver whose pod still exists for some passes", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
				succeeded).passWithDriver(time.Second, succeeded).passWithDriver(time.Second,
				succeeded).passWithoutObjects(time.Second)
		}, success + released},
		{"an image that cannot be pulled", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
			ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: new(int64(30_000))}})}, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second).passWithDriver(28 * time.Second).passWithDriver(time.Second).passWithDriver(time.Second).passWithoutObjects(time.Second)
		}, "0 Submitted, 1 DriverRequested, 2 DriverStartTimedOut, 3 ResourceReleased"},
		{"success, retained for a while", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
			ResourceRetainPolicy: sparkv1.RetainAlways, ResourceRetainDurationMillis: new(int64(10_000))})},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					succeeded).expectStates(success+retained).
					passWithDriver(9*time.Second, succeeded).expectStates(success+retained).passWithDriver(time.Second,
					succeeded).passWithoutObjects(time.Second)
			}, success + retained + ", 7 ResourceReleased"},
		{"success, if only failures are retained",
			[]func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
				ResourceRetainPolicy: sparkv1.RetainOnFailure})}, func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					succeeded).passWithoutObjects(time.Second)
			}, success + released},
		{"failure of a ready driver, retained",
			[]func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
				ResourceRetainPolicy: sparkv1.RetainOnFailure})}, func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					crashed).passWithDriver(time.Hour, crashed)
			}, failure + retained},
		{"failure, retained as long as the application is",
			[]func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
				ResourceRetainPolicy: sparkv1.RetainAlways, TTLAfterStopMillis: new(int64(60_000))})}, func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					crashed).passWithDriver(59*time.Second, crashed)
			}, failure + retained},
		{"a driver that is evicted", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
				evicted).passWithoutObjects(time.Second)
		}, strings.Replace(failure, "Failed", "DriverEvicted", 1) + released},
		{"a driver whose pod no longer exists", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second,
				ready).passWithoutObjects(time.Minute).passWithoutObjects(time.Second)
		}, failure + released},
		{"a driver that is not ready in time", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, running).passWithDriver(6*time.Minute,
				running).passWithoutObjects(time.Second)
		}, "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReadyTimedOut, 4 ResourceReleased"},
		{"a submission that is rejected", nil, func(l *life) {
			l.pass(0, lifecycle.Observed{Confirmed: true,
				Rejection: &lifecycle.Cause{Reason: "Forbidden", Message: "no"}}).passWithoutObjects(time.Second)
		}, "0 Submitted, 1 SchedulingFailure, 2 ResourceReleased"},
		{"client mode", []func(*sparkv1.SparkApplication){func(a *sparkv1.SparkApplication) { a.Spec.DeploymentMode = sparkv1.ClientMode }}, func(l *life) {
			l.passWithoutObjects(0).passWithoutObjects(time.Second).passWithoutObjects(time.Second)
		}, "0 Submitted, 1 Failed, 2 ResourceReleased"},
		{"a node that is lost and comes back", nil, func(l *life) {
			lost := func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverUnknown }
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
				lost).expectStates(success[:strings.Index(success, ", 5")]).
				passWithDriver(time.Minute, ready).passWithDriver(time.Second,
				succeeded).passWithoutObjects(time.Second)
		}, success + released},
		{"a node that is lost before the first observation of the driver", nil, func(l *life) {
			lost := func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverUnknown }
			l.passWithoutObjects(0).passWithDriver(time.Second, lost).passWithDriver(time.Second,
				ready).passWithDriver(time.Second, succeeded).passWithoutObjects(time.Second)
		}, success + released},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range []Applications{trimmed, whole} {
				l := begin(t, a, c.app...)
				c.live(l)
				l.expectStates(c.states)
			}
		})
	}
}

// TestThresholds checks that the state of the application follows the number of running executors, but only after the
// number is below or above a threshold for some seconds. It also checks the timeout for the initial executors.
func TestThresholds(t *testing.T) {
	l := begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{
		InitExecutors: new(int64(2)), MinExecutors: new(int64(1)), MaxExecutors: new(int64(3))}}))
	with := func(n int) lifecycle.Observed {
		return lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(1, n),
			ProbeResult: &lifecycle.Cause{}}
	}

	l.passWithoutObjects(0)

	for _, n := range []int{0, 1, 1, 2, 3, 2, 2, 0, 0, 3, 0, 3, 0} {
		l.pass(5*time.Second, with(n))
	}

	l.passWithDriver(100*time.Millisecond, succeeded)
	l.expectStates("0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 InitializedBelowThresholdExecutors, 5 RunningWithPartialCapacity, " +
		"6 RunningHealthy, 7 RunningWithPartialCapacity, 8 RunningWithBelowThresholdExecutors, 9 RunningHealthy, 10 Succeeded")

	late := begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{InitExecutors: new(int64(2))}}))
	l = late
	late.passWithoutObjects(0).pass(time.Second, with(0)).pass(4*time.Minute, with(1)).pass(4*time.Minute, with(1)).
		expectStates("0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 InitializedBelowThresholdExecutors").
		pass(time.Minute, with(1)).passWithoutObjects(time.Second).
		expectStates("0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 InitializedBelowThresholdExecutors, 5 ExecutorsStartTimedOut, 6 ResourceReleased")
}

// TestAwaitedExecutors checks that the message of the condition Ready contains instanceConfig.initExecutors, and not
// the number of executors that Spark requests.
func TestAwaitedExecutors(t *testing.T) {
	l := begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{InitExecutors: new(int64(3))}}),
		func(app *sparkv1.SparkApplication) { app.Spec.SparkConf["spark.executor.instances"] = "50" }).passWithoutObjects(0)
	for n, want := range []string{"0 of 3 executors run",
		"fewer than 3 executors run; status.executors has the counts"} {
		l.pass(time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(1, n),
			ProbeResult: &lifecycle.Cause{}})

		if c := meta.FindStatusCondition(l.app.Status.Conditions, "Ready"); c == nil || c.Message != want {
			t.Errorf("with %d executors, Ready is %+v, want the message %q", n, c, want)
		}
	}
}

// TestRunningHealthyClaimsNoMoreThanThresholds checks the message of RunningHealthy. If the spec has no thresholds, the
// message must not claim that all executors run.
func TestRunningHealthyClaimsNoMoreThanThresholds(t *testing.T) {
	says := func(config *sparkv1.InstanceConfig, running int, want string) {
		t.Helper()
		l := begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{InstanceConfig: config})).passWithoutObjects(0)
		l.pass(time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)},
			Executors: executors(1, running), ProbeResult: &lifecycle.Cause{}})

		now := l.app.Status.CurrentState
		if now.CurrentStateSummary != sparkv1.ApplicationRunningHealthy || !strings.Contains(now.Message, want) {
			t.Errorf("with %d executors it is %s: %s", running, now.CurrentStateSummary, now.Message)
		}
	}
	says(nil, 0, "some may be pending; status.executors has the counts")
	says(&sparkv1.InstanceConfig{InitExecutors: new(int64(2))}, 2,
		"at least as many executors run as spec.applicationTolerations.instanceConfig requires")
	says(&sparkv1.InstanceConfig{MinExecutors: new(int64(1))}, 1,
		"at least as many executors run as spec.applicationTolerations.instanceConfig requires")
	says(&sparkv1.InstanceConfig{MinExecutors: new(int64(2))}, 1, "executors may still be starting")
	says(&sparkv1.InstanceConfig{MinExecutors: new(int64(1)), MaxExecutors: new(int64(2))}, 1, "executors may still be starting")
}

// TestThresholdsWithoutInitialExecutors checks that the states of a healthy start do not report a shortage of
// executors, if the application waits for none. A loss soon after the start is reported, also by the next process,
// which knows only the status. Executors that ended without an error are not missing, although their pods are gone.
func TestThresholdsWithoutInitialExecutors(t *testing.T) {
	const healthy = "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy"

	for _, a := range []Applications{trimmed, whole} {
		l := begin(t, a, tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{MinExecutors: new(int64(2)), MaxExecutors: new(int64(3))}})).
			passWithoutObjects(0)
		with := func(pods []lifecycle.Executor) lifecycle.Observed {
			return lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: pods, ProbeResult: &lifecycle.Cause{}}
		}

		for n := range 4 {
			l.pass(5*time.Second, with(executors(1, n)))
		}

		l.expectStates(healthy)

		lost := executors(1, 3)
		lost[0].Phase, lost[1].Phase = lifecycle.DriverFailed, lifecycle.DriverFailed
		l.pass(time.Second, with(lost)).pass(5*time.Second, with(lost)).expectStates(healthy + ", 5 RunningWithBelowThresholdExecutors")

		stopped := executors(1, 3)
		for i := range stopped {
			stopped[i].Phase = lifecycle.DriverSucceeded
		}

		l.pass(time.Second, with(executors(1, 3))).pass(time.Second, with(stopped)).pass(time.Minute, with(nil)).
			expectStates(healthy + ", 5 RunningWithBelowThresholdExecutors, 6 RunningHealthy")
	}
}

// TestLastStateKeepsTheCause checks that the message of the last state says why the application failed, also if the
// application was never restarted.
func TestLastStateKeepsTheCause(t *testing.T) {
	const why = "; the last attempt failed: Error: driver container failed with exit code 1"

	l := begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
		crashed).passWithoutObjects(time.Second)
	if now := l.app.Status.CurrentState; now.CurrentStateSummary != sparkv1.ApplicationResourceReleased ||
		now.Message != "the application has ended and its objects are gone"+why {
		t.Errorf("released, it is %s: %s", now.CurrentStateSummary, now.Message)
	}

	l = begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways})).
		passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed)
	if now := l.app.Status.CurrentState; now.CurrentStateSummary != sparkv1.ApplicationTerminatedWithoutReleaseResources ||
		!strings.HasSuffix(now.Message, why) {
		t.Errorf("retained, it is %s: %s", now.CurrentStateSummary, now.Message)
	}

	l = begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
		succeeded).passWithoutObjects(time.Second)
	if now := l.app.Status.CurrentState; now.Message != "the application has ended and its objects are gone" {
		t.Errorf("after a success it says %s", now.Message)
	}
}
