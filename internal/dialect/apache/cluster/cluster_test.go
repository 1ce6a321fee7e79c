package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/history"
)

var clusterNoon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// testClusters are Clusters with the operator's default configuration.
var testClusters = Clusters{Options{MasterStart: 5 * time.Minute, Trim: true}}

// sparkCluster returns a cluster with a master and two workers, to which the given changes are applied.
func sparkCluster(change ...func(*sparkv1.SparkCluster)) *sparkv1.SparkCluster {
	sc := &sparkv1.SparkCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "uid-c", Generation: 1,
			CreationTimestamp: metav1.NewTime(clusterNoon)},
		Spec: sparkv1.ClusterSpec{
			RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
			ClusterTolerations: sparkv1.ClusterTolerations{InstanceConfig: sparkv1.WorkerInstanceConfig{InitWorkers: 2,
				MinWorkers: 2, MaxWorkers: 2}},
		},
	}
	for _, change := range change {
		change(sc)
	}
	return sc
}

func autoscaledCluster(least, most int64) func(*sparkv1.SparkCluster) {
	return func(sc *sparkv1.SparkCluster) {
		sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: 2, MinWorkers: least,
			MaxWorkers: most}
	}
}

// editTo returns a change that edits the spec: it sets the number of workers and the sparkConf.
func editTo(workers int64, conf map[string]string) func(*sparkv1.SparkCluster) {
	return func(sc *sparkv1.SparkCluster) {
		sc.Generation++
		sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: workers,
			MinWorkers: workers, MaxWorkers: workers}
		sc.Spec.SparkConf = conf
	}
}

// makeInvalid edits the spec so that it becomes invalid.
func makeInvalid(sc *sparkv1.SparkCluster) { editTo(-1, nil)(sc) }

// clusterWorld holds a stored cluster, the observed pods, and the API server's answers about the cluster's objects.
type clusterWorld struct {
	t        *testing.T
	c        Clusters
	sc       *sparkv1.SparkCluster
	seen     lifecycle.Observed
	refused  lifecycle.Cause // why the first object is rejected; zero: all objects exist
	late     bool            // the state of the objects is not known yet
	now      time.Time
	check    time.Duration // the requeue interval of the last pass
	reported []string      // the reasons of the events of all passes
}

func newClusterWorld(t *testing.T, change ...func(*sparkv1.SparkCluster)) *clusterWorld {
	t.Helper()
	return &clusterWorld{t: t, c: testClusters, sc: sparkCluster(change...), now: clusterNoon}
}

// observePods sets the observed pods to ready pods of the current spec: the master and the given number of workers.
func (w *clusterWorld) observePods(workers int) {
	want, _, _ := w.c.want(w.sc, lifecycle.Observed{})
	pod := func(name string, role lifecycle.Role) lifecycle.Member {
		return lifecycle.Member{Name: name, Role: role, Phase: lifecycle.DriverRunning, Ready: true,
			Generation: want.Made[role]}
	}

	w.seen.Members = []lifecycle.Member{pod("c-master-0", lifecycle.Master)}
	for i := range workers {
		w.seen.Members = append(w.seen.Members, pod("c-worker-"+strconv.Itoa(i), lifecycle.Worker))
	}
}

// results returns the state that the API server would report for each of the given objects.
func (w *clusterWorld) results(s dialect.AuxiliaryObjects) []lifecycle.AuxiliaryObject {
	var states []lifecycle.AuxiliaryObject
	for i, object := range s.Objects {
		result := lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind,
			Name: object.GetName(), Current: !w.late}
		if i == 0 && w.refused.Reason != "" {
			result.Current, result.Cause = false, w.refused
		}

		states = append(states, result)
	}
	return states
}

