package application

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
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
		{lifecycle.Ready, lifecycle.Memory{}, "Ready-AwaitingExecutors Reconciling+AwaitingExecutors Running+Running Submitted+Submitted"},
		{lifecycle.Scaling, because, "Ready-Unschedulable Reconciling+Unschedulable Running+Running Submitted+Submitted"},
		{lifecycle.Running, lifecycle.Memory{}, "Ready+Running Running+Running Submitted+Submitted"},
		{lifecycle.Running, because, "Degraded+Unschedulable Ready+Running Running+Running Submitted+Submitted"},
		{lifecycle.Partial, lifecycle.Memory{}, "Degraded+PartialCapacity Ready+Partial Running+Running Submitted+Submitted"},
		{lifecycle.Below, lifecycle.Memory{}, "Degraded+ExecutorsBelowThreshold Ready+Below Running+Running Submitted+Submitted"},
		{lifecycle.Below, because, "Degraded+Unschedulable Ready+Below Running+Running Submitted+Submitted"},
		{lifecycle.Unknown, lifecycle.Memory{Cause: lifecycle.Cause{Reason: lifecycle.ReasonNodeLost}}, "Ready-NodeLost Reconciling+NodeLost Submitted+Submitted"},
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
		trimmed.encode(app, trimmed.app(app), lifecycle.Plan{Next: m}, lifecycle.Observed{}, t0)

		if diff := cmp.Diff(c.want, shown(app.Status.Conditions)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.phase, c.m.Outcome, diff)
		}
	}
}

func shown(conditions []metav1.Condition) string {
	var out []string
	for _, kind := range []string{"Degraded", "Failed", "Ready", "Reconciling", "Running", "SpecEdited", "Stalled", "Submitted", "Succeeded"} {
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			out = append(out, kind+map[metav1.ConditionStatus]string{metav1.ConditionTrue: "+", metav1.ConditionFalse: "-"}[c.Status]+c.Reason)
		}
	}
	return strings.Join(out, " ")
}

// TestNothingIsWrittenBeforeAnythingIsDone checks that a new application has no status, because tools take a status as
// a sign that an operator has handled the application. If the launch has to wait, a condition reports this, and the
// status still has no state.
func TestNothingIsWrittenBeforeAnythingIsDone(t *testing.T) {
	l := begin(t, trimmed)
	l.a.encode(l.app, l.a.app(l.app), lifecycle.Plan{}, lifecycle.Observed{}, t0)

	if diff := cmp.Diff(sparkv1.ApplicationStatus{}, l.app.Status); diff != "" {
		t.Errorf("a pass that does nothing writes:\n%s", diff)
	}

	l.pass(0, lifecycle.Observed{Confirmed: true, TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Unavailable", Message: "later"}, Since: t0}})

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

	if got := apache.Timestamp(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))); got != "2026-01-02T02:04:05.000000Z" {
		t.Errorf("a whole second is %s", got)
	}
}

// TestTimesNeverGoBack checks that the times of a history never decrease, even if another machine's clock is behind or
// a clock was set back.
func TestTimesNeverGoBack(t *testing.T) {
	l := begin(t, trimmed).passWithoutObjects(0)
	l.now = t0.Add(-time.Hour)
	// Each pass calls checkShape, which checks the order of the times.
	l.passWithDriver(time.Second, ready).passWithDriver(time.Second, succeeded).passWithoutObjects(time.Second).expectStates(success + released)
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

	l = begin(t, trimmed).passWithoutObjects(0).passWithDriver(time.Second, ready).passWithDriver(time.Second, succeeded)
	for key, entry := range l.app.Status.StateTransitionHistory {
		if entry.LastObservedDriverStatus != nil {
			t.Errorf("state %s of a success has %s", key, entry.LastObservedDriverStatus.Raw)
		}
	}
}

