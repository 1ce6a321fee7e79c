package application

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// suspend sets spec.suspend as a user does, and returns the life cycle itself.
func (l *life) suspend(to bool) *life {
	l.app.Spec.Suspend = &to
	l.app.Generation++
	l.events = nil
	return l
}

// expectReady fails the test unless the condition Ready is False with the given reason.
func (l *life) expectReady(reason string) *life {
	l.Helper()

	ready := meta.FindStatusCondition(l.app.Status.Conditions, dialect.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != reason {
		l.Errorf("Ready is %+v, want False because of %s", ready, reason)
	}
	return l
}

// expectEvents fails the test unless the events since the last edit of suspend have the given reasons.
func (l *life) expectEvents(reasons ...string) *life {
	l.Helper()

	var got []string
	for _, e := range l.events {
		got = append(got, e.Reason)
	}

	if !slices.Equal(reasons, got) {
		l.Errorf("events %v, want %v", got, reasons)
	}
	return l
}

// deletes reports whether the last pass deletes something.
func (l *life) deletes() bool {
	return slices.ContainsFunc(l.plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Delete })
}

// TestHeldBeforeItsStart checks that an application which is created suspended gets no state, and one event.
func TestHeldBeforeItsStart(t *testing.T) {
	l := begin(t, trimmed).suspend(true).passWithoutObjects(0).passWithoutObjects(time.Hour).expectReady(apache.ReasonSuspendHeld).expectEvents("SuspendHeld")
	if s := l.app.Status; s.CurrentState != nil || s.Operator != nil || s.CurrentAttemptSummary != nil {
		t.Errorf("it has a status: %+v", s)
	}

	l.suspend(false).passWithoutObjects(time.Second).expectStates("0 Submitted, 1 DriverRequested").expectEvents("DriverRequested").expectAttempt(0, 0, 0, 0)
}

// TestSuspended checks an application that is suspended while it starts or runs, and resumed.
func TestSuspended(t *testing.T) {
	for name, at := range map[string]struct {
		change func(*lifecycle.Driver)
		states string
	}{
		"its driver is pending": {func(*lifecycle.Driver) {}, "0 Submitted, 1 DriverRequested"},
		"its driver starts":     {running, "0 Submitted, 1 DriverRequested, 2 DriverStarted"},
		"it runs": {ready,
			"0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy"},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, at.change).expectStates(at.states)
			n := len(l.app.Status.StateTransitionHistory)
			suspended := at.states + ", " +
				shortened(map[string]sparkv1.ApplicationState{strconv.Itoa(n): {CurrentStateSummary: sparkv1.ApplicationSuspended}})

			l.suspend(true).passWithDriver(time.Second,
				at.change).expectStates(suspended).expectReady(lifecycle.ReasonSuspended).expectEvents("Suspended")

			if l.deletes() || l.app.Status.CurrentState.SuspendReason != sparkv1.SpecSuspend {
				t.Errorf("before the state is stored: actions %v, state %+v", l.plan.Actions, l.app.Status.CurrentState)
			}

			if l.passWithDriver(time.Second, at.change); !l.deletes() {
				t.Errorf("after the state was stored: actions %v", l.plan.Actions)
			}

			l.passWithoutObjects(time.Second).passWithoutObjects(time.Hour).expectStates(suspended).expectEvents("Suspended").
				expectAttempt(0, 0, 0, 0)

			l.suspend(false).passWithoutObjects(time.Second).expectStates(strconv.Itoa(n+1)+" Submitted, "+
				strconv.Itoa(n+2)+" DriverRequested").
				expectEvents("Submitted", "DriverRequested").expectAttempt(1, 0, 0, 0)

			previous := l.app.Status.PreviousAttemptSummary
			if got := shortened(previous.StateTransitionHistory); got != suspended ||
				*previous.AttemptInfo != (sparkv1.AttemptInfo{}) {
				t.Errorf("the attempt before is %+v, %s", previous.AttemptInfo, got)
			}
		})
	}
}

// TestSuspendComesSecond checks that the driver's own end, and a timeout, win over a suspension that comes in the same
// pass. The restart that follows is held. An application that was resumed and not launched is held too.
func TestSuspendComesSecond(t *testing.T) {
	for name, end := range map[string]struct {
		change func(*lifecycle.Driver)
		states string
	}{
		"the driver succeeded": {succeeded, "5 Succeeded, 6 ScheduledToRestart"},
		"the driver crashed":   {crashed, "5 Failed, 6 ScheduledToRestart"},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, whole, restarting(sparkv1.RestartAlways)).passWithoutObjects(0).passWithDriver(time.Second, ready)
			l.suspend(true).passWithDriver(time.Second,
				end.change).passWithoutObjects(time.Hour).expectReady(apache.ReasonSuspendHeld)

			if got := shortened(l.app.Status.StateTransitionHistory); !strings.HasSuffix(got, end.states) {
				t.Errorf("states %s", got)
			}

			l.suspend(false).passWithoutObjects(time.Second).expectAttempt(1, 1,
				map[bool]int64{true: 1}[name == "the driver crashed"], 0)
		})
	}

	l := begin(t, whole, tolerating(sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: new(int64(60_000))}}))
	l.passWithoutObjects(0).suspend(true).passWithDriver(time.Minute).expectStates("0 Submitted, 1 DriverRequested, 2 DriverStartTimedOut")

	l = begin(t, whole).passWithoutObjects(0).passWithDriver(time.Second,
		ready).suspend(true).passWithDriver(time.Second, ready).passWithoutObjects(time.Second)
	gone := lifecycle.Observed{RemainingAttempts: []int32{1}}
	l.suspend(false).pass(time.Second,
		gone).suspend(true).passWithoutObjects(time.Hour).expectReady(apache.ReasonSuspendHeld).expectEvents("SuspendHeld").
		expectStates("0 Submitted, 1 DriverRequested, 2 DriverStarted, 3 DriverReady, 4 RunningHealthy, 5 Suspended, 6 Submitted")
}