// pass runs a pass as the controller does, and stores the status.
func (w *clusterWorld) pass() {
	w.t.Helper()
	object := w.sc.DeepCopy()
	plan := w.c.Decide(object, w.seen, w.now)
	s := w.c.AuxiliaryObjects(object, w.seen)
	w.seen.AuxiliaryCount = len(s.Objects)

	states := w.results(s)
	switch {
	case s.Decide != nil:
		more := s.Decide(states, w.now)

		plan.Transitions, plan.Notices, plan.Next = append(plan.Transitions, more.Transitions...),
			append(plan.Notices, more.Notices...), more.Next
		if more.RequeueAfter > 0 && (plan.RequeueAfter == 0 || more.RequeueAfter < plan.RequeueAfter) {
			plan.RequeueAfter = more.RequeueAfter
		}

		copied := object.DeepCopy()
		if again := s.Decide(states, w.now); len(again.Transitions)+len(again.Notices) > 0 ||
			!cmp.Equal(copied.Status, object.Status) {
			w.t.Fatalf("a second call of Decide changes the result: %v\n%s", again,
				cmp.Diff(copied.Status, object.Status))
		}
	case s.Record != nil:
		if events := s.Record(states, w.now); len(events) > 0 {
			w.t.Errorf("events while objects are released: %v", events)
		}
	case !s.Unsettled:
		w.t.Fatal("AuxiliaryObjects returned neither Decide nor Record, although Unsettled is false")
	}

	events := Events(plan)
	if diff := cmp.Diff(enteredSince(w.sc, object), stateEvents(events), cmpopts.EquateEmpty()); diff != "" {
		w.t.Fatalf("events of states (-entered +emitted):\n%s", diff)
	}

	for _, e := range events {
		w.reported = append(w.reported, e.Reason)
		if e.Message == "" || e.Type == "" {
			w.t.Errorf("event without words: %+v", e)
		}
	}

	stands := []lifecycle.Phase{lifecycle.Running, lifecycle.Done, lifecycle.Suspended}

	// An edit starts the next pass of a suspended cluster.
	waits := slices.Contains(stands, plan.Next.Phase) || dialect.Suspended(object.Spec.Suspend) || w.seen.Quota != nil
	if object.DeletionTimestamp == nil && plan.RequeueAfter <= 0 && !waits {
		w.t.Fatalf("nobody looks again in %s", plan.Next.Phase)
	}

	w.check = plan.RequeueAfter
	w.store(object)
}

// These are the reasons of the events of states.
const (
	submitted = string(sparkv1.ClusterSubmitted)
	running   = string(sparkv1.ClusterRunningHealthy)
	rejected  = string(sparkv1.ClusterSchedulingFailure)
	failed    = string(sparkv1.ClusterFailed)
	released  = string(sparkv1.ClusterResourceReleased)
)

// enteredSince returns the states that a pass has added to the histories (history.Entered).
func enteredSince(before, after *sparkv1.SparkCluster) []string {
	all := func(sc *sparkv1.SparkCluster) map[string]sparkv1.ClusterState {
		if previous := sc.Status.PreviousAttemptSummary; previous != nil {
			return history.Merged(sc.Status.StateTransitionHistory, previous.StateTransitionHistory)
		}
		return sc.Status.StateTransitionHistory
	}
	return history.Entered(all(before), all(after), before.Status.CurrentState == nil, func(s sparkv1.ClusterState) (string, string, string) {
		return string(s.CurrentStateSummary), s.LastTransitionTime, s.Message
	})
}

// stateEvents returns the reasons and messages of those events whose reason is a state.
func stateEvents(events []dialect.Event) []string {
	states := slices.Collect(maps.Values(status.States))
	return history.Reported(events, func(reason string) bool { return slices.Contains(states, sparkv1.ClusterStateSummary(reason)) })
}

// store stores a status as the API server does, by converting it to JSON and back.
func (w *clusterWorld) store(object *sparkv1.SparkCluster) {
	w.t.Helper()

	text, err := json.Marshal(object.Status)
	if err != nil {
		w.t.Fatal(err)
	}

	if strings.Contains(string(text), "null") {
		w.t.Errorf("a null in a status: %s", text)
	}

	w.sc.Status = sparkv1.ClusterStatus{}
	if err := json.Unmarshal(text, &w.sc.Status); err != nil {
		w.t.Fatal(err)
	}
}

// states returns the states of the history in order, separated by spaces.
func (w *clusterWorld) states() string {
	var out []string
	for _, key := range apache.KeysOf(w.sc.Status.StateTransitionHistory) {
		out = append(out, string(w.sc.Status.StateTransitionHistory[key].CurrentStateSummary))
	}
	return strings.Join(out, " ")
}

