package kueue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
)

var simulatedKind = schema.GroupVersionKind{Group: "spark.apache.org", Version: "v1", Kind: "SparkApplication"}

// tick is the time between two steps of the simulation.
const tick = 10 * time.Second

// simulated is an application with the real state machine. Its pods and its Workload are in memory.
type simulated struct {
	app      lifecycle.App
	owner    *metav1.PartialObjectMetadata
	sets     []kueue.PodSet
	hash     string
	cpu      []int64 // of a driver and of an executor
	priority int32
	work     int // ticks that a driver needs

	memory   lifecycle.Memory
	running  []*simulatedPod
	workload *kueue.Workload

	evictions, attempts int
}

type simulatedPod struct {
	driver   bool
	attempt  int32
	cpu      int64
	phase    lifecycle.DriverPhase
	ran      int // ticks
	leaves   int // ticks until a deleted pod is gone; 0: it is not deleted
	at, done time.Time
}

func (p *simulatedPod) over() bool {
	return p.phase == lifecycle.DriverSucceeded || p.phase == lifecycle.DriverFailed
}

func newSimulated(r *rand.Rand, i int) *simulated {
	s := &simulated{priority: int32(r.IntN(4)), work: 1 + r.IntN(20), cpu: []int64{1, int64(1 + r.IntN(4))}}
	s.owner = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: fmt.Sprintf("app-%04d", i), UID: types.UID(fmt.Sprint("uid-", i)), Labels: map[string]string{kueue.QueueLabel: "research"},
	}}
	s.app = lifecycle.App{UID: string(s.owner.UID), SpecHash: "1:0", MissingGrace: tick, InitialExecutors: int32(1 + r.IntN(5)), Restart: lifecycle.Restart{Policy: lifecycle.Never}}
	s.sets = kueue.PodSets([]dialect.Pods{{Role: "driver", Pod: pod("1", "1Gi"), Count: 1}, {Role: "executor", Pod: pod(fmt.Sprint(s.cpu[1]), "1Gi"), Count: s.app.InitialExecutors}})
	s.hash, _ = kueue.Hash(s.sets)
	return s
}

// used returns the CPUs of all pods that exist and have not ended.
func (s *simulated) used() (cpu int64) {
	for _, p := range s.running {
		if !p.over() {
			cpu += p.cpu
		}
	}
	return cpu
}

// ended reports whether the application has ended and uses no quota.
func (s *simulated) ended() bool {
	return s.memory.Phase.Terminal() && s.used() == 0 && (s.workload == nil || queues.Is(s.workload, kueue.Finished))
}

func (s *simulated) seen() lifecycle.Observed {
	seen := lifecycle.Observed{Quota: &lifecycle.Quota{}}
	if s.workload != nil {
		seen.Quota = new(kueue.See(s.workload))
	}

	for _, p := range s.running {
		name := fmt.Sprint("pod-", p.attempt)
		if !p.driver {
			seen.Executors = append(seen.Executors, lifecycle.Executor{Name: name, ID: "1", Attempt: p.attempt, Phase: p.phase, CreatedAt: p.at})
			continue
		}

		d := lifecycle.Driver{Name: name, UID: name, Attempt: p.attempt, Phase: p.phase, Deleting: p.leaves > 0, CreatedAt: p.at, SpecHash: s.app.SpecHash}
		if p.phase != lifecycle.DriverPending {
			d.StartedAt, d.ReadyAt, d.Ready = p.at, p.at, p.phase == lifecycle.DriverRunning
		}

		if p.over() {
			d.EndedAt, d.HasExit = p.done, true
		}

		if d.Deleting {
			d.GoneBy = p.done
		}

		seen.Drivers = append(seen.Drivers, d)
	}
	return seen
}

