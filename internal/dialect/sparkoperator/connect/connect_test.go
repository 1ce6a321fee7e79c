package connect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var connectBegan = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// aConnect returns a small SparkConnect, as users write it, after the given changes.
func aConnect(mods ...func(*v1alpha1.SparkConnect)) *v1alpha1.SparkConnect {
	sc := &v1alpha1.SparkConnect{
		ObjectMeta: metav1.ObjectMeta{Name: "hub", Namespace: "team", UID: "3f0c", Generation: 1},
		Spec: v1alpha1.SparkConnectSpec{
			SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"),
			Executor: v1alpha1.ExecutorSpec{Instances: new(int32(2))},
		},
	}
	for _, mod := range mods {
		mod(sc)
	}
	return sc
}

// stay simulates the life cycle of one SparkConnect. Between the passes, it stores and reads the status as the API
// server does.
type stay struct {
	t        *testing.T
	connects Connects
	sc       *v1alpha1.SparkConnect
	now      time.Time
	plan     lifecycle.Plan
	reported []string
}

func stays(t *testing.T, sc *v1alpha1.SparkConnect) *stay {
	return &stay{t: t, sc: sc, now: connectBegan, connects: Connects{Options{MissingGrace: 10 * time.Second}}}
}

// pass makes a pass when the given duration has passed since the previous pass. The argument auxiliary contains the
// states of the auxiliary objects. If it is empty, all wanted objects exist. The function also checks that a second
// pass with the same facts changes nothing.
func (s *stay) pass(d time.Duration, seen lifecycle.Observed, auxiliary ...lifecycle.AuxiliaryObject) *stay {
	s.t.Helper()
	s.now = s.now.Add(d)

	s.plan, s.reported = s.connects.Decide(s.sc, seen, s.now), nil
	for _, event := range s.connects.Events(s.sc, s.plan) {
		s.reported = append(s.reported, event.Reason)
	}

	s.reported = append(s.reported, s.recordStates(auxiliary)...)
	s.store()

	if slices.ContainsFunc(s.plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm }) ||
		seen.Rejection != nil {
		return s
	}

	before := s.sc.Status.DeepCopy()
	seen.ProbeResult = nil

	again := s.connects.Decide(s.sc, seen, s.now.Add(time.Millisecond))
	if asks := slices.ContainsFunc(again.Actions,
		func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm }); !asks {
		s.recordStates(auxiliary)

		if diff := cmp.Diff(*before, s.sc.Status); diff != "" {
			s.t.Fatalf("a second pass changes the status:\n%s", diff)
		}
	}

	s.sc.Status = *before
	return s
}

func (s *stay) recordStates(auxiliary []lifecycle.AuxiliaryObject) (reported []string) {
	wanted := s.connects.AuxiliaryObjects(s.sc)
	if wanted.Unsettled {
		return nil
	}

	if len(auxiliary) == 0 {
		for _, object := range wanted.Objects {
			auxiliary = append(auxiliary,
				lifecycle.AuxiliaryObject{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(),
					Current: true})
		}
	}

	for _, event := range wanted.Record(auxiliary, s.now) {
		reported = append(reported, event.Reason)
	}
	return reported
}

// store converts the status to JSON and back, as the API server does.
func (s *stay) store() {
	s.t.Helper()

	text, err := json.Marshal(s.sc.Status)
	if err != nil {
		s.t.Fatal(err)
	}

	s.sc.Status = v1alpha1.SparkConnectStatus{}
	if err := json.Unmarshal(text, &s.sc.Status); err != nil {
		s.t.Fatal(err)
	}

	if diff := cmp.Diff(s.plan.Next, decodeConnect(&s.sc.Status)); diff != "" {
		s.t.Fatalf("memory (-decided +read):\n%s", diff)
	}
}

