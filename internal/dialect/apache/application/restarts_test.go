package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// restarting returns a change that sets a restart policy with a back-off of 10 s.
func restarting(policy sparkv1.RestartPolicy, change ...func(*sparkv1.RestartConfig)) func(*sparkv1.SparkApplication) {
	c := sparkv1.RestartConfig{RestartPolicy: policy, RestartBackoffMillis: new(int64(10_000))}
	for _, set := range change {
		set(&c)
	}
	return tolerating(sparkv1.ApplicationTolerations{RestartConfig: &c})
}

// expectAttempt fails the test unless the current attempt has the given number (id, from 0) and the given counters of
// restarts.
func (l *life) expectAttempt(id, restarts, failures, refusals int64) *life {
	l.Helper()

	want := &sparkv1.AttemptInfo{ID: id, RestartCounter: restarts, FailureRestartCounter: failures,
		SchedulingFailureRestartCounter: refusals}
	if diff := cmp.Diff(want, l.app.Status.CurrentAttemptSummary.AttemptInfo); diff != "" {
		l.Errorf("attempt (-want +got):\n%s", diff)
	}
	return l
}

func (l *life) rejected() *life {
	return l.pass(10*time.Second,
		lifecycle.Observed{Confirmed: true,
			Rejection: &lifecycle.Cause{Reason: "Forbidden", Message: "exceeded quota"}})
}

// endNextAttempt runs passes until the next attempt has been launched and its driver is ready. Then it calls the given
// function, which changes the driver so that the attempt ends. It returns the life cycle itself.
func (l *life) endNextAttempt(end func(*lifecycle.Driver)) *life {
	l.Helper()
	return l.passWithoutObjects(10*time.Second).passWithDriver(time.Second, ready).passWithDriver(time.Second, end)
}

// TestAttempts checks that each attempt has its number and its counters as soon as it is scheduled, and that the
// numbers of states continue across attempts. If the history is trimmed, it must contain only the current attempt's
// states, and previousAttemptSummary must contain the previous attempt's states.
func TestAttempts(t *testing.T) {
	l := begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).expectAttempt(0, 0, 0, 0)
	if l.app.Status.PreviousAttemptSummary != nil {
		t.Error("the first attempt has a previous attempt")
	}

	l.passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed).expectAttempt(1, 1, 1,
		0).expectStates("6 ScheduledToRestart")

	previous := l.app.Status.PreviousAttemptSummary
	if got := shortened(previous.StateTransitionHistory); got != failure ||
		*previous.AttemptInfo != (sparkv1.AttemptInfo{}) {
		t.Errorf("the summary of the first attempt is %+v, %s", previous.AttemptInfo, got)
	}

	l.passWithoutObjects(time.Second).expectStates("6 ScheduledToRestart").endNextAttempt(crashed).expectAttempt(2, 2,
		2, 0).expectStates("12 ScheduledToRestart")

	previous = l.app.Status.PreviousAttemptSummary
	if got := shortened(previous.StateTransitionHistory); *previous.AttemptInfo != (sparkv1.AttemptInfo{ID: 1,
		RestartCounter: 1, FailureRestartCounter: 1}) ||
		got != "6 ScheduledToRestart, 7 DriverRequested, 8 DriverStarted, 9 DriverReady, 10 RunningHealthy, 11 Failed" {
		t.Errorf("the summary of the second attempt is %+v, %s", previous.AttemptInfo, got)
	}

	l.endNextAttempt(succeeded).passWithoutObjects(time.Second).expectAttempt(2, 2, 2, 0).
		expectStates("12 ScheduledToRestart, 13 DriverRequested, 14 DriverStarted, 15 DriverReady, 16 RunningHealthy, 17 Succeeded, 18 ResourceReleased")

	l = begin(t, whole, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second,
		ready).passWithDriver(time.Second, evicted).endNextAttempt(succeeded).passWithoutObjects(time.Second)
	l.expectAttempt(1, 1, 1, 0).expectStates("0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy, 5 DriverEvicted, 6 ScheduledToRestart, " +
		"7 DriverRequested, 8 DriverStarted, 9 DriverReady, 10 RunningHealthy, 11 Succeeded, 12 ResourceReleased")

	if previous := l.app.Status.PreviousAttemptSummary; previous.StateTransitionHistory != nil ||
		previous.AttemptInfo.ID != 0 {
		t.Errorf("untrimmed, the attempt before is %+v", previous)
	}
}