// TestSnapshot checks that the snapshot of a large pod status lacks the least useful parts and is still JSON without
// null values.
func TestSnapshot(t *testing.T) {
	if snapshot(nil) != nil || snapshot(&corev1.PodStatus{}) != nil {
		t.Error("the snapshot of an empty pod status is not nil")
	}

	long := strings.Repeat("é", 5000)

	status := corev1.PodStatus{Phase: corev1.PodFailed, Message: long, PodIP: "10.0.0.1"}
	for i := range 100 {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("C", i)), Message: long})
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint("c", i), ContainerID: long,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: long, ContainerID: long}}})
	}

	before := status.DeepCopy()
	for _, few := range []int{1, 10, 100} {
		cutDown := *before.DeepCopy()
		cutDown.Conditions, cutDown.ContainerStatuses = cutDown.Conditions[:few], cutDown.ContainerStatuses[:few]
		got := snapshot(&cutDown)

		var read corev1.PodStatus
		if err := json.Unmarshal(got.Raw, &read); err != nil || len(got.Raw) > maxSnapshot || strings.Contains(string(got.Raw), "null") {
			t.Errorf("of %d containers: %d bytes, %v", few, len(got.Raw), err)
		}

		if read.Phase != corev1.PodFailed || read.Message == "" || read.PodIP != "" || few == 1 && (len(read.ContainerStatuses) != 1 || len(read.Conditions) != 1) {
			t.Errorf("of %d containers: %s", few, got.Raw)
		}
	}

	if diff := cmp.Diff(before, &status); diff != "" {
		t.Errorf("what was read was changed:\n%s", diff)
	}
}

// TestNoRunawayStatus checks that the status of an application that loses executors and fails for weeks stays small
// enough to be stored.
func TestNoRunawayStatus(t *testing.T) {
	l := begin(t, whole, tolerating(sparkv1.ApplicationTolerations{
		InstanceConfig: &sparkv1.InstanceConfig{MinExecutors: new(int64(1)), MaxExecutors: new(int64(2))},
		RestartConfig:  &sparkv1.RestartConfig{RestartPolicy: sparkv1.RestartAlways, MaxRestartAttempts: new(int64(1 << 40)), RestartBackoffMillis: new(int64(0))}})).passWithoutObjects(0)
	for range 20 {
		for n := range 40 {
			l.pass(5*time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(l.plan.Next.Attempt, n%3), ProbeResult: &lifecycle.Cause{}})
		}

		l.passWithDriver(time.Second, crashed, func(d *lifecycle.Driver) { d.Why.Message = strings.Repeat("why ", 2000) })
		l.passWithoutObjects(time.Second)
	}

	s := l.app.Status

	text, err := json.Marshal(s)
	if err != nil || len(text) > 400<<10 || len(s.StateTransitionHistory) != maxHistory {
		t.Errorf("%d states, %d bytes, %v", len(s.StateTransitionHistory), len(text), err)
	}

	keys, snapshots := apache.KeysOf(s.StateTransitionHistory), 0
	for _, entry := range s.StateTransitionHistory {
		if entry.LastObservedDriverStatus != nil {
			snapshots++
		}
	}

	if last := apache.KeyOf(keys[len(keys)-1]); apache.KeyOf(keys[0]) != last-maxHistory+1 || last < maxHistory+50 || snapshots != maxSnapshots {
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

	if diff := cmp.Diff(*before, l.app.Status); diff != "" || len(l.plan.Actions) != 1 || l.plan.Actions[0].Verb != lifecycle.Delete || l.plan.Actions[0].Force {
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
	l.pass(time.Second, lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: some, ProbeResult: &lifecycle.Cause{}})

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

// TestBothVersionsHoldEveryState checks that the CRDs of both API versions allow the same states, so that a status that
// was written through one version can be written through the other.
func TestBothVersionsHoldEveryState(t *testing.T) {
	text, err := os.ReadFile("../../../../config/crd/spark.apache.org_sparkapplications.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}

	if len(crd.Spec.Versions) != 2 {
		t.Fatalf("%d versions", len(crd.Spec.Versions))
	}

	for _, version := range crd.Spec.Versions {
		var allowed []string
		for _, value := range version.Schema.OpenAPIV3Schema.Properties["status"].Properties["currentState"].Properties["currentStateSummary"].Enum {
			allowed = append(allowed, strings.Trim(string(value.Raw), `"`))
		}

		var want []string
		for _, state := range everyState {
			want = append(want, string(state))
		}

		want = append(want, "Suspended") // which only the other operator writes
		if diff := cmp.Diff(want, allowed); diff != "" {
			t.Errorf("%s (-written +allowed):\n%s", version.Name, diff)
		}
	}

	if len(adopted) != len(everyState)+1 {
		t.Errorf("%d states are read, %d written", len(adopted)-1, len(everyState))
	}

	for _, state := range liveStates {
		if stateRank(state) < 0 {
			t.Errorf("%s is no state of a driver", state)
		}
	}
}