// expect checks the state and the conditions. Each condition is written as "Type=Status Reason".
func (s *stay) expect(state v1alpha1.SparkConnectState, conditions ...string) *stay {
	s.t.Helper()

	var got []string
	for _, c := range s.sc.Status.Conditions {
		got = append(got, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		if c.Status == metav1.ConditionFalse && c.Message == "" && c.Type != conditionProgressing {
			s.t.Errorf("condition %s does not say why", c.Type)
		}
	}

	slices.Sort(got)
	slices.Sort(conditions)

	if diff := cmp.Diff(conditions, got); diff != "" || s.sc.Status.State != state {
		s.t.Fatalf("state %q, want %q; conditions (-want +got):\n%s", s.sc.Status.State, state, diff)
	}
	return s
}

// wantEvents checks the reasons of the last pass's events.
func (s *stay) wantEvents(want ...string) *stay {
	s.t.Helper()

	if diff := cmp.Diff(want, s.reported); diff != "" {
		s.t.Fatalf("events (-want +got):\n%s", diff)
	}
	return s
}

// wantMessage checks that a condition's message contains a text.
func (s *stay) wantMessage(kind, part string) *stay {
	s.t.Helper()

	c := meta.FindStatusCondition(s.sc.Status.Conditions, kind)
	if c == nil || !strings.Contains(c.Message, part) {
		s.t.Fatalf("condition %s does not say %q: %+v", kind, part, c)
	}
	return s
}

// aServer returns the facts of a pass in which the server's pod has the given phase.
func aServer(attempt int32, phase lifecycle.DriverPhase, mods ...func(*lifecycle.Driver)) lifecycle.Observed {
	d := lifecycle.Driver{Name: "hub-server", Attempt: attempt, Phase: phase, CreatedAt: connectBegan,
		Address: "10.0.0.7"}
	for _, mod := range mods {
		mod(&d)
	}
	return lifecycle.Observed{Drivers: []lifecycle.Driver{d}}
}

func isReady(d *lifecycle.Driver) { d.Ready = true }

func waitsBecause(reason, message string) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: reason, Message: message} }
}

var noServer = lifecycle.Observed{Confirmed: true}

const (
	service     = "ServiceReady=True ServiceReady"
	reconciling = "Reconciling=True "
	notReady    = "Ready=False "
	podNotReady = "ServerPodReady=False "
	progressing = "Progressing=True "
)

// runningConnect creates a SparkConnect and runs passes until its server accepts sessions.
func runningConnect(t *testing.T, mods ...func(*v1alpha1.SparkConnect)) *stay {
	s := stays(t, aConnect(mods...)).pass(0, noServer).wantEvents(EventServerCreated)
	return s.pass(time.Second, aServer(1, lifecycle.DriverRunning, isReady)).wantEvents(EventServerReady)
}

func TestConnectComesUp(t *testing.T) {
	s := stays(t, aConnect()).pass(0, noServer).wantEvents(EventServerCreated)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Launched", notReady+"Launched",
		podNotReady+"ServerPodNotReady", progressing+"ServerStarting")

	if s.sc.Status.Server.PodName != "hub-server" || s.sc.Status.Server.ServiceName != "hub-server" ||
		!s.sc.Status.StartTime.Equal(new(metav1.NewTime(connectBegan))) {
		t.Errorf("status %+v", s.sc.Status)
	}

	s.pass(time.Second, aServer(1, lifecycle.DriverPending,
		waitsBecause("ImagePullBackOff", "no such image"))).wantEvents(EventServerPending)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"ImagePullBackOff",
		notReady+"ImagePullBackOff", podNotReady+"ImagePullBackOff", progressing+"ServerStarting")
	s.wantMessage(dialect.ConditionReady, "no such image").wantMessage(conditionProgressing, "no such image")
	s.pass(time.Second, aServer(1, lifecycle.DriverRunning)).wantEvents()
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Started", notReady+"Started",
		podNotReady+"ServerPodNotReady", progressing+"ServerStarting")

	seen := aServer(1, lifecycle.DriverRunning, isReady)
	for i, phase := range []lifecycle.DriverPhase{lifecycle.DriverRunning, lifecycle.DriverRunning,
		lifecycle.DriverPending} {
		seen.Executors = append(seen.Executors,
			lifecycle.Executor{Name: fmt.Sprint("hub-exec-", i), Attempt: 1, Phase: phase})
	}

	s.pass(time.Second, seen).wantEvents(EventServerReady)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")
	want := v1alpha1.SparkConnectStatus{
		State: v1alpha1.SparkConnectStateReady, ObservedGeneration: 1,
		Server: v1alpha1.SparkConnectServerStatus{PodName: "hub-server", PodIP: "10.0.0.7",
			ServiceName: "hub-server"},
		Executors: map[string]int{"running": 2, "pending": 1}, StartTime: metav1.NewTime(connectBegan),
		LastUpdateTime: metav1.NewTime(s.now),
	}
	got := *s.sc.Status.DeepCopy()

	got.Conditions, got.Operator = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}

	s.pass(time.Hour, seen).wantEvents()

	if !s.sc.Status.LastUpdateTime.Equal(&want.LastUpdateTime) {
		t.Errorf("nothing changed, and lastUpdateTime is %s", s.sc.Status.LastUpdateTime)
	}
}

