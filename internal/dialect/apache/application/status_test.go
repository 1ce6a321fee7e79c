package application

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestConditions checks the conditions of each phase ("+" True, "-" False; others are absent).
func TestConditions(t *testing.T) {
	ended := func(o lifecycle.Outcome) lifecycle.Memory {
		return lifecycle.Memory{Outcome: o, Cause: lifecycle.Cause{Reason: "R", Message: "why"}}
	}

	because := lifecycle.Memory{Cause: lifecycle.Cause{Reason: "Unschedulable", Message: "no room"}}
	for _, c := range []struct {
		phase lifecycle.Phase
		m     lifecycle.Memory
		want  string
	}{
		{lifecycle.Launched, because, "Ready-Unschedulable Reconciling+Unschedulable Submitted+Submitted"},
		{lifecycle.Started, lifecycle.Memory{}, "Ready-Started Reconciling+Started Submitted+Submitted"},
		{lifecycle.Ready, lifecycle.Memory{},
			"Ready-AwaitingExecutors Reconciling+AwaitingExecutors Running+Running Submitted+Submitted"},
		{lifecycle.Scaling, because,
			"Ready-Unschedulable Reconciling+Unschedulable Running+Running Submitted+Submitted"},
		{lifecycle.Running, lifecycle.Memory{}, "Ready+Running Running+Running Submitted+Submitted"},
		{lifecycle.Running, because, "Degraded+Unschedulable Ready+Running Running+Running Submitted+Submitted"},
		{lifecycle.Partial, lifecycle.Memory{},
			"Degraded+PartialCapacity Ready+Partial Running+Running Submitted+Submitted"},
		{lifecycle.Below, lifecycle.Memory{},
			"Degraded+ExecutorsBelowThreshold Ready+Below Running+Running Submitted+Submitted"},
		{lifecycle.Below, because, "Degraded+Unschedulable Ready+Below Running+Running Submitted+Submitted"},
		{lifecycle.Unknown, lifecycle.Memory{Cause: lifecycle.Cause{Reason: lifecycle.ReasonNodeLost}},
			"Ready-NodeLost Reconciling+NodeLost Submitted+Submitted"},
		{lifecycle.Ended, ended(lifecycle.Failed), "Ready-R Reconciling+R"},
		{lifecycle.Waiting, ended(lifecycle.Failed), "Ready-R Reconciling+R"},
		{lifecycle.Retained, ended(lifecycle.Succeeded), "Ready+Succeeded Submitted+Submitted Succeeded+Succeeded"},
		{lifecycle.Retained, ended(lifecycle.Evicted), "Failed+R Ready-R Stalled+R Submitted+Submitted"},
		{lifecycle.Done, ended(lifecycle.Succeeded), "Ready+Succeeded Submitted+Submitted Succeeded+Succeeded"},
		{lifecycle.Done, ended(lifecycle.StartTimedOut), "Failed+R Ready-R Stalled+R Submitted+Submitted"},
	} {
		app := pi()
		m := c.m
		m.Phase, m.Attempt, m.Runs = c.phase, 1, 1
		status.Encode(app, status.Decision{Wanted: trimmed.app(app), Plan: lifecycle.Plan{Next: m}, At: t0, Trim: true})

		if diff := cmp.Diff(c.want, shown(app.Status.Conditions)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.phase, c.m.Outcome, diff)
		}
	}
}

func shown(conditions []metav1.Condition) string {
	var out []string
	for _, kind := range []string{"Degraded", "Failed", "Ready", "Reconciling", "Running", "SpecEdited", "Stalled",
		"Submitted", "Succeeded"} {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			out = append(out, kind+map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+",
				metav1.ConditionFalse: "-"}[c.Status]+c.Reason)
		}
	}
	return strings.Join(out, " ")
}

// TestNothingIsWrittenBeforeAnythingIsDone checks that a new application has no status, because tools take a status as
// a sign that an operator has handled the application. If the launch has to wait, a condition reports this, and the
// status still has no state.
func TestNothingIsWrittenBeforeAnythingIsDone(t *testing.T) {
	l := begin(t, trimmed)
	status.Encode(l.app, status.Decision{Wanted: l.a.app(l.app), At: t0, Trim: true})

	if diff := cmp.Diff(sparkv1.ApplicationStatus{}, l.app.Status); diff != "" {
		t.Errorf("a pass that does nothing writes:\n%s", diff)
	}

	l.pass(0, lifecycle.Observed{Confirmed: true,
		TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Unavailable", Message: "later"},
			Since: t0}})

	s := l.app.Status
	if s.CurrentState != nil || s.Operator != nil || shown(s.Conditions) != "Ready-Unavailable" {
		t.Errorf("while a transient error delays the launch, the status is %+v", s)
	}

	l.passWithoutObjects(time.Second).expectStates("0 Submitted, 1 DriverRequested")
}

// TestSubmittedAt checks that the first entry of the history has the application's creation time. A creation time in
// the future, from a clock that differs, must not be used.
func TestSubmittedAt(t *testing.T) {
	for _, c := range []struct{ created, want time.Time }{
		{t0.Add(-time.Hour), t0.Add(-time.Hour)}, {t0.Add(time.Hour), t0}, {time.Time{}, t0},
	} {
		l := begin(t, trimmed, func(a *sparkv1.SparkApplication) { a.CreationTimestamp = metav1.NewTime(c.created) }).passWithoutObjects(0)
		if got := l.app.Status.StateTransitionHistory["0"].LastTransitionTime; got != apache.Timestamp(c.want) {
			t.Errorf("created at %v, submitted at %s", c.created, got)
		}
	}

	if got := apache.Timestamp(time.Date(2026, 1, 2, 3, 4, 5, 0,
		time.FixedZone("", 3600))); got != "2026-01-02T02:04:05.000000Z" {
		t.Errorf("a whole second is %s", got)
	}
}