func (w *clusterWorld) wantStates(want string) {
	w.t.Helper()

	if got := w.states(); got != want {
		w.t.Errorf("states: %s, want %s", got, want)
	}

	keys := apache.KeysOf(w.sc.Status.StateTransitionHistory)
	if last := w.sc.Status.StateTransitionHistory[keys[len(keys)-1]]; last != *w.sc.Status.CurrentState {
		w.t.Errorf("the current state is %+v, the last one %+v", *w.sc.Status.CurrentState, last)
	}
}

// wantConditions fails the test unless the conditions other than ObjectsApplied are the wanted ones, which have the
// form "Type=Status(Reason)".
func (w *clusterWorld) wantConditions(want ...string) {
	w.t.Helper()

	var got []string
	for _, c := range w.sc.Status.Conditions {
		if c.Type != status.ConditionObjects {
			got = append(got, fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason))
		}

		if c.ObservedGeneration == 0 || c.LastTransitionTime.IsZero() {
			w.t.Errorf("condition %+v", c)
		}
	}

	slices.Sort(got)
	slices.Sort(want)

	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("conditions: %s", diff)
	}
}

func (w *clusterWorld) wantEvents(want ...string) {
	w.t.Helper()

	if diff := cmp.Diff(want, w.reported); diff != "" {
		w.t.Errorf("events: %s", diff)
	}

	w.reported = nil
}

func (w *clusterWorld) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(w.sc.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func TestClusterBecomesHealthy(t *testing.T) {
	w := newClusterWorld(t)
	w.late = true
	w.pass()
	w.wantStates("Submitted")
	w.wantConditions("Ready=False(MakingObjects)", "Reconciling=True(MakingObjects)", "Progressing=True(MakingObjects)")
	w.late, w.now = false, w.now.Add(time.Second)
	w.pass()
	w.wantStates("Submitted")
	w.wantConditions("Ready=False(MasterNotReady)", "Reconciling=True(MasterNotReady)",
		"Progressing=True(MasterNotReady)")
	w.observePods(1)
	w.now = w.now.Add(time.Minute)
	w.pass()
	w.wantStates("Submitted") // a worker is missing
	w.wantConditions("Ready=False(WorkersNotReady)", "Reconciling=True(WorkersNotReady)",
		"Progressing=True(WorkersNotReady)")
	w.observePods(2)
	w.pass()
	w.wantStates("Submitted RunningHealthy")
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantEvents(status.EventClusterSubmitted, running)

	s := w.sc.Status
	if diff := cmp.Diff(&sparkv1.MemberCounts{Desired: 2, Running: 2, Ready: 2}, s.Workers); diff != "" {
		t.Error(diff)
	}

	if s.CurrentAttemptSummary.AttemptInfo.ID != 0 || s.PreviousAttemptSummary != nil || s.ObservedGeneration != 1 {
		t.Errorf("attempts %+v, generation %d", s.CurrentAttemptSummary, s.ObservedGeneration)
	}

	if first := s.StateTransitionHistory["0"]; first.LastTransitionTime != "2026-01-01T12:00:00.000000Z" {
		t.Errorf("submitted at %s", first.LastTransitionTime)
	}

	if s.CurrentState.Message != "the master and 2 workers are ready" {
		t.Errorf("message %q", s.CurrentState.Message)
	}

	before := w.sc.Status.DeepCopy()
	w.now = w.now.Add(time.Hour)
	w.pass()

	if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
		t.Errorf("a pass in which nothing happens changes the status: %s", diff)
	}

	w.wantEvents()
}

// TestClusterIsObserved checks that lost pods of a running cluster are reported, do not end the cluster, and do not
// change the history.
func TestClusterIsObserved(t *testing.T) {
	w := newClusterWorld(t)
	w.observePods(2)
	w.pass()
	w.reported = nil
	w.observePods(1)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(WorkersNotReady)", "Degraded=True(WorkersNotReady)")

	if text := w.condition(dialect.ConditionDegraded).Message; !strings.Contains(text, "1 of 2 workers are ready") {
		t.Errorf("degraded: %q", text)
	}

	w.wantEvents(status.EventClusterDegraded)
	w.seen.Members = w.seen.Members[1:]
	w.pass()
	w.wantConditions("Ready=False(MasterNotReady)", "Progressing=False(MasterNotReady)",
		"Degraded=True(MasterNotReady)")
	w.seen.Members = nil
	w.now = w.now.Add(24 * time.Hour)
	w.pass()
	w.observePods(2)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantEvents(status.EventClusterDegraded, status.EventClusterRecovered)
	w.wantStates("Submitted RunningHealthy")
}