// TestConnectEnds checks a server that ends, the back-off after it, and the next server.
func TestConnectEnds(t *testing.T) {
	s := runningConnect(t).pass(time.Minute,
		aServer(1, lifecycle.DriverFailed, waitsBecause("OOMKilled", "server container failed with exit code 137"))).
		wantEvents(EventServerFailed, EventServerBackOff)
	s.expect(v1alpha1.SparkConnectStateFailed, service, reconciling+"OOMKilled", notReady+"OOMKilled",
		podNotReady+"OOMKilled", progressing+"OOMKilled")
	s.wantMessage(dialect.ConditionReady, "exit code 137; the next server starts at 2026-03-01T12:01:11Z")

	if s.sc.Status.Server.PodIP != "" || s.sc.Status.Server.PodName != "hub-server" ||
		s.plan.RequeueAfter != 10*time.Second {
		t.Errorf("server %+v, requeue after %s", s.sc.Status.Server, s.plan.RequeueAfter)
	}

	s.pass(10*time.Second, aServer(1, lifecycle.DriverFailed)).wantEvents()
	s.pass(time.Second, noServer).wantEvents(EventServerCreated)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Launched", notReady+"Launched",
		podNotReady+"ServerPodNotReady", progressing+"ServerStarting")
	s.pass(time.Second, aServer(2, lifecycle.DriverRunning, isReady)).wantEvents(EventServerReady)

	if !s.sc.Status.StartTime.Equal(new(metav1.NewTime(connectBegan))) {
		t.Errorf("startTime is %s, not that of the first server", s.sc.Status.StartTime)
	}
}

func TestConnectNotReady(t *testing.T) {
	s := runningConnect(t).pass(time.Minute, aServer(1, lifecycle.DriverRunning)).wantEvents(EventServerNotReady)
	s.expect(v1alpha1.SparkConnectStateNotReady, service, reconciling+"ServerNotReady", notReady+"ServerNotReady",
		podNotReady+"ServerPodNotReady", "Progressing=False ServerNotReady")
	s.pass(time.Minute, aServer(1, lifecycle.DriverRunning, isReady)).wantEvents(EventServerReady)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")
	s.pass(time.Minute, aServer(1, lifecycle.DriverUnknown)).wantEvents(EventServerUnknown)
	s.expect(v1alpha1.SparkConnectStateNotReady, service, reconciling+"NodeLost", notReady+"NodeLost",
		podNotReady+"NodeLost", "Progressing=False NodeLost")
}