// TestAttemptsWithinADecision checks that the status also reports an attempt that starts and ends within one pass.
func TestAttemptsWithinADecision(t *testing.T) {
	before := func(l *life, want sparkv1.AttemptInfo) {
		t.Helper()

		if diff := cmp.Diff(&want, l.app.Status.PreviousAttemptSummary.AttemptInfo); diff != "" {
			t.Errorf("the attempt before (-want +got):\n%s", diff)
		}
	}
	again := restarting(sparkv1.RestartAlways)
	found := func(attempt int32, end func(*lifecycle.Driver)) lifecycle.Observed {
		d := lifecycle.Driver{Name: "pi-driver", Attempt: attempt, CreatedAt: t0}
		end(&d)
		return lifecycle.Observed{Drivers: []lifecycle.Driver{d}}
	}
	l := begin(t, trimmed, again).rejected().expectAttempt(1, 1, 1, 1).expectStates("2 ScheduledToRestart")
	before(l, sparkv1.AttemptInfo{})
	before(l.rejected().expectAttempt(2, 2, 2, 2),
		sparkv1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1, SchedulingFailureRestartCounter: 1})

	// The launch was not stored.
	before(begin(t, trimmed, again).pass(0, found(1, succeeded)).expectAttempt(1, 1, 0, 0), sparkv1.AttemptInfo{})

	ran := func() *life { return begin(t, trimmed, again).passWithoutObjects(0).passWithDriver(time.Second, ready) }
	// Neither the end of the first attempt nor the launch of the second was stored.
	l = ran().pass(20*time.Second, found(2, crashed)).expectAttempt(2, 2, 2, 0)
	before(l, sparkv1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1})

	if text := status.States(l.app.Status.PreviousAttemptSummary.StateTransitionHistory)[0].Message; text != "attempt 1 has ended; the next attempt follows" {
		t.Errorf("the second attempt begins with %q", text)
	}

	before(ran().passWithDriver(time.Second, crashed).pass(20*time.Second, found(2, crashed)).expectAttempt(2, 2, 2, 0),
		sparkv1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1})
}

// TestEmptyState checks that a status whose current state has no name is handled like a status without a state, so that
// the first attempt is launched.
func TestEmptyState(t *testing.T) {
	l := begin(t, trimmed, func(app *sparkv1.SparkApplication) { app.Status.CurrentState = &sparkv1.ApplicationState{} })
	if l.passWithoutObjects(0).expectStates("0 Submitted, 1 DriverRequested"); l.app.Status.PreviousAttemptSummary != nil {
		t.Errorf("a first attempt follows %+v", l.app.Status.PreviousAttemptSummary)
	}
}

// TestLimitsOfRestarts checks that an application ends when it reaches a limit of restarts, and that the message of the
// last state names the limit.
func TestLimitsOfRestarts(t *testing.T) {
	over := func(l *life, limit string) {
		t.Helper()

		if l.plan.Next.Phase != lifecycle.Done || l.plan.Next.Cause.Reason != lifecycle.ReasonRestartsExhausted {
			t.Errorf("%s: the application is %s, %+v", limit, l.plan.Next.Phase, l.plan.Next.Cause)
		}

		if text := l.app.Status.CurrentState.Message; text == "" || text == l.plan.Next.Cause.Reason {
			t.Errorf("%s: the end says %q", limit, text)
		}
	}
	l := begin(t, trimmed, restarting(sparkv1.RestartAlways,
		func(c *sparkv1.RestartConfig) { c.MaxRestartAttempts = new(int64(1)) })).
		passWithoutObjects(0).passWithDriver(time.Second, succeeded).expectAttempt(1, 1, 0,
		0).endNextAttempt(succeeded).passWithoutObjects(time.Second)
	over(l, "restarts")
	l = begin(t, trimmed, restarting(sparkv1.RestartOnFailure,
		func(c *sparkv1.RestartConfig) { c.MaxRestartOnFailure = new(int64(1)) })).
		passWithoutObjects(0).passWithDriver(time.Second, crashed).expectAttempt(1, 1, 1,
		0).endNextAttempt(crashed).passWithoutObjects(time.Second)
	over(l, "failures")
	l = begin(t, trimmed, restarting(sparkv1.RestartOnInfrastructureFailure,
		func(c *sparkv1.RestartConfig) { c.MaxRestartOnSchedulingFailure = new(int64(2)) })).
		rejected().expectAttempt(1, 1, 1, 1).passWithoutObjects(time.Second).rejected().expectAttempt(2, 2, 2,
		2).passWithoutObjects(time.Second).rejected().passWithoutObjects(time.Second)
	over(l, "refusals")

	l = begin(t, trimmed, restarting(sparkv1.RestartOnInfrastructureFailure)).passWithoutObjects(0).passWithDriver(time.Second, crashed).passWithoutObjects(time.Second)
	if m := l.plan.Next; m.Phase != lifecycle.Done || m.Cause.Reason == lifecycle.ReasonRestartsExhausted {
		t.Errorf("a failure of its own is followed by %s, %+v", m.Phase, m.Cause)
	}
}