func TestClusterWithoutMasterFails(t *testing.T) {
	w := newClusterWorld(t)
	w.pass()

	if w.check != 5*time.Minute {
		t.Fatalf("the deadline is looked for after %s", w.check)
	}

	w.seen.Members = []lifecycle.Member{{Name: "c-master-0", Role: lifecycle.Master, Phase: lifecycle.DriverPending,
		Why: lifecycle.Cause{Reason: "ImagePullBackOff", Message: "image nowhere:1 cannot be pulled"}}}
	w.now = w.now.Add(5*time.Minute - time.Microsecond)
	w.pass()
	w.wantStates("Submitted")
	w.now = w.now.Add(time.Microsecond)
	w.pass()
	w.wantStates("Submitted Failed")
	w.wantConditions("Ready=False(MasterStartTimedOut)", "Reconciling=True(Releasing)",
		"Failed=True(MasterStartTimedOut)", "Progressing=False(MasterStartTimedOut)")

	if text := w.sc.Status.CurrentState.Message; !strings.Contains(text, "within 5m0s") ||
		!strings.Contains(text, "image nowhere:1 cannot be pulled") {
		t.Errorf("message %q", text)
	}

	if s := w.c.AuxiliaryObjects(w.sc, w.seen); s.Unsettled || len(s.Objects) > 0 {
		t.Fatal("what failed is not released")
	}

	w.seen = lifecycle.Observed{}
	w.pass()
	w.wantStates("Submitted Failed ResourceReleased")
	w.wantConditions("Ready=False(MasterStartTimedOut)", "Stalled=True(MasterStartTimedOut)",
		"Failed=True(MasterStartTimedOut)", "Progressing=False(MasterStartTimedOut)")
	w.wantEvents(status.EventClusterSubmitted, status.EventClusterPending, failed,
		released)
	before := w.sc.Status.DeepCopy()
	w.now = w.now.Add(time.Hour)
	w.pass()

	if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
		t.Errorf("over, and the status changes: %s", diff)
	}
}

func TestClusterThatCannotBeRendered(t *testing.T) {
	w := newClusterWorld(t, makeInvalid)
	w.pass()
	w.wantStates("Submitted Failed ResourceReleased")

	if text := w.sc.Status.StateTransitionHistory["1"].Message; !strings.Contains(text,
		"spec.clusterTolerations.instanceConfig.initWorkers") {
		t.Errorf("message %q", text)
	}

	w.wantEvents(failed, released)
	editTo(2, nil)(w.sc)
	w.pass()
	w.wantStates("Submitted")
	w.observePods(2)
	w.pass()
	w.wantStates("Submitted RunningHealthy")
}

// TestClusterRevives checks the history of the failed attempt and the history of the next attempt, after an edit starts
// a failed cluster again.
func TestClusterRevives(t *testing.T) {
	for _, trim := range []bool{true, false} {
		w := newClusterWorld(t, makeInvalid)
		w.c.Trim = trim
		w.pass()
		editTo(1, nil)(w.sc)
		w.observePods(1)
		w.pass()

		s := w.sc.Status
		if trim {
			w.wantStates("Submitted RunningHealthy")

			if keys := apache.KeysOf(s.StateTransitionHistory); !slices.Equal(keys, []string{"3", "4"}) {
				t.Errorf("keys %v", keys)
			}

			if got := len(s.PreviousAttemptSummary.StateTransitionHistory); got != 3 {
				t.Errorf("the last attempt has %d states", got)
			}
		} else {
			w.wantStates("Submitted Failed ResourceReleased Submitted RunningHealthy")

			if len(s.PreviousAttemptSummary.StateTransitionHistory) > 0 {
				t.Error("the last attempt has a history of its own")
			}
		}

		if s.CurrentAttemptSummary.AttemptInfo.ID != 1 || s.PreviousAttemptSummary.AttemptInfo.ID != 0 {
			t.Errorf("attempts %+v after %+v", s.CurrentAttemptSummary.AttemptInfo,
				s.PreviousAttemptSummary.AttemptInfo)
		}

		w.wantEvents(failed, released, submitted,
			status.EventClusterSubmitted, running)
	}
}