// TestConnectRollsOut checks the passes from an edit of the spec until the server of the edited spec is ready.
func TestConnectRollsOut(t *testing.T) {
	s := runningConnect(t)
	s.sc.Spec.SparkConf, s.sc.Generation = map[string]string{"spark.sql.shuffle.partitions": "7"}, 2
	s.pass(time.Second, aServer(1, lifecycle.DriverRunning,
		isReady)).wantEvents(EventConnectSpecChanged).wantMessage(dialect.ConditionReady,
		"the server of the previous spec is being stopped")
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"SpecChanged", notReady+"SpecChanged",
		podNotReady+"SpecChanged", progressing+"RollingOut")
	s.pass(time.Second, noServer).wantEvents(EventServerCreated)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Launched", notReady+"Launched",
		podNotReady+"ServerPodNotReady", progressing+"RollingOut")
	s.pass(time.Second, aServer(2, lifecycle.DriverPending,
		waitsBecause("Unschedulable", "no room"))).wantEvents(EventServerPending)
	s.wantMessage(conditionProgressing, "no room")
	s.pass(time.Second, aServer(2, lifecycle.DriverRunning)).wantEvents()
	s.pass(time.Second, aServer(2, lifecycle.DriverRunning, isReady)).wantEvents(EventConnectRolledOut)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")

	if s.sc.Status.ObservedGeneration != 2 {
		t.Errorf("observedGeneration %d", s.sc.Status.ObservedGeneration)
	}

	s.pass(time.Minute, aServer(2, lifecycle.DriverRunning)).pass(time.Second,
		aServer(2, lifecycle.DriverRunning, isReady)).wantEvents(EventServerReady)
}

func TestConnectSuspends(t *testing.T) {
	s := runningConnect(t)
	s.sc.Spec.Suspend = new(true)
	s.pass(time.Second, aServer(1, lifecycle.DriverRunning,
		isReady)).wantEvents(EventConnectSuspending).wantMessage(dialect.ConditionReady, "the server is being stopped")
	s.expect(v1alpha1.SparkConnectStateNotReady, service, reconciling+"Suspended", notReady+"Suspended",
		podNotReady+"Suspended", "Progressing=False Suspended")
	s.pass(time.Second, noServer).wantEvents(EventConnectSuspended)
	s.wantMessage(dialect.ConditionReady, "the server is suspended").expect(v1alpha1.SparkConnectStateNotReady, service,
		"Suspended=True Suspended", notReady+"Suspended", podNotReady+"Suspended", "Progressing=False Suspended")

	if s.sc.Status.Server != (v1alpha1.SparkConnectServerStatus{ServiceName: "hub-server"}) {
		t.Errorf("server %+v", s.sc.Status.Server)
	}

	s.sc.Spec.Suspend = nil
	s.pass(time.Hour, noServer).wantEvents(EventConnectResuming, EventServerCreated)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Launched", notReady+"Launched",
		podNotReady+"ServerPodNotReady", progressing+"ServerStarting")
}

func TestConnectRefused(t *testing.T) {
	refused := noServer
	refused.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "exceeded quota: pods"}
	s := stays(t, aConnect()).pass(0, refused).wantEvents(EventServerRefused, EventServerBackOff)
	s.expect(v1alpha1.SparkConnectStateFailed, service, reconciling+"QuotaExceeded", notReady+"QuotaExceeded",
		podNotReady+"QuotaExceeded", progressing+"QuotaExceeded")
	s.pass(10*time.Second, noServer).wantEvents(EventServerCreated)
}

func TestConnectInvalid(t *testing.T) {
	s := stays(t, aConnect(func(sc *v1alpha1.SparkConnect) { sc.Spec.Server.Memory = new("many") })).pass(0,
		noServer).wantEvents(EventConnectInvalid)
	s.expect(v1alpha1.SparkConnectStateFailed, service, "Stalled=True InvalidSpec", notReady+"InvalidSpec",
		podNotReady+"InvalidSpec", "Progressing=False InvalidSpec")
	s.wantMessage(dialect.ConditionStalled, "spec.server.memory")
	s.sc.Spec.Server.Memory = new("2g")
	s.pass(time.Minute, noServer).wantEvents(EventConnectSpecChanged, EventServerCreated)
}

