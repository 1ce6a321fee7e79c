package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
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
	for _, c := range []struct {
		name string
		app  []func(*sparkv1.SparkApplication)
		live func(*life)
		want []string
	}{
		{"success", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, succeeded).passWithoutObjects(time.Second).passWithoutObjects(time.Second)
		},
			[]string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Normal SparkApplicationCompleted"}},
		{"success, retained for a while", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{
			ResourceRetainPolicy: sparkv1.RetainAlways, ResourceRetainDurationMillis: new(int64(10_000))})},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, succeeded).passWithDriver(10*time.Second, succeeded).passWithoutObjects(time.Second)
			},
			[]string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Normal SparkApplicationCompleted", "Normal SparkApplicationReleased"}},
		{"failure, and another attempt", []func(*sparkv1.SparkApplication){restarting(sparkv1.RestartOnFailure)},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed).endNextAttempt(succeeded).passWithoutObjects(time.Second)
			},
			[]string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Warning SparkDriverFailed", "Normal SparkApplicationPendingRerun",
				"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Normal SparkApplicationCompleted"}},
		{"a rejection", nil, func(l *life) { l.rejected().passWithoutObjects(time.Second) },
			[]string{"Warning SparkApplicationSubmissionFailed", "Warning SparkApplicationFailed"}},
		{"success, with no restart left", []func(*sparkv1.SparkApplication){restarting(sparkv1.RestartAlways, func(c *sparkv1.RestartConfig) { c.MaxRestartAttempts = new(int64(0)) })},
			func(l *life) {
				l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, succeeded).passWithoutObjects(time.Second)
			},
			[]string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Normal SparkApplicationCompleted"}},
		{"too few executors", []func(*sparkv1.SparkApplication){tolerating(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{
			MinExecutors: new(int64(1)), MaxExecutors: new(int64(2))}})},
			func(l *life) {
				l.passWithoutObjects(0)

				for _, n := range []int{0, 1, 2, 1, 1} {
					l.pass(5*time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(1, n), ProbeResult: &lifecycle.Cause{}})
				}
			},
			[]string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Warning SparkExecutorsBelowThreshold", "Normal SparkExecutorsPartialCapacity",
				"Normal SparkExecutorsSufficient", "Normal SparkExecutorsPartialCapacity"}},
		{"a node that is lost", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, func(d *lifecycle.Driver) { d.Phase = lifecycle.DriverUnknown }).passWithDriver(time.Second, ready)
		}, []string{"Normal SparkApplicationSubmitted", "Normal SparkDriverRunning", "Warning SparkDriverUnknown"}},
		{"an image that cannot be pulled", nil, func(l *life) {
			l.passWithoutObjects(0).passWithDriver(time.Second, func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: "ImagePullBackOff", Message: "not found"} })
		}, []string{"Normal SparkApplicationSubmitted", "Warning SparkDriverPending"}},
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

// TestMessagesCountAttemptsFromOne checks that the event of a launch explains the number in the driver pod's name,
// which counts from 0.
func TestMessagesCountAttemptsFromOne(t *testing.T) {
	message := func(change ...func(*sparkv1.SparkApplication)) string {
		return begin(t, trimmed, change...).passWithoutObjects(0).events[0].Message
	}

	const want = "attempt 1 was submitted as driver pod pi-0-driver (names count attempts from 0) by the operator itself"
	if got := message(); got != want {
		t.Errorf("message %q, want %q", got, want)
	}

	pinned := message(func(app *sparkv1.SparkApplication) { app.Spec.SparkConf[confDriverPodName] = "mine" })
	if pinned != "attempt 1 was submitted as driver pod mine by the operator itself" {
		t.Errorf("message %q", pinned)
	}

	before := sparkv1.ApplicationRunningHealthy
	if got := takenOver(before, lifecycle.Memory{Phase: lifecycle.Running, Attempt: 1}).Cause.Message; !strings.HasSuffix(got, "in attempt 1") {
		t.Errorf("message %q", got)
	}
}