// TestClusterRefused checks that the operator retries a rejected object without end, and that the status does not grow
// meanwhile.
func TestClusterRefused(t *testing.T) {
	w := newClusterWorld(t)
	w.refused = lifecycle.Cause{Reason: "QuotaExceeded", Message: "no room for 1 more"}
	w.pass()
	w.wantStates("Submitted SchedulingFailure")
	w.wantConditions("Ready=False(QuotaExceeded)", "Reconciling=True(QuotaExceeded)",
		"Progressing=False(QuotaExceeded)")

	if text := w.sc.Status.CurrentState.Message; !strings.Contains(text, "no room for 1 more") ||
		!strings.Contains(text, "the operator retries") {
		t.Errorf("message %q", text)
	}

	w.wantEvents(status.EventRequestFailed, rejected)

	before := w.sc.Status.DeepCopy()
	for range 1000 {
		w.now = w.now.Add(time.Minute)
		w.pass()
	}

	if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
		t.Errorf("a thousand refusals later: %s", diff)
	}

	w.wantEvents()
	w.refused = lifecycle.Cause{Reason: "Forbidden", Message: "not you"}
	w.pass()
	w.wantEvents(status.EventRequestFailed)
	w.wantStates("Submitted SchedulingFailure")
	w.refused = lifecycle.Cause{}
	w.observePods(2)
	w.pass()
	w.wantStates("Submitted SchedulingFailure Submitted RunningHealthy")
	w.wantEvents(submitted, running)
}

// TestClusterHistoryIsBounded checks that the history has a maximum length even if each pass gets another answer from
// the API server.
func TestClusterHistoryIsBounded(t *testing.T) {
	w := newClusterWorld(t)
	for range 2 * status.MaxStates {
		w.refused = lifecycle.Cause{Reason: "QuotaExceeded", Message: strings.Repeat("x", 10_000)}
		w.pass()
		w.refused = lifecycle.Cause{}
		w.pass()
	}

	keys := apache.KeysOf(w.sc.Status.StateTransitionHistory)
	if len(keys) != status.MaxStates || keys[len(keys)-1] != strconv.Itoa(4*status.MaxStates) {
		t.Errorf("%d states, up to %s", len(keys), keys[len(keys)-1])
	}

	if text, _ := json.Marshal(w.sc.Status); len(text) > 200_000 {
		t.Errorf("a status of %d bytes", len(text))
	}
}

func TestClusterIsRefusedWhileItRuns(t *testing.T) {
	w := newClusterWorld(t)
	w.observePods(2)
	w.pass()
	w.reported = nil
	editTo(3, nil)(w.sc)
	w.refused = lifecycle.Cause{Reason: "QuotaExceeded", Message: "no"}
	w.now = w.now.Add(time.Second)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Reconciling=True(QuotaExceeded)", "Degraded=True(QuotaExceeded)",
		"Progressing=False(QuotaExceeded)")
	w.wantEvents(status.EventClusterSpecChanged, status.EventClusterDegraded)
	w.pass()
	w.wantEvents()
	w.refused = lifecycle.Cause{}
	w.observePods(3)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantEvents(status.EventClusterRolledOut)
	w.wantStates("Submitted RunningHealthy")
}

func TestClusterRollsOut(t *testing.T) {
	w := newClusterWorld(t)
	w.observePods(2)
	w.pass()
	w.reported = nil
	before := w.seen.Members
	editTo(2, map[string]string{"spark.worker.cleanup.enabled": "true"})(w.sc)
	w.now = w.now.Add(time.Hour)
	w.pass()
	w.wantConditions("Ready=True(Running)", "Reconciling=True(RollingOut)", "Progressing=True(RollingOut)")
	w.observePods(2)

	after := w.seen.Members
	if before[0].Generation == after[0].Generation {
		t.Fatal("an edit of the configuration makes the same pods")
	}

	w.seen.Members = []lifecycle.Member{after[0], before[1], before[2]}
	w.seen.Members[0].Ready = false
	w.now = w.now.Add(time.Minute)
	w.pass()
	w.wantConditions("Ready=False(RollingOut)", "Reconciling=True(RollingOut)", "Progressing=True(RollingOut)")

	if w.check <= 0 || w.check > 4*time.Minute {
		t.Errorf("looks again after %s", w.check)
	}

	w.now = w.now.Add(4 * time.Minute)
	w.pass()
	w.wantConditions("Ready=False(RolloutTimedOut)", "Stalled=True(RolloutTimedOut)", "Degraded=True(RolloutTimedOut)",
		"Progressing=False(RolloutTimedOut)")
	w.seen.Members = after
	after[0].Ready = true

	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantStates("Submitted RunningHealthy")
	w.wantEvents(status.EventClusterSpecChanged, status.EventClusterRolloutTimedOut, status.EventClusterRolledOut)
}

