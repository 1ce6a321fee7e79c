package cluster

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// checkPlan checks a plan against the rules that every plan must keep:
//
//   - the same input gives the same plan;
//   - the table Transitions contains each transition;
//   - the transitions form a path from the remembered phase to the new phase;
//   - each wait has a time limit, or ends by an event that the table Waits contains;
//   - a second decision with the new memory enters no phase and reports nothing.
func checkPlan(t *testing.T, want Cluster, mem Memory, seen lifecycle.Observed, objects Objects, now time.Time,
	plan Plan) {
	if again := Step(want, mem, seen, objects, now); !reflect.DeepEqual(plan, again) {
		t.Fatalf("the same input gives another plan:\n%s", cmp.Diff(plan, again))
	}

	if wrong := lives.Trail(mem.Phase, plan.Next.Phase, plan.Transitions, inTable); wrong != "" {
		t.Fatalf("%s (want %+v, memory %+v, seen %+v, objects %+v)", wrong, want, mem, seen, objects)
	}

	if want.Deleting {
		if !reflect.DeepEqual(plan, Plan{Next: mem}) {
			t.Fatalf("a cluster that is being deleted: %+v", plan)
		}
		return
	}

	if !slices.ContainsFunc(Waits, func(w application.Wait) bool { return w.Phase == plan.Next.Phase }) {
		t.Fatalf("the phase %q is not in Waits", plan.Next.Phase)
	}

	checkRules(t, want, mem, seen, objects, now, plan)
	checkQuota(t, seen, plan)
	checkQuiet(t, want, seen, objects, now, plan)
}

// checkRules checks a plan against the rules in the package comment.
func checkRules(t *testing.T, want Cluster, mem Memory, seen lifecycle.Observed, objects Objects, now time.Time,
	plan Plan) {
	ends := slices.ContainsFunc(plan.Transitions,
		func(tr lifecycle.Transition) bool { return tr.To == lifecycle.Ended })

	evicts := seen.Quota != nil && seen.Quota.Evicted != nil
	stops := want.Suspend || evicts
	// After a transient error, the operator requests a pass itself.
	event := seen.TransientError != nil || evicts && plan.Next.Phase == lifecycle.Suspended || slices.ContainsFunc(plan.Actions, queue.LeadsToDecision)

	runs := mem.Phase != lifecycle.Running && plan.Next.Phase == lifecycle.Running
	switch m := plan.Next; {
	case mem.Phase == lifecycle.Running && m.Phase != lifecycle.Running && (!stops || !m.Suspended()):
		t.Fatalf("a running cluster entered %s", m.Phase)
	case m.Attempt < max(mem.Attempt, 1) || m.Attempt > max(mem.Attempt, 1)+1:
		t.Fatalf("attempt %d follows %d", m.Attempt, mem.Attempt)
	case runs && !objects.Stand:
		t.Fatal("the cluster is Running before all objects exist")
	case ends && want.Invalid == nil && seen.Rejection == nil && now.Sub(mem.Begun) < want.Start:
		t.Fatalf("failed after %s", now.Sub(mem.Begun))
	case m.Phase == lifecycle.Done && mem.Phase != lifecycle.Done && len(seen.Members)+seen.AuxiliaryCount > 0:
		t.Fatal("Done, although objects are left")
	case m.Phase == lifecycle.Suspended && mem.Phase != lifecycle.Suspended && len(seen.Members)+seen.AuxiliaryCount > seen.AuxiliaryServices:
		t.Fatal("Suspended, although pods or objects are left")
	case want.Suspend && m.Wants() && len(seen.Members) > 0:
		t.Fatalf("a suspended cluster with pods stays %s", m.Phase)
	case !stops && m.Phase == lifecycle.Suspending && mem.Phase != lifecycle.Suspending:
		t.Fatal("a cluster is stopped although its spec does not suspend it")
	case want.Hold != nil && (runs && mem.Phase == lifecycle.New || m.Attempt > max(mem.Attempt, 1) || mem.Generation != 0 && m.Generation != mem.Generation || m.RestartRequest != mem.RestartRequest && !mem.Suspended() && !m.Suspended()):
		t.Fatalf("a held cluster starts, or its edit or its restart request is carried out: %+v", m)
	case plan.RequeueAfter <= 0 && want.Hold == nil && !event && m.Phase != lifecycle.Running && m.Phase != lifecycle.Done:
		t.Fatalf("%s has no timer", m.Phase)
	case plan.RequeueAfter <= 0 && m.Rolling() && want.Start > 0 && now.Sub(m.Begun) < want.Start:
		t.Fatal("no pass is requested at the time limit of the rollout")
	case m.Adopted && !mem.Adopted:
		t.Fatal("the state machine set Adopted")
	}

	masters, workers := 0, int32(0)
	for _, m := range seen.Members {
		if m.Ready && !m.Deleting && m.Phase == lifecycle.DriverRunning {
			if m.Role == lifecycle.Master {
				masters++
			} else {
				workers++
			}
		}
	}

	if runs && (masters == 0 || workers < want.Workers) {
		t.Fatalf("the cluster is Running with %d masters and %d of %d workers", masters, workers, want.Workers)
	}

	if plan.Next.Phase == lifecycle.Running && plan.Next.Cause.Reason == "" && masters == 0 && !plan.Next.Rolling() {
		t.Fatal("the cluster has no master, and no cause")
	}
}