// pass makes a pass, as the reconciler does.
func (s *simulated) pass(t *testing.T, r *rand.Rand, now time.Time) {
	t.Helper()

	seen := s.seen()
	for range 6 {
		plan, again := application.Step(s.app, s.memory, seen, now), false
		for _, action := range plan.Actions {
			if fact := s.act(r, action, now); fact != nil {
				fact(&seen)

				again = true

				break
			}
		}

		if !again {
			s.memory = plan.Next
			return
		}
	}

	t.Fatalf("%s: no decision after 6 rounds: %+v, %+v", s.owner.Name, s.memory, seen.Quota)
}

// act carries out an action. The result is a fact, or nil.
func (s *simulated) act(r *rand.Rand, a lifecycle.Action, now time.Time) func(*lifecycle.Observed) {
	switch {
	case a.Verb == lifecycle.Confirm:
		return func(seen *lifecycle.Observed) { seen.Confirmed, seen.PodsConfirmed, seen.Inspected = true, true, true }
	case a.Verb == lifecycle.Create && a.Part == lifecycle.QuotaRequest:
		answer := s.ask(a.Attempt, now)
		return func(seen *lifecycle.Observed) { seen.Quota = &answer }
	case a.Part == lifecycle.QuotaRequest:
		s.workload = nil
	case a.Part == lifecycle.QuotaReturn:
		s.workload.Annotations[kueue.AttemptAnnotation] = strconv.Itoa(int(a.Attempt))
		kueue.ClearReservation(s.workload, now)

		s.evictions++
	case a.Part == lifecycle.QuotaStarted || a.Part == lifecycle.QuotaFinished:
		condition := map[lifecycle.Part]string{lifecycle.QuotaStarted: kueue.PodsReady, lifecycle.QuotaFinished: kueue.Finished}[a.Part]
		meta.SetStatusCondition(&s.workload.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Reported"})
	case a.Verb == lifecycle.Create && a.Part == lifecycle.Submission:
		s.attempts++
		s.running = append(s.running, &simulatedPod{driver: true, attempt: a.Attempt, cpu: s.cpu[0], phase: lifecycle.DriverPending, at: now})
	case a.Verb == lifecycle.Delete:
		for _, p := range s.running {
			if p.leaves == 0 && p.attempt == a.Attempt && (p.driver || a.Part != lifecycle.DriverPod) {
				p.leaves, p.done = 1+r.IntN(4), now
			}
		}
	}
	return nil
}

// ask does in memory what Queue.Request does on an API server.
func (s *simulated) ask(attempt int32, now time.Time) lifecycle.Quota {
	want := kueue.Request{Name: "sparkapplication-" + s.owner.Name, Owner: s.owner, Kind: simulatedKind.GroupKind(), Attempt: attempt, Queue: "research", Hash: s.hash}

	verdict := kueue.Judge(s.workload, want, now)
	switch verdict.Step {
	case kueue.Create:
		s.workload = &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: want.Name, CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{kueue.QueueLabel: "research", identity.AppUIDLabel: s.app.UID},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.owner, simulatedKind)},
			Annotations:     map[string]string{kueue.HashAnnotation: s.hash, kueue.AttemptAnnotation: strconv.Itoa(int(attempt))},
		}, Spec: kueue.WorkloadSpec{QueueName: "research", PodSets: s.sets, Priority: &s.priority}}
	case kueue.Update:
		s.workload.Annotations[kueue.AttemptAnnotation] = strconv.Itoa(int(attempt))
	case kueue.GiveBack:
		kueue.ClearReservation(s.workload, now)
	case kueue.Replace:
		s.workload = nil
	}

	answer := lifecycle.Quota{Name: want.Name, Attempt: attempt, Asked: true, Requested: s.workload != nil, Reserved: s.workload != nil && queues.Is(s.workload, kueue.QuotaReserved)}
	if verdict.Wait.Reason != "" {
		answer.Wait = &verdict.Wait
	}
	return answer
}

