package application

import (
	"testing"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestUnrememberedLaunches stops the operator between a launch and the status write. It checks that the restarted
// operator finds the driver, and that the history is the same as without the interruption.
func TestUnrememberedLaunches(t *testing.T) {
	observed := func(attempt int32, change ...func(*lifecycle.Driver)) lifecycle.Observed {
		d := lifecycle.Driver{Name: "pi-driver", Attempt: attempt, Phase: lifecycle.DriverPending, CreatedAt: t0}
		for _, c := range change {
			c(&d)
		}
		return lifecycle.Observed{Drivers: []lifecycle.Driver{d}, ProbeResult: &lifecycle.Cause{}}
	}

	l := begin(t, trimmed).pass(0, observed(1)).expectStates("0 Submitted, 1 DriverRequested").expectAttempt(0, 0, 0, 0)
	if len(l.plan.Actions) > 0 || l.plan.Next.AttemptID != "pi-0" {
		t.Errorf("the found driver: attempt id %q, actions %v", l.plan.Next.AttemptID, l.plan.Actions)
	}

	l = begin(t, trimmed).pass(0, observed(1, succeeded)).expectStates(success)
	if l.passWithoutObjects(time.Second); l.plan.Next.Phase != lifecycle.Done {
		t.Errorf("a driver that has ended when it is found: phase %s", l.plan.Next.Phase)
	}

	waiting := func() *life {
		return begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second,
			ready).passWithDriver(time.Second, crashed)
	}
	waiting().pass(10*time.Second, observed(2)).expectStates("6 ScheduledToRestart, 7 DriverRequested").expectAttempt(1,
		1, 1, 0)
	// Neither the end of the first attempt nor the launch of the second was stored.
	l = begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second,
		ready).pass(20*time.Second, observed(2, ready)).
		expectStates("5 ScheduledToRestart, 6 DriverRequested, 7 DriverStarted, 8 DriverReady, 9 RunningHealthy").expectAttempt(1, 1, 1, 0)
	if got := shortened(l.app.Status.PreviousAttemptSummary.StateTransitionHistory); got != "0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy" {
		t.Errorf("the history of the previous attempt is %s", got)
	}
	// The id is read from the driver, because the id in the spec was edited after the launch.
	l = begin(t, trimmed, func(a *sparkv1.SparkApplication) { a.Spec.SparkConf["spark.app.id"] = "edited" }).pass(0,
		observed(1, func(d *lifecycle.Driver) { d.AppID = "pi-0" }))
	if got := l.app.Status.Operator.AttemptID; got != "pi-0" || naming.ID(l.app, 1) != "pi-0" {
		t.Errorf("the id is %q", got)
	}
}