func TestClusterOutlivesAnUnusableEdit(t *testing.T) {
	w := newClusterWorld(t)
	w.observePods(2)
	w.pass()
	w.reported = nil
	makeInvalid(w.sc)
	w.pass()
	w.pass()
	w.wantConditions("Ready=True(Running)", "Stalled=True(InvalidSpec)", "Progressing=False(Complete)")

	if text := w.condition(dialect.ConditionReady).Message; !strings.Contains(text, "initWorkers") {
		t.Errorf("Ready says %q", text)
	}

	if s := w.c.AuxiliaryObjects(w.sc, w.seen); !s.Unsettled {
		t.Error("what a cluster runs of is touched")
	}

	if w.sc.Status.Workers.Desired != 2 || w.sc.Status.ObservedGeneration != 2 {
		t.Errorf("workers %+v, generation %d", w.sc.Status.Workers, w.sc.Status.ObservedGeneration)
	}

	w.wantEvents(status.EventClusterInvalid)
	editTo(2, nil)(w.sc) // reverts all edits
	w.pass()
	w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	w.wantStates("Submitted RunningHealthy")
}

// TestAutoscaledCluster checks that the autoscaler's minimum is at least 1, and that the cluster counts as running once
// this number of workers is ready.
func TestAutoscaledCluster(t *testing.T) {
	for _, tc := range []struct {
		least, most int64
		want        int32
	}{{0, 5, 1}, {1, 5, 1}, {3, 5, 3}} {
		w := newClusterWorld(t, autoscaledCluster(tc.least, tc.most))

		want, _, _ := w.c.want(w.sc, lifecycle.Observed{})
		if want.Workers != tc.want || !want.Scales {
			t.Errorf("from %d to %d: %+v", tc.least, tc.most, want)
		}

		w.observePods(int(tc.want) - 1)
		w.pass()
		w.wantStates("Submitted")
		w.observePods(int(tc.want))
		w.pass()
		w.wantStates("Submitted RunningHealthy")
		w.observePods(5)
		w.pass()
		w.wantConditions("Ready=True(Running)", "Progressing=False(Complete)")
	}
}

func TestClusterIsDeleted(t *testing.T) {
	w := newClusterWorld(t)
	w.observePods(2)
	w.pass()
	before := w.sc.Status.DeepCopy()
	w.sc.DeletionTimestamp = new(metav1.NewTime(w.now))
	// An invalid spec must not change the status either (W2).
	for _, change := range []func(*sparkv1.SparkCluster){func(*sparkv1.SparkCluster) {}, makeInvalid} {
		change(w.sc)
		w.pass()

		if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
			t.Errorf("the status of a cluster that is being deleted changed: %s", diff)
		}

		if !w.c.AuxiliaryObjects(w.sc, w.seen).Unsettled {
			t.Error("the operator changes objects that Kubernetes' garbage collector deletes")
		}
	}
}

// TestClusterLaw checks that decoding an encoded memory returns the same memory. The memories come from random walks
// through the state machine.
func TestClusterLaw(t *testing.T) {
	phases := map[lifecycle.Phase]int{}
	for seed := range uint64(effort.Count(t, 5)) {
		r := rand.New(rand.NewPCG(seed, 8))
		w := newClusterWorld(t)

		w.c.Trim = seed%2 == 0
		for range 60 {
			w.now = w.now.Add(time.Duration(r.IntN(200_000_000)) * time.Microsecond)
			w.randomEvent(r)
			want, _, _ := w.c.want(w.sc, lifecycle.Observed{})
			plan := cluster.Step(want, status.Memory(w.sc, w.seen), w.seen, status.KnownObjects(w.sc), w.now)
			object := w.sc.DeepCopy()
			status.Encode(object, status.Decision{Want: want, Seen: w.seen, Objects: status.KnownObjects(w.sc),
				Plan: plan, At: w.now, Trim: w.c.Trim})
			copied := *w
			copied.sc = w.sc.DeepCopy()
			copied.store(object)

			if diff := cmp.Diff(plan.Next, status.Memory(copied.sc, w.seen)); diff != "" {
				t.Fatalf("seed %d: the memory differs after it is stored and read: %s", seed, diff)
			}

			w.pass()
			phases[status.Memory(w.sc, w.seen).Phase]++
		}

		if len(w.sc.Status.StateTransitionHistory) > status.MaxStates {
			t.Fatal("the history is too long")
		}
	}

	for phase := range status.States {
		if phase != lifecycle.New && phase != lifecycle.Resuming && phases[phase] == 0 {
			t.Errorf("no walk reaches the phase %s", phase)
		}
	}
}