// advance plays the kubelet and the driver for a tick.
func (s *simulated) advance(r *rand.Rand, now time.Time) {
	s.running = slices.DeleteFunc(s.running, func(p *simulatedPod) bool {
		if p.leaves > 0 {
			p.leaves--
			return p.leaves == 0
		}
		return false
	})

	for _, p := range slices.Clone(s.running) {
		switch {
		case p.leaves > 0 || p.over():
		case p.phase == lifecycle.DriverPending:
			p.phase = lifecycle.DriverRunning

			if p.driver {
				for range s.app.InitialExecutors {
					s.running = append(s.running, &simulatedPod{attempt: p.attempt, cpu: s.cpu[1], phase: lifecycle.DriverPending, at: now})
				}
			}
		case p.driver:
			if p.ran++; p.ran >= s.work {
				p.phase, p.done = lifecycle.DriverSucceeded, now
			}
		}
	}

	if s.workload != nil && queues.Is(s.workload, kueue.QuotaReserved) && !queues.Is(s.workload, kueue.Evicted) && r.IntN(80) == 0 {
		(&queues.Scheduler{Backoff: time.Minute}).Evict(s.workload, "PodsReadyTimeout", "at random", now)
	}
}

// TestManyInAQueue runs 1,000 applications with the real state machine in one queue. They arrive over time with four
// priorities and preempt each other, and Kueue evicts some at random. At no time do their pods use more than the quota,
// terminating pods included, and all applications succeed in the end.
func TestManyInAQueue(t *testing.T) {
	t.Parallel()

	const (
		many  = 1000
		quota = 200
	)

	r := rand.New(rand.NewPCG(1, 39))
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	scheduler := &queues.Scheduler{LocalQueues: map[string]string{"team/research": "shared"}, Backoff: time.Minute, ClusterQueues: map[string]*queues.ClusterQueue{"shared": {
		Flavors: []string{"any"}, Quota: map[string]corev1.ResourceList{"any": {"cpu": *resource.NewQuantity(quota, resource.DecimalSI)}}, Preempts: true,
	}}}

	var all []*simulated

	most, steps := int64(0), 0

	for ; ; steps++ {
		for range 10 {
			if len(all) < many {
				all = append(all, newSimulated(r, len(all)))
			}
		}

		var workloads []*kueue.Workload

		used, done := int64(0), 0
		for _, s := range all {
			if s.ended() {
				done++
				continue
			}

			s.pass(t, r, now)
			used += s.used()

			if used > quota {
				t.Fatalf("step %d: the pods use more than the quota", steps)
			}
		}

		for _, s := range all {
			if s.workload != nil {
				workloads = append(workloads, s.workload)
			}
		}

		most = max(most, used)

		if done == many {
			break
		}

		if steps > 5000 {
			t.Fatalf("only %d applications have ended: %s", done, stuck(all))
		}

		scheduler.Cycle(workloads, now)
		now = now.Add(tick)

		for _, s := range all {
			s.advance(r, now)
		}
	}

	evictions, attempts := 0, 0
	for _, s := range all {
		evictions, attempts = evictions+s.evictions, attempts+s.attempts
		if s.memory.Outcome != lifecycle.Succeeded {
			t.Errorf("%s ended as %s", s.owner.Name, s.memory.Outcome)
		}
	}

	t.Logf("%d steps, %d attempts, %d evictions, at most %d of %d CPUs", steps, attempts, evictions, most, int64(quota))

	if evictions < 100 || most < quota*9/10 {
		t.Errorf("the queue was not busy: %d evictions, at most %d CPUs", evictions, most)
	}
}

func stuck(all []*simulated) (text string) {
	for _, s := range all {
		if !s.ended() {
			text += fmt.Sprintf("\n%s prio %d: %s attempt %d since %s, %d pods; %+v", s.owner.Name, s.priority, s.memory.Phase, s.memory.Attempt, s.memory.Since, len(s.running), s.seen().Quota)
			if s.workload != nil {
				for _, c := range s.workload.Status.Conditions {
					text += fmt.Sprintf("\n     %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				}
			}
		}

		if len(text) > 3000 {
			break
		}
	}
	return text
}