// TestConnectUnusableEdit checks that an invalid edit does not affect the running server, and that the error is
// reported with the name of its field. The next valid edit is rolled out.
func TestConnectUnusableEdit(t *testing.T) {
	s := runningConnect(t)
	ready := aServer(1, lifecycle.DriverRunning, isReady)
	ready.Drivers[0].SpecHash = hash(&s.sc.Spec)
	s.sc.Spec.Executor.Memory, s.sc.Generation = new("lots"), 2
	s.pass(time.Second, ready).wantEvents(EventConnectInvalid)

	stalled := []string{service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False InvalidSpec", "Stalled=True InvalidSpec"}
	s.expect(v1alpha1.SparkConnectStateReady, stalled...)
	s.wantMessage(dialect.ConditionStalled, "spec.executor.memory").wantMessage(dialect.ConditionReady,
		"spec.executor.memory").wantMessage(conditionProgressing, "spec.executor.memory")

	if len(s.plan.Actions) > 0 || s.sc.Status.ObservedGeneration != 2 {
		t.Errorf("actions %v, observedGeneration %d", s.plan.Actions, s.sc.Status.ObservedGeneration)
	}

	s.pass(time.Hour, ready).wantEvents().expect(v1alpha1.SparkConnectStateReady, stalled...)

	if len(s.plan.Actions) > 0 {
		t.Errorf("actions %v: the wanted number of executors is unknown", s.plan.Actions)
	}

	unready := aServer(1, lifecycle.DriverRunning)
	unready.Drivers[0].SpecHash = ready.Drivers[0].SpecHash
	s.pass(time.Second, unready).wantEvents(EventServerNotReady)
	s.wantMessage(dialect.ConditionStalled, "spec.executor.memory").pass(time.Second,
		ready).wantEvents(EventServerReady).expect(v1alpha1.SparkConnectStateReady, stalled...)

	s.sc.Spec.Executor.Memory, s.sc.Spec.Server.Memory, s.sc.Generation = nil, new("most"), 3
	s.pass(time.Second, ready).wantEvents(EventConnectInvalid).wantMessage(dialect.ConditionStalled,
		"spec.server.memory")
	s.sc.Spec.Server.Memory, s.sc.Generation = nil, 4 // taken back
	s.pass(time.Second, ready).wantEvents()
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")

	s.sc.Spec.Server.Memory = new("most")
	s.pass(time.Second, ready).wantEvents(EventConnectInvalid)
	s.sc.Spec.Server.Memory = new("2g")
	s.pass(time.Second, ready).wantEvents(EventConnectSpecChanged).pass(time.Second,
		noServer).wantEvents(EventServerCreated)
	s.pass(time.Second, aServer(2, lifecycle.DriverRunning, isReady)).wantEvents(EventConnectRolledOut)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")
}

// TestConnectEndsWithAnUnusableSpec checks a server that ends when its edited spec is invalid. The end is reported, and
// no further server is created.
func TestConnectEndsWithAnUnusableSpec(t *testing.T) {
	s := runningConnect(t)
	s.sc.Spec.Server.Memory = new("most")
	s.pass(time.Second, aServer(1, lifecycle.DriverRunning, isReady)).wantEvents(EventConnectInvalid)
	s.pass(time.Second, aServer(1, lifecycle.DriverFailed,
		waitsBecause("OOMKilled", "exit code 137"))).wantEvents(EventServerFailed, EventConnectInvalid)
	s.expect(v1alpha1.SparkConnectStateFailed, service, "Stalled=True InvalidSpec", notReady+"InvalidSpec",
		podNotReady+"InvalidSpec", "Progressing=False InvalidSpec")
	s.wantMessage(dialect.ConditionReady, "spec.server.memory")
	s.sc.Spec.Server.Memory = new("2g")
	s.pass(time.Hour, aServer(1, lifecycle.DriverFailed)).wantEvents(EventConnectSpecChanged).pass(time.Second,
		noServer).wantEvents(EventServerCreated)
}

// TestConnectShortOfExecutors checks that the status of a running server contains the reason if the API server rejects
// its executors.
func TestConnectShortOfExecutors(t *testing.T) {
	s := runningConnect(t)
	s.pass(6*time.Second, aServer(1, lifecycle.DriverRunning, isReady))
	probed := aServer(1, lifecycle.DriverRunning, isReady)
	probed.ProbeResult = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "exceeded quota: cpu"}
	s.pass(time.Second, probed).wantEvents(dialect.EventExecutorPending)
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady", "Degraded=True QuotaExceeded")
	s.wantMessage(dialect.ConditionDegraded, "exceeded quota: cpu")
}