// randomEvent applies a random event to the cluster.
func (w *clusterWorld) randomEvent(r *rand.Rand) {
	switch r.IntN(13) {
	case 12:
		w.sc.Spec.Suspend = new(!dialect.Suspended(w.sc.Spec.Suspend))
		w.sc.Generation++
	case 0:
		w.refused = lifecycle.Cause{Reason: "QuotaExceeded", Message: strconv.Itoa(r.IntN(100))}
	case 1, 2, 3:
		w.refused, w.late = lifecycle.Cause{}, false
	case 4:
		w.late = true
	case 5:
		editTo(int64(r.IntN(4)), map[string]string{"spark.x": strconv.Itoa(r.IntN(3))})(w.sc)
	case 6:
		if r.IntN(3) == 0 {
			makeInvalid(w.sc)
		}
	case 7, 8, 9:
		if want, _, _ := w.c.want(w.sc, lifecycle.Observed{}); want.Invalid == nil {
			w.observePods(r.IntN(4))
		}
	case 10:
		w.seen.Members = nil
	case 11:
		for i := range w.seen.Members {
			w.seen.Members[i].Ready = r.IntN(2) == 0
		}
	}

	if !status.Memory(w.sc, w.seen).Wants() {
		w.seen.Members, w.seen.AuxiliaryCount = nil, 0
	}
}

// FuzzClusterStatus checks that two passes turn any stored status into a valid status of this API, and that a third
// pass does not change the result.
func FuzzClusterStatus(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"operator":{}}`, `{"operator":{"phase":"Running"}}`,
		`{"operator":{"phase":"Elsewhere","generation":7}}`,
		`{"currentState":{"currentStateSummary":"RunningHealthy"},"stateTransitionHistory":{"-1":{},"x":{},"9223372036854775807":{}}}`,
		`{"currentState":{"currentStateSummary":"Failed","lastTransitionTime":"tomorrow"},"currentAttemptSummary":{"attemptInfo":{"id":-5,"restartCounter":9}}}`,
		`{"operator":{"phase":"Done","adopted":true},"currentAttemptSummary":{"attemptInfo":{"id":9223372036854775807,"restartCounter":9}},"observedGeneration":1}`,
		`{"operator":{"phase":"Waiting"},"conditions":[{"type":"ObjectsApplied","status":"False","reason":"","observedGeneration":1}]}`,
	} {
		f.Add([]byte(seed), uint8(3))
	}

	f.Fuzz(func(t *testing.T, text []byte, pods uint8) {
		w := newClusterWorld(t)
		if json.Unmarshal(text, &w.sc.Status) != nil {
			t.Skip()
		}

		w.observePods(int(pods % 4))
		w.pass()
		w.now = w.now.Add(time.Minute)
		w.pass()
		s := w.sc.Status

		known := slices.Contains([]sparkv1.ClusterStateSummary{sparkv1.ClusterSubmitted,
			sparkv1.ClusterSchedulingFailure, sparkv1.ClusterRunningHealthy,
			sparkv1.ClusterFailed, sparkv1.ClusterSuspended, sparkv1.ClusterResourceReleased},
			s.CurrentState.CurrentStateSummary)
		if !known || s.Operator == nil ||
			status.States[lifecycle.Phase(s.Operator.Phase)] != s.CurrentState.CurrentStateSummary ||
			len(s.StateTransitionHistory) == 0 {
			t.Errorf("state %+v, phase %+v", s.CurrentState, s.Operator)
		}

		before := w.sc.Status.DeepCopy()
		w.pass()

		if diff := cmp.Diff(*before, w.sc.Status); diff != "" {
			t.Errorf("it does not stand: %s", diff)
		}
	})
}

func rawOf(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