// TestTimesNeverGoBack checks that the times of a history never decrease, even if another machine's clock is behind or
// a clock was set back.
func TestTimesNeverGoBack(t *testing.T) {
	l := begin(t, trimmed).passWithoutObjects(0)
	l.now = t0.Add(-time.Hour)
	// Each pass calls checkShape, which checks the order of the times.
	l.passWithDriver(time.Second, ready).passWithDriver(time.Second,
		succeeded).passWithoutObjects(time.Second).expectStates(success + released)
}

// TestStatusOfTheDriver checks that the state of a failure contains the driver pod's status, limited in size and
// without null values. The state of a success must not contain it.
func TestStatusOfTheDriver(t *testing.T) {
	l := begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, crashed)
	want := `{"containerStatuses":[{"image":"","imageID":"","name":"spark-kubernetes-driver","ready":false,"restartCount":0,` +
		`"state":{"terminated":{"exitCode":1,"reason":"Error"}}}],"phase":"Failed"}`

	got := string(l.app.Status.StateTransitionHistory["5"].LastObservedDriverStatus.Raw)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the driver pod's status of a failure (-want +got):\n%s", diff)
	}

	l = begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second,
		succeeded)
	for key, entry := range l.app.Status.StateTransitionHistory {
		if entry.LastObservedDriverStatus != nil {
			t.Errorf("state %s of a success has %s", key, entry.LastObservedDriverStatus.Raw)
		}
	}
}

// TestNoRunawayStatus checks that the status of an application that loses executors and fails for weeks stays small
// enough to be stored.
func TestNoRunawayStatus(t *testing.T) {
	l := begin(t, whole, tolerating(sparkv1.ApplicationTolerations{
		InstanceConfig: &sparkv1.InstanceConfig{MinExecutors: new(int64(1)), MaxExecutors: new(int64(2))},
		RestartConfig: &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartAlways,
			MaxRestartAttempts: new(int64(1 << 40)), RestartBackoffMillis: new(int64(0))}})).passWithoutObjects(0)
	for range 20 {
		for n := range 40 {
			l.pass(5*time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)},
				Executors: executors(l.plan.Next.Attempt, n%3), ProbeResult: &lifecycle.Cause{}})
		}

		l.passWithDriver(time.Second, crashed,
			func(d *lifecycle.Driver) { d.Why.Message = strings.Repeat("why ", 2000) })
		l.passWithoutObjects(time.Second)
	}

	s := l.app.Status

	text, err := json.Marshal(s)
	if err != nil || len(text) > 400<<10 || len(s.StateTransitionHistory) != status.MaxHistory {
		t.Errorf("%d states, %d bytes, %v", len(s.StateTransitionHistory), len(text), err)
	}

	keys, snapshots := apache.KeysOf(s.StateTransitionHistory), 0
	for _, entry := range s.StateTransitionHistory {
		if entry.LastObservedDriverStatus != nil {
			snapshots++
		}
	}

	if last := apache.KeyOf(keys[len(keys)-1]); apache.KeyOf(keys[0]) != last-status.MaxHistory+1 ||
		last < status.MaxHistory+50 || snapshots != status.MaxSnapshots {
		t.Errorf("keys %s to %s, %d of them with a pod's status", keys[0], keys[len(keys)-1], snapshots)
	}
}

// TestDeletedKeepsItsStatus checks that the operator cleans up after an application that is being deleted and does not
// write its status.
func TestDeletedKeepsItsStatus(t *testing.T) {
	l := begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready)
	before := l.app.Status.DeepCopy()
	l.app.DeletionTimestamp = new(metav1.NewTime(l.now))
	l.passWithDriver(time.Second, ready)

	if diff := cmp.Diff(*before, l.app.Status); diff != "" || len(l.plan.Actions) != 1 ||
		l.plan.Actions[0].Verb != lifecycle.Delete || l.plan.Actions[0].Force {
		t.Errorf("actions %v, status %s", l.plan.Actions, diff)
	}

	l.passWithDriver(6*time.Minute, ready)

	if len(l.plan.Actions) != 1 || !l.plan.Actions[0].Force {
		t.Errorf("after the grace of its spec: %v", l.plan.Actions)
	}
}

// TestExecutorCounts checks that every executor of an attempt is counted once, that the counts of the next attempt
// start at zero, and that a failed executor is reported.
func TestExecutorCounts(t *testing.T) {
	l := begin(t, trimmed, restarting(sparkv1.RestartAlways)).passWithoutObjects(0)
	some := executors(1, 3)
	some[1].Phase, some[1].Why = lifecycle.DriverFailed, lifecycle.Cause{Reason: "OOMKilled", Message: "too big"}
	l.pass(time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: some,
		ProbeResult: &lifecycle.Cause{}})

	if e := l.app.Status.Executors; e == nil || e.Running != 2 || e.Failed != 1 {
		t.Errorf("counted %+v", e)
	}

	if told := fmt.Sprint(l.events); !strings.Contains(told, "SparkExecutorFailed pi-exec-2") {
		t.Errorf("events %s", told)
	}

	l.passWithDriver(time.Second, crashed).passWithoutObjects(10 * time.Second)

	if e := l.app.Status.Executors; l.plan.Next.Attempt != 2 || e != nil {
		t.Errorf("attempt %d has no executors yet, but the counts are %+v", l.plan.Next.Attempt, e)
	}
}