// TestConnectExecutorFails checks that a failed executor is reported once. After a new server has started, a failed
// executor with the same id is reported again.
func TestConnectExecutorFails(t *testing.T) {
	failing := func(attempt int32) lifecycle.Observed {
		seen := aServer(attempt, lifecycle.DriverRunning, isReady)
		seen.Executors = []lifecycle.Executor{
			{Name: "hub-exec-1", Attempt: attempt, Phase: lifecycle.DriverFailed,
				Why: lifecycle.Cause{Reason: "OOMKilled", Message: "executor container failed"}},
			{Name: "hub-exec-2", Attempt: attempt, Phase: lifecycle.DriverRunning},
			{Name: "hub-exec-9", Attempt: attempt - 1, Phase: lifecycle.DriverFailed},
		}
		return seen
	}

	s := runningConnect(t).pass(time.Second, failing(1)).wantEvents(dialect.EventExecutorFailed)
	if diff := cmp.Diff(map[string]int{"failed": 1, "running": 1}, s.sc.Status.Executors); diff != "" {
		t.Errorf("executors (-want +got):\n%s", diff)
	}

	s.pass(time.Second, failing(1)).wantEvents()
	s.pass(time.Second, aServer(1, lifecycle.DriverFailed)).pass(time.Minute, noServer).wantEvents(EventServerCreated)
	s.pass(time.Second, failing(2)).wantEvents(EventServerReady, dialect.EventExecutorFailed)

	many := aServer(2, lifecycle.DriverRunning, isReady)
	for i := range 100 {
		many.Executors = append(many.Executors,
			lifecycle.Executor{Name: fmt.Sprint("hub-exec-", 110-i), Attempt: 2, Phase: lifecycle.DriverFailed})
	}

	if s.pass(time.Second, many); len(s.reported) != executors.MaxNotices {
		t.Errorf("%d events of one pass", len(s.reported))
	}

	s.pass(time.Second, many).wantEvents()
}

func TestConnectTransientError(t *testing.T) {
	bad := noServer
	bad.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout", Message: "slow: 1"},
		Since: connectBegan}
	s := stays(t, aConnect()).pass(time.Minute, bad)
	s.expect(v1alpha1.SparkConnectStateProvisioning, service, reconciling+"Timeout", notReady+"Timeout",
		podNotReady+"Timeout", progressing+"ServerStarting")

	bad.TransientError.Cause.Message = "slow: 2"
	s.pass(time.Minute, bad).wantMessage(dialect.ConditionReady, "slow: 1") // worded anew is no news
}