// TestCountersAreResetAfterALongAttempt checks that restartCounterResetMillis resets the counters of restarts after a
// long attempt.
func TestCountersAreResetAfterALongAttempt(t *testing.T) {
	l := begin(t, trimmed, restarting(sparkv1.RestartAlways,
		func(c *sparkv1.RestartConfig) { c.RestartCounterResetMillis = new(int64(60_000)) })).
		passWithoutObjects(0).passWithDriver(time.Second, crashed).expectAttempt(1, 1, 1,
		0).endNextAttempt(crashed).expectAttempt(2, 2, 2, 0).
		passWithoutObjects(10*time.Second).passWithDriver(time.Second, ready).passWithDriver(2*time.Minute,
		crashed).expectAttempt(3, 1, 0, 0)
	if got := l.app.Status.PreviousAttemptSummary.AttemptInfo; *got != (sparkv1.AttemptInfo{ID: 2, RestartCounter: 2,
		FailureRestartCounter: 2}) {
		t.Errorf("the attempt before is %+v", got)
	}
}

// TestFixedSpecIsRetried checks that after a rejected attempt the next attempt uses the edited spec, if the restart
// policy allows a next attempt.
func TestFixedSpecIsRetried(t *testing.T) {
	l := begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).rejected()
	if got := status.Current(&l.app.Status); got != sparkv1.ApplicationScheduledToRestart {
		t.Fatalf("after the rejection, the state is %s", got)
	}

	l.app.Generation, l.app.Spec.DriverArgs = 2, []string{"mended"}
	l.passWithoutObjects(10*time.Second).expectAttempt(1, 1, 1,
		1).expectStates("2 ScheduledToRestart, 3 DriverRequested")

	for _, c := range l.app.Status.Conditions {
		if c.Type == status.ConditionEdited {
			t.Errorf("an attempt that uses the edited spec has the condition %+v", c)
		}
	}
}

// TestBrokenEditFailsNextAttempt checks the effect of an edit that makes the spec invalid. If the next attempt is
// already scheduled, it fails, unless the user corrects the spec before its launch. An attempt that runs is not
// affected, but no other attempt follows it.
func TestBrokenEditFailsNextAttempt(t *testing.T) {
	client := func(l *life, mode sparkv1.DeploymentMode) *life {
		l.app.Generation++
		l.app.Spec.DeploymentMode = mode
		return l
	}
	waiting := func() *life {
		l := begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second,
			ready).passWithDriver(time.Second, crashed)
		return client(l, sparkv1.ClientMode).passWithoutObjects(5 * time.Second).expectStates("6 ScheduledToRestart")
	}

	l := waiting().passWithoutObjects(10*time.Second).expectStates("6 ScheduledToRestart, 7 Failed, 8 ResourceReleased").expectAttempt(1, 1, 1, 0)
	if text := status.States(l.app.Status.StateTransitionHistory)[1].Message; !strings.Contains(text,
		"spec.deploymentMode") {
		t.Errorf("the attempt fails of %q", text)
	}

	client(waiting(), sparkv1.ClusterMode).passWithoutObjects(10 * time.Second).expectStates("6 ScheduledToRestart, 7 DriverRequested")

	l = client(begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second,
		ready), sparkv1.ClientMode).
		passWithDriver(time.Second, ready).passWithDriver(time.Second,
		crashed).passWithoutObjects(time.Second).expectStates(failure + released)
	if text := l.app.Status.CurrentState.Message; !strings.Contains(text, "spec.deploymentMode") ||
		!strings.Contains(text, "exit code 1") {
		t.Errorf("the end says %q", text)
	}
	// Without a restart there is nothing to report.
	l = client(begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready),
		sparkv1.ClientMode).passWithDriver(time.Second,
		crashed).passWithoutObjects(time.Second).expectStates(failure + released)
	if text := l.app.Status.CurrentState.Message; strings.Contains(text, "deploymentMode") {
		t.Errorf("the end says %q", text)
	}
}