// checkQuiet repeats a decision with the memory that the first decision returned. The rest of the input stays the same.
// The second decision must enter no phase and report nothing.
func checkQuiet(t *testing.T, want Cluster, seen lifecycle.Observed, objects Objects, now time.Time, plan Plan) {
	second := Step(want, plan.Next, seen, objects, now)
	if len(second.Transitions) > 0 || len(second.Notices) > 0 || !reflect.DeepEqual(second.Next, plan.Next) {
		t.Fatalf("the second decision changes something: %+v\nafter %+v\nseen %+v objects %+v", second, plan, seen,
			objects)
	}

	if second.RequeueAfter != plan.RequeueAfter && plan.RequeueAfter != time.Millisecond {
		t.Fatalf("the second decision requests a pass after %s, the first after %s", second.RequeueAfter,
			plan.RequeueAfter)
	}
}

// held is a hold.
var held = &lifecycle.Cause{Reason: "SuspendHeld", Message: "spec.suspend is true"}

// generator generates random situations, including situations that cannot occur.
type generator struct{ *rand.Rand }

func pick[T any](a generator, values ...T) T { return values[a.IntN(len(values))] }

func (a generator) time(now time.Time) time.Time {
	if a.IntN(3) == 0 {
		return time.Time{}
	}
	return now.Add(-time.Duration(a.IntN(600)) * time.Second)
}

func (a generator) cluster() Cluster {
	c := Cluster{
		Deleting: a.IntN(20) == 0, Generation: int64(1 + a.IntN(3)), RestartRequest: pick(a, "", "", "r1", "r2"),
		Workers: int32(a.IntN(3)), Scales: a.IntN(3) == 0,
		Made:  map[lifecycle.Role]string{lifecycle.Master: pick(a, "a", "b"), lifecycle.Worker: pick(a, "a", "b")},
		Start: pick(a, 0, time.Minute, 5*time.Minute),
	}
	if a.IntN(4) == 0 {
		c.Invalid, c.Workers, c.Made = invalid, 0, nil
	}

	if a.IntN(5) == 0 {
		c.Hold, c.Suspend = held, a.IntN(3) > 0
	}
	return c
}

func (a generator) memory(now time.Time) Memory {
	if a.IntN(8) == 0 {
		return Memory{}
	}

	m := Memory{
		Phase: pick(a, lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Running, lifecycle.Ended, lifecycle.Done, lifecycle.Resuming,
			lifecycle.Suspending, lifecycle.Suspended),
		Since: a.time(now), Attempt: int32(1 + a.IntN(3)), Generation: int64(a.IntN(4)), RestartRequest: pick(a, "", "r1", "r1"), Adopted: a.IntN(3) == 0,
	}
	switch m.Phase {
	case lifecycle.Launched, lifecycle.Started, lifecycle.Running:
		m.Begun = now.Add(-time.Duration(a.IntN(600)) * time.Second)
	}

	if m.Phase == lifecycle.Running {
		m.Complete = a.time(now)
	}

	if a.IntN(2) == 0 {
		m.Cause = lifecycle.Cause{Reason: pick(a, lifecycle.ReasonInvalid, ReasonStartTimedOut, ReasonMasterNotReady,
			"QuotaExceeded", "ImagePullBackOff"), Message: "m"}
	}
	return m
}