// TestConnectService checks that Ready is False if the Service cannot be created. Ready and ServiceReady have the same
// reason.
func TestConnectService(t *testing.T) {
	taken := lifecycle.AuxiliaryObject{Kind: "Service", Name: "hub-server",
		Cause: lifecycle.Cause{Reason: "NameTaken", Message: "it belongs to somebody"}}
	ready := aServer(1, lifecycle.DriverRunning, isReady)
	s := stays(t, aConnect()).pass(0, noServer, taken).wantEvents(EventServerCreated, "NameTaken")
	s.pass(time.Second, ready, taken).wantEvents(EventServerReady)
	s.expect(v1alpha1.SparkConnectStateReady, "ServiceReady=False NameTaken", notReady+"NameTaken",
		"ServerPodReady=True ServerPodReady", "Progressing=False ServerReady")
	s.wantMessage(dialect.ConditionReady, "it belongs to somebody")

	if s.sc.Status.Server.ServiceName != "" {
		t.Errorf("status names Service %s", s.sc.Status.Server.ServiceName)
	}

	since := meta.FindStatusCondition(s.sc.Status.Conditions, dialect.ConditionReady).LastTransitionTime
	s.pass(time.Hour, ready, taken).wantEvents()

	if now := meta.FindStatusCondition(s.sc.Status.Conditions,
		dialect.ConditionReady).LastTransitionTime; !now.Equal(&since) {
		t.Errorf("Ready went over at %s, and again at %s", since, now)
	}

	s.pass(time.Second, ready).wantEvents()
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")
}

// TestConnectInvalidService checks that an invalid Service spec does not affect the existing Service and the running
// server.
func TestConnectInvalidService(t *testing.T) {
	s := runningConnect(t)
	s.sc.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}
	ready := aServer(1, lifecycle.DriverRunning, isReady)
	s.pass(time.Second, ready).wantEvents(reasonInvalidService)
	s.expect(v1alpha1.SparkConnectStateReady, "ServiceReady=False InvalidService", "Ready=True Running",
		"ServerPodReady=True ServerPodReady", "Progressing=False ServerReady")
	s.wantMessage(conditionServiceReady, "spec.server.service: spec.type")
	s.pass(time.Minute, ready).wantEvents()
	s.sc.Spec.Server.Service = nil
	s.pass(time.Second, ready).wantEvents()
	s.expect(v1alpha1.SparkConnectStateReady, service, "Ready=True Running", "ServerPodReady=True ServerPodReady",
		"Progressing=False ServerReady")
}

// TestConnectDeleted checks that a SparkConnect that is being deleted keeps its status. The garbage collector, and not
// the operator, deletes its auxiliary objects.
func TestConnectDeleted(t *testing.T) {
	s := runningConnect(t)
	s.sc.DeletionTimestamp = new(metav1.NewTime(s.now))
	before := s.sc.Status.DeepCopy()
	s.connects.Decide(s.sc, noServer, s.now.Add(time.Hour))

	if diff := cmp.Diff(*before, s.sc.Status); diff != "" {
		t.Errorf("the status changed:\n%s", diff)
	}

	if !s.connects.AuxiliaryObjects(s.sc).Unsettled {
		t.Error("something is wanted beside it")
	}
}

