package application

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// reasons returns the reasons of the events that the passes have emitted so far, in order.
func (l *life) reasons() (out []string) {
	for _, e := range l.events {
		out = append(out, e.Type+" "+e.Reason)
	}
	return out
}

// TestEvents checks that the events of an application are emitted in order, and each of them only once.
func TestEvents(t *testing.T) {
	healthy := []string{"Normal DriverRequested", "Normal DriverStarted", "Normal DriverReady", "Normal RunningHealthy"}
	for _, c := range []struct {
		name string
		app  []func(*sparkv1.SparkApplication)
		live func(*life)
		want []string
	}{
		{"success", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
				succeeded).passWithoutObjects(time.Second).passWithoutObjects(time.Second)
		}, append(slices.Clone(healthy), "Normal Succeeded", "Normal ResourceReleased")},
		{"success, retained for a while", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
			ResourceRetainPolicy: sparkv1.RetainAlways, ResourceRetainDurationMillis: new(int64(10_000))})},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					succeeded).passWithDriver(10*time.Second, succeeded).passWithoutObjects(time.Second)
			}, append(slices.Clone(healthy), "Normal Succeeded", "Warning TerminatedWithoutReleaseResources",
				"Normal ResourceReleased")},
		{"failure, and another attempt", []func(*sparkv1.SparkApplication){restarting(sparkv1.RestartOnFailure)},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					crashed).endNextAttempt(succeeded).passWithoutObjects(time.Second)
			}, slices.Concat(healthy, []string{"Warning Failed", "Normal ScheduledToRestart"}, healthy,
				[]string{"Normal Succeeded", "Normal ResourceReleased"})},
		{"a rejection", nil, func(l *life) { l.rejected().passWithoutObjects(time.Second) },
			[]string{"Warning SchedulingFailure", "Normal ResourceReleased"}},
		{"success, with no restart left",
			[]func(*sparkv1.SparkApplication){restarting(sparkv1.RestartAlways,
				func(c *sparkv1.RestartConfig) { c.MaxRestartAttempts = new(int64(0)) })},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
					succeeded).passWithoutObjects(time.Second)
			}, append(slices.Clone(healthy), "Normal Succeeded", "Normal ResourceReleased")},
		{"too few executors", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{
			MinExecutors: new(int64(1)), MaxExecutors: new(int64(2))}})},
			func(l *life) {
				l.passWithoutObjects(0)

				for _, n := range []int{0, 1, 2, 0, 0, 1, 2, 1, 1} {
					l.pass(5*time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)},
						Executors: executors(1, n), ProbeResult: &lifecycle.Cause{}})
				}
			},
			append(slices.Clone(healthy), "Warning RunningWithBelowThresholdExecutors",
				"Normal RunningWithPartialCapacity", "Normal RunningHealthy", "Normal RunningWithPartialCapacity")},
		{"a node that is lost", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
				func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverUnknown }).passWithDriver(time.Second, ready)
		}, append(slices.Clone(healthy), "Warning SparkDriverUnknown")},
		{"an image that cannot be pulled", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second,
				func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: "ImagePullBackOff", Message: "not found"} })
		}, []string{"Normal DriverRequested", "Warning SparkDriverPending"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := begin(t, trimmed, c.app...)
			c.live(l)

			if diff := cmp.Diff(c.want, l.reasons()); diff != "" {
				t.Errorf("reasons of the events (-want +got):\n%s", diff)
			}

			for _, e := range l.events {
				if e.Message == "" {
					t.Errorf("the event %s has no message", e.Reason)
				}
			}
		})
	}
}

// TestPassedStates checks which states of a driver are named by the event of the next state: those that the pass left
// again. Warnings, ends and states of other passes have events of their own.
func TestPassedStates(t *testing.T) {
	for _, c := range []struct {
		name string
		live func(*life)
		want []string
	}{
		{"ready at once", func(l *life) { l.passWithDriver(time.Second, ready) }, []string{"DriverStarted", "DriverReady"}},
		{"ended at once", func(l *life) { l.passWithDriver(time.Second, succeeded) }, []string{"DriverStarted", "DriverReady"}},
		{"failed at once", func(l *life) { l.passWithDriver(time.Second, crashed) }, []string{"DriverStarted", "DriverReady"}},
		{"started, then ready", func(l *life) {
			l.passWithDriver(time.Second, func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverRunning }).passWithDriver(time.Second, ready)
		}, []string{"DriverReady"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := begin(t, trimmed)
			c.live(l.passWithoutObjects(0))

			var got []string
			for _, e := range l.events {
				if e.Passed {
					got = append(got, e.Reason)
				}
			}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("passed states (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakeOverCountsAttemptsFromOne checks that the event of a take-over counts attempts from 1, as other messages do.
func TestTakeOverCountsAttemptsFromOne(t *testing.T) {
	before := sparkv1.ApplicationRunningHealthy
	if got := takeover.Notice(before,
		lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1}).Cause.Message; !strings.HasSuffix(got, "in attempt 1") {
		t.Errorf("message %q", got)
	}
}

// TestEveryStateHasAnEvent checks the type of the event of every state. The types are those of release 1.1 of the
// Apache Spark project's operator.
func TestEveryStateHasAnEvent(t *testing.T) {
	warnings := []sparkv1.ApplicationStateSummary{"SchedulingFailure", "Failed", "DriverEvicted", "DriverStartTimedOut",
		"DriverReadyTimedOut", "ExecutorsStartTimedOut", "RunningWithBelowThresholdExecutors",
		"TerminatedWithoutReleaseResources"}
	for _, state := range everyState {
		want := dialect.Event{Type: corev1.EventTypeNormal, Reason: string(state), Message: "it is 100% so"}
		if slices.Contains(warnings, state) {
			want.Type = corev1.EventTypeWarning
		}

		got := Events(lifecycle.Plan{Notices: []lifecycle.Notice{apache.Entered(string(state), "it is 100% so")}})
		if diff := cmp.Diff([]dialect.Event{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
}