// TestSuspendedElsewhere checks an application that another operator suspended. An application that Kueue evicted
// there waits for its user, because this operator does not queue it again.
func TestSuspendedElsewhere(t *testing.T) {
	left := inheritedStatus(2, append(path(sparkv1.ApplicationRunningHealthy), sparkv1.ApplicationSuspended)...)
	evicted := func(app *sparkv1.SparkApplication) {
		app.Status.CurrentState.SuspendReason = sparkv1.KueueEviction
		app.Status.StateTransitionHistory["5"] = *app.Status.CurrentState
	}

	l := begin(t, whole, left).suspend(true).passWithoutObjects(0).passWithoutObjects(time.Second)
	if got := status.Current(&l.app.Status); got != sparkv1.ApplicationSuspended ||
		len(l.app.Status.StateTransitionHistory) != 6 {
		t.Errorf("it is %s: %s", got, shortened(l.app.Status.StateTransitionHistory))
	}

	l.suspend(false).passWithoutObjects(time.Second).expectAttempt(3, 2, 2, 0)

	l = begin(t, whole, left, evicted).pass(0,
		begin(t, whole, left).inheritedDriver(ready)).expectReady(apache.ReasonEvicted)
	if !l.deletes() {
		t.Error("the driver of an evicted application stays")
	}

	l.passWithoutObjects(time.Second).passWithoutObjects(time.Second).expectReady(apache.ReasonEvicted).expectEvents(dialect.EventTakenOver, apache.ReasonEvicted)

	l.suspend(true).passWithoutObjects(time.Second).expectReady(lifecycle.ReasonSuspended)

	if got := shortened(l.app.Status.StateTransitionHistory); !strings.HasSuffix(got, "5 Suspended, 6 Suspended") ||
		l.app.Status.CurrentState.SuspendReason != sparkv1.SpecSuspend {
		t.Errorf("states %s, %+v", got, l.app.Status.CurrentState)
	}

	l.suspend(false).passWithoutObjects(time.Second)

	if got := status.Current(&l.app.Status); got != sparkv1.ApplicationDriverRequested {
		t.Errorf("after the resume it is %s", got)
	}
}

// TestSubmittedAgainElsewhere checks an application that another operator resumed and did not launch.
func TestSubmittedAgainElsewhere(t *testing.T) {
	l := begin(t, whole, inheritedStatus(2,
		append(path(sparkv1.ApplicationSuspended), sparkv1.ApplicationSubmitted)...))
	l.pass(0, lifecycle.Observed{RemainingAttempts: []int32{2}})

	if !l.deletes() || l.plan.Next.Attempt != 2 {
		t.Errorf("objects of the suspended attempt stay: %v", l.plan.Actions)
	}

	l.passWithoutObjects(time.Second).expectAttempt(2, 2, 2, 0)
}

// TestResumeThatWasNotStored checks that a resume whose status write failed is reported as one when its driver is
// found.
func TestResumeThatWasNotStored(t *testing.T) {
	l := begin(t, whole).passWithoutObjects(0).passWithDriver(time.Second, ready).suspend(true).passWithDriver(time.Second, ready).passWithoutObjects(time.Second)

	found := lifecycle.Driver{Name: "pi-driver", Attempt: 2, Phase: lifecycle.DriverPending, CreatedAt: l.now}
	l.suspend(false).pass(time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{found}}).expectAttempt(1, 0, 0, 0)

	if got := shortened(l.app.Status.StateTransitionHistory); !strings.HasSuffix(got, "5 Suspended, 6 Submitted, 7 DriverRequested") {
		t.Errorf("states %s", got)
	}
}

// TestHoldIsReportedOnce checks that an ended application is not reported as held, and that requests which fail do not
// repeat the report.
func TestHoldIsReportedOnce(t *testing.T) {
	l := begin(t, whole).passWithoutObjects(0).passWithDriver(time.Second, ready).suspend(true).passWithDriver(time.Second, succeeded)
	for _, e := range l.events {
		if e.Reason == apache.ReasonSuspendHeld {
			t.Error("an application that has succeeded is reported as held")
		}
	}

	failing := lifecycle.Observed{TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Unavailable", Message: "m"}, Since: t0}}
	begin(t, whole).suspend(true).pass(0, failing).pass(time.Second, failing).expectReady(apache.ReasonSuspendHeld).expectEvents(apache.ReasonSuspendHeld)
}