func (a generator) observed() lifecycle.Observed {
	seen := lifecycle.Observed{AuxiliaryCount: pick(a, 0, 2, 7)}

	seen.AuxiliaryServices = min(seen.AuxiliaryCount, pick(a, 0, 2))
	for i := range a.IntN(4) {
		m := lifecycle.Member{Name: string(rune('a' + i)), Role: pick(a, lifecycle.Master, lifecycle.Worker),
			Ready: a.IntN(3) > 0, Deleting: a.IntN(6) == 0,
			Phase: pick(a, lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverRunning,
				lifecycle.DriverFailed, lifecycle.DriverUnknown), Generation: pick(a, "", "a", "b")}
		if !m.Ready && a.IntN(2) == 0 {
			m.Why = lifecycle.Cause{Reason: pick(a, "ImagePullBackOff", lifecycle.ReasonNodeLost), Message: "why"}
		}

		seen.Members = append(seen.Members, m)
	}
	return seen
}

// quota adds what a queue reports, or nothing.
func (a generator) quota(seen *lifecycle.Observed) {
	if a.IntN(2) > 0 {
		return
	}

	q := lifecycle.Quota{Name: "w", Requested: a.IntN(4) > 0, Attempt: int32(a.IntN(3))}
	if q.Requested {
		q.Reserved, q.Started = a.IntN(2) == 0, a.IntN(2) == 0
	} else if a.IntN(3) == 0 {
		q = lifecycle.Quota{Name: "w", Requested: true, Unread: true}
	}

	if q.Requested && a.IntN(3) == 0 {
		q = evicted(q)
	}

	if a.IntN(2) == 0 {
		q = replied(q, pick(a, "", lifecycle.ReasonQuotaPending))
		if q.Evicted != nil {
			q = replied(q, lifecycle.ReasonQuotaPending)
		}
	}

	seen.Quota, seen.Confirmed, seen.PodsConfirmed, seen.CacheBehind = &q, a.IntN(2) == 0, a.IntN(2) == 0, a.IntN(4) == 0
}

// checkQuota checks that a plan gives quota back only after a live read, if no pod and no phase is in the way.
func checkQuota(t *testing.T, seen lifecycle.Observed, plan Plan) {
	for _, a := range plan.Actions {
		if a.Verb != lifecycle.Delete && a.Part != lifecycle.QuotaReturn {
			continue
		}

		if !seen.PodsConfirmed || seen.CacheBehind || len(seen.Members) > 0 || len(plan.Transitions) > 0 {
			t.Fatalf("%v while %+v is seen, and %v is entered", a, seen, plan.Transitions)
		}
	}
}

// TestAnything checks decisions about random situations against the rules that every plan must keep. Some of the
// situations cannot occur in reality. The test also checks that every transition in the table occurs.
func TestAnything(t *testing.T) {
	used := lives.Used{}
	for seed := range uint64(effort.Count(t, 10000)) {
		a := generator{rand.New(rand.NewPCG(seed, 8))}
		want, mem, seen := a.cluster(), a.memory(began), a.observed()
		objects := pick(a, unknown, stand, refused)

		generator{rand.New(rand.NewPCG(seed, 19))}.quota(&seen)
		plan := Step(want, mem, seen, objects, began)
		checkPlan(t, want, mem, seen, objects, began, plan)
		used.Add(plan.Transitions)
	}

	for _, e := range Transitions {
		used.Holds(t, e.From, e.To, e.When)
	}
}

// TestClockWentBack checks that the time limit of a start or a rollout does not pass late if the memory was stored by a
// clock that was hours ahead. The limit counted from that time.
func TestClockWentBack(t *testing.T) {
	for _, mem := range []Memory{memory(lifecycle.Launched), memory(lifecycle.Running, func(m *Memory) { m.Complete = time.Time{} })} {
		want, now := two(), began.Add(-20*time.Hour)
		for deadline := now.Add(want.Start); now.Before(deadline); {
			plan := Step(want, mem, lifecycle.Observed{}, stand, now)
			mem, now = plan.Next, now.Add(plan.RequeueAfter)
		}

		mem = Step(want, mem, lifecycle.Observed{}, stand, now).Next
		if mem.Cause.Reason != ReasonStartTimedOut && mem.Cause.Reason != ReasonRolloutTimedOut {
			t.Errorf("after %s in %s: %+v", want.Start, mem.Phase, mem.Cause)
		}
	}
}

func inTable(from, to lifecycle.Phase) bool {
	return slices.ContainsFunc(Transitions,
		func(e application.Edge) bool { return e.To == to && slices.Contains(e.From, from) })
}