// TestEditBesideARun checks that an edit does not replace a running attempt, is reported once, and applies to the next
// attempt.
func TestEditBesideARun(t *testing.T) {
	l := begin(t, trimmed, restarting(sparkv1.RestartOnFailure)).passWithoutObjects(0).passWithDriver(time.Second, ready)
	edited := func() bool {
		for _, c := range l.app.Status.Conditions {
			if c.Type == status.ConditionEdited {
				return c.ObservedGeneration == 2
			}
		}
		return false
	}

	tell := func() (n int) {
		for _, e := range l.events {
			if e.Reason == "SparkApplicationSpecChanged" {
				n++
			}
		}
		return n
	}
	if edited() || tell() != 0 {
		t.Fatal("an edit is reported before the spec was edited")
	}

	l.app.Generation, l.app.Spec.DriverArgs = 2, []string{"other"}
	for range 3 {
		l.passWithDriver(time.Second, ready)
	}

	if len(l.plan.Actions) > 0 || !edited() || tell() != 1 || l.app.Status.ObservedGeneration != 2 {
		t.Errorf("after an edit of a running application: actions %v, condition %v, %d events", l.plan.Actions,
			edited(), tell())
	}

	l.passWithDriver(time.Second, crashed)

	if edited() {
		t.Error("the attempt has ended, but the condition still reports the edit")
	}

	if l.passWithoutObjects(10 * time.Second); edited() || tell() != 1 || l.plan.Next.Attempt != 2 {
		t.Errorf("attempt %d: condition %v, %d events", l.plan.Next.Attempt, edited(), tell())
	}
}

// TestRestartsRetainNothing checks that an application that may restart retains no objects, whatever its retain policy
// and duration are, and that its time to live counts from the end of its last attempt. Objects that were retained
// before stay as long as the spec says, also if the application may restart.
func TestRestartsRetainNothing(t *testing.T) {
	for _, policy := range []sparkv1.RestartPolicy{sparkv1.RestartOnFailure, sparkv1.RestartAlways, sparkv1.RestartOnInfrastructureFailure} {
		for _, retain := range []sparkv1.ResourceRetainPolicy{sparkv1.RetainAlways, sparkv1.RetainOnFailure} {
			for _, a := range []Applications{trimmed, whole} {
				keeps := tolerating(sparkv1.ApplicationTolerations{
					ResourceRetainPolicy: retain, ResourceRetainDurationMillis: new(int64(3600_000)), TTLAfterStopMillis: new(int64(60_000)),
					RestartConfig: &sparkv1.RestartConfig{RestartPolicy: policy, MaxRestartAttempts: new(int64(0))},
				})
				l := begin(t, a, keeps).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed)
				l.passWithDriver(time.Second, crashed).passWithoutObjects(time.Second).expectStates(failure + released)

				if l.passWithoutObjects(58 * time.Second); len(l.plan.Actions) != 1 || l.plan.Actions[0].Part != lifecycle.Application {
					t.Errorf("%s, %s: after its time to live: %v", policy, retain, l.plan.Actions)
				}

				if got := strings.Join(tolerationWarnings(&l.app.Spec), "; "); !strings.Contains(got, "resourceRetainPolicy: "+string(retain)+" has no effect") {
					t.Errorf("%s, %s: warnings %q", policy, retain, got)
				}

				l = begin(t, a, inheritedStatus(2, path(sparkv1.ApplicationTerminatedWithoutReleaseResources)...), keeps)
				if l.pass(0, l.inheritedDriver(crashed)); len(l.plan.Actions) > 0 || l.plan.Next.Phase != lifecycle.Retained {
					t.Errorf("%s, %s: retained before, it is %s, and %v", policy, retain, l.plan.Next.Phase, l.plan.Actions)
				}
			}
		}
	}
}

// TestTimeToLive checks that an application is deleted exactly when its time to live has passed, counted from its end.
func TestTimeToLive(t *testing.T) {
	l := begin(t, trimmed, tolerating(sparkv1.ApplicationTolerations{TTLAfterStopMillis: new(int64(60_000))})).
		passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
		succeeded).passWithoutObjects(time.Second)
	if l.passWithoutObjects(58 * time.Second); len(l.plan.Actions) > 0 || l.plan.RequeueAfter != time.Second {
		t.Errorf("a second before: %v, looked at again after %s", l.plan.Actions, l.plan.RequeueAfter)
	}

	if l.passWithoutObjects(time.Second); len(l.plan.Actions) != 1 || l.plan.Actions[0].Part != lifecycle.Application {
		t.Errorf("then: %v", l.plan.Actions)
	}
}