func TestConnectRender(t *testing.T) {
	nasty := `it's "quoted" $HOME $(POD_IP) and\done`
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.SparkConf = map[string]string{
			"spark.app.note": nasty, "spark.kubernetes.namespace": "elsewhere",
			"spark.kubernetes.authenticate.oauthToken": "s3cret",
		}
		sc.Spec.Server.Template = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"spark-role":"x"}},"spec":{"serviceAccountName":"spark"}}`)}
	})

	objects, err := Connects{}.Render(sc,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 3}, connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	pod := objects.Driver

	want := map[string]string{
		sparkoperator.LabelConnectName: "hub", sparkoperator.LabelLaunchedBy: "true", sparkoperator.LabelAppUID: "3f0c",
		sparkoperator.LabelAttempt: "3", sparkoperator.LabelManaged: "true",
		submit.RoleLabel: "connect-server", "spark-version": "4.1.4",
	}
	if diff := cmp.Diff(want, pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	if pod.Name != "hub-server" || pod.Annotations[lifecycle.SpecHashAnnotation] != hash(&sc.Spec) ||
		!metav1.IsControlledBy(pod, sc) {
		t.Errorf("metadata %+v", pod.ObjectMeta)
	}

	config := objects.Before[0]
	if len(objects.Before) != 1 || config.GetName() != "hub-conf" ||
		config.GetLabels()[sparkoperator.LabelAttempt] != "3" || !metav1.IsControlledBy(config, sc) {
		t.Errorf("before the pod: %+v", objects.Before)
	}

	args := pod.Spec.Containers[0].Args
	if !slices.Contains(args, "spark.app.note="+strings.ReplaceAll(nasty, "$(", "$$(")) {
		t.Errorf("the value does not arrive as it is: %q", args)
	}

	all := strings.Join(args, "\n")
	if strings.Contains(all, "s3cret") || strings.Contains(all, "elsewhere") ||
		!slices.Contains(args, "spark.kubernetes.namespace=team") {
		t.Errorf("arguments %q", args)
	}

	reported := strings.Join(objects.Warnings, "\n")
	for _, field := range []string{
		"spec.sparkConf[spark.kubernetes.authenticate.oauthToken]: has no effect",
		"spec.sparkConf[spark.kubernetes.namespace]: ", "spec.server.template: metadata.labels",
	} {
		if !strings.Contains(reported, field) {
			t.Errorf("no warning %q in:\n%s", field, reported)
		}
	}

	if strings.Contains(reported, "s3cret") {
		t.Error("a message contains a secret")
	}

	for _, action := range []lifecycle.Action{{Verb: lifecycle.Delete, Part: lifecycle.Submission},
		{Verb: lifecycle.Create, Part: lifecycle.DriverBudget}} {
		if _, err := (Connects{}).Render(sc, action, connectBegan); err == nil {
			t.Errorf("%v is rendered", action)
		}
	}
}

func TestConnectExecutor(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Labels = map[string]string{"team": "a"}
		sc.Spec.Executor.Memory, sc.Spec.Executor.Cores = new("2g"), new(int32(3))
		sc.Spec.Executor.Template = &runtime.RawExtension{Raw: []byte(`{"spec":{"nodeSelector":{"disk":"ssd"}}}`)}
	})

	pod, err := Connects{}.Executor(sc, 2, 1, "server-uid", connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	spark := pod.Spec.Containers[0]

	memory := spark.Resources.Requests[corev1.ResourceMemory]
	if pod.Namespace != "team" || pod.Labels["team"] != "a" || pod.Labels[sparkoperator.LabelAttempt] != "2" ||
		pod.Spec.NodeSelector["disk"] != "ssd" ||
		spark.Image != "docker.io/apache/spark:4.1.4" || memory.String() != "2432Mi" ||
		pod.OwnerReferences[0].UID != "server-uid" {
		t.Errorf("executor %+v", pod)
	}
}

// TestConnectQueued checks that the sparkConf of docs/batch-schedulers.md puts a server's pods into Kueue's queue.
func TestConnectQueued(t *testing.T) {
	sc := aConnect(func(sc *v1alpha1.SparkConnect) {
		sc.Spec.SparkConf = map[string]string{
			"spark.kubernetes.driver.label.kueue.x-k8s.io/queue-name":                   "research",
			"spark.kubernetes.executor.label.kueue.x-k8s.io/queue-name":                 "research",
			"spark.kubernetes.executor.label.kueue.x-k8s.io/managed":                    "true",
			"spark.kubernetes.executor.annotation.kueue.x-k8s.io/pod-suspending-parent": "spark-driver",
		}
	})

	objects, err := Connects{}.Render(sc,
		lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	if got := objects.Driver.Labels["kueue.x-k8s.io/queue-name"]; got != "research" {
		t.Errorf("the server is in queue %q", got)
	}

	pod, err := Connects{}.Executor(sc, 1, 1, "server-uid", connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	if pod.Labels["kueue.x-k8s.io/queue-name"] != "research" || pod.Labels["kueue.x-k8s.io/managed"] != "true" ||
		pod.Annotations["kueue.x-k8s.io/pod-suspending-parent"] != "spark-driver" {
		t.Errorf("an executor has labels %v and annotations %v", pod.Labels, pod.Annotations)
	}
}
