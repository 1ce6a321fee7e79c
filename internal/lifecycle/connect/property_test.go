package connect

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// checkPlan checks a plan against the rules that every plan must keep:
//
//   - the same input gives the same plan;
//   - the table Transitions contains each transition;
//   - the transitions form a path from the remembered phase to the new phase;
//   - a plan creates at most one server;
//   - a second decision with the new memory enters no phase and reports nothing;
//   - each wait has a time limit, or ends by an event that the table Waits contains.
func checkPlan(t *testing.T, app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time,
	plan lifecycle.Plan) {
	if again := Step(app, mem, seen, now); !reflect.DeepEqual(plan, again) {
		t.Fatalf("the same input gives another plan:\n%s", cmp.Diff(plan, again))
	}

	if wrong := lives.Trail(mem.Phase, plan.Next.Phase, plan.Transitions, inTable); wrong != "" {
		t.Fatalf("%s (app %+v, memory %+v, seen %+v)", wrong, app, mem, seen)
	}

	asks := slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm })
	if !slices.ContainsFunc(Waits, func(w application.Wait) bool { return w.Phase == plan.Next.Phase }) &&
		!app.Deleting && !asks {
		t.Fatalf("the phase %q is not in Waits", plan.Next.Phase)
	}

	if end := plan.Next.Phase.Terminal(); end && app.Invalid == nil && !app.Deleting && !asks {
		t.Fatalf("finished (%s) although the spec is valid: %+v, after %+v", plan.Next.Phase, plan.Next, mem)
	}

	checkMade(t, mem, plan)
	checkWoken(t, app, seen, plan)

	if !asks {
		checkQuiet(t, app, seen, now, plan)
	}
}

// checkMade checks that a plan creates at most one server. A plan that creates a server must use a new attempt number
// and request nothing else.
func checkMade(t *testing.T, mem lifecycle.Memory, plan lifecycle.Plan) {
	if plan.Next.Attempt < mem.Attempt {
		t.Fatalf("attempt %d follows %d", plan.Next.Attempt, mem.Attempt)
	}

	for _, a := range plan.Actions {
		if a.Verb != lifecycle.Create {
			continue
		}

		if len(plan.Actions) != 1 || a.Part != lifecycle.Submission || a.Attempt != plan.Next.Attempt ||
			a.Attempt <= mem.Attempt || plan.Next.Phase != lifecycle.Launched {
			t.Fatalf("%v of %v, while %d is remembered after %d, in %s", a, plan.Actions, plan.Next.Attempt,
				mem.Attempt, plan.Next.Phase)
		}
	}
}

// checkWoken checks that a plan requests another pass if time alone can end its phase. A phase that only a change of a
// pod or of the custom resource can end needs no timer, because the event of that change starts the next pass.
func checkWoken(t *testing.T, app lifecycle.App, seen lifecycle.Observed, plan lifecycle.Plan) {
	m := plan.Next
	switch {
	case plan.RequeueAfter > 0, app.Deleting:
	case m.Phase.Terminal(), m.Phase == lifecycle.Suspended:
	case m.Phase.Live() && seen.Driver(m.Attempt) != nil:
	default:
		t.Fatalf("%s has neither a timer nor an event: app %+v memory %+v seen %+v", m.Phase, app, m, seen)
	}
}

// checkQuiet repeats a decision with the memory that the first decision returned. The second decision must enter no
// phase, create nothing and report nothing.
func checkQuiet(t *testing.T, app lifecycle.App, seen lifecycle.Observed, now time.Time, plan lifecycle.Plan) {
	refused := seen.Rejection != nil
	seen.Rejection, seen.Confirmed, seen.ProbeResult = nil, false, nil
	second := Step(app, plan.Next, seen, now)

	due := plan.Next.Phase == lifecycle.Waiting && !plan.Next.NextAttempt.After(now)
	if len(second.Transitions) > 0 && !due {
		t.Fatalf("the second decision enters phases: %v, after %v\nmemory %+v seen %+v", second.Transitions,
			plan.Transitions, plan.Next, seen)
	}

	for _, a := range second.Actions {
		if a.Verb == lifecycle.Create && app.MissingGrace > 0 {
			t.Fatalf("a second server: %v after %v", second.Actions, plan.Actions)
		}
	}

	if len(second.Notices) > 0 && !due && !refused {
		t.Fatalf("reported twice: %v", second.Notices)
	}
}

// generator generates random situations, including situations that cannot occur.
type generator struct{ *rand.Rand }

func (a generator) time(now time.Time) time.Time {
	if a.IntN(3) == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(a.IntN(1600)-1300) * time.Second)
}

func pick[T any](a generator, values ...T) T { return values[a.IntN(len(values))] }

func (a generator) app() lifecycle.App {
	app := lifecycle.App{
		UID: "u", SpecHash: pick(a, "1:a", "1:b", "2:a", ""), Deleting: a.IntN(20) == 0, Orphan: a.IntN(2) == 0,
		Suspend:      a.IntN(4) == 0,
		MinExecutors: int32(a.IntN(4)), MissingGrace: time.Duration(1+a.IntN(20)) * time.Second,
	}

	app.RestartRequest = pick(a, "", "", "r1", "r2")
	if a.IntN(4) == 0 {
		app.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.server.memory"}
	}
	return app
}

func (a generator) memory(now time.Time) lifecycle.Memory {
	if a.IntN(8) == 0 {
		return lifecycle.Memory{}
	}

	m := lifecycle.Memory{
		Phase: pick(a, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Running, lifecycle.Unknown,
			lifecycle.Ended, lifecycle.Retained,
			lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing),
		Since: a.time(now), Attempt: int32(1 + a.IntN(4)), AttemptID: "id", SpecHash: pick(a, "1:a", "1:b", ""),
		Runs: int32(a.IntN(4)), Submissions: int32(a.IntN(5)), SuspendedRuns: int32(a.IntN(2)),
		SubmittedAt: a.time(now), EndedAt: a.time(now), NextAttempt: a.time(now),
		Outcome: pick(a, lifecycle.Undecided, lifecycle.Failed, lifecycle.Lost, lifecycle.Evicted,
			lifecycle.Refused),
		RestartRequest: pick(a, "", "r1", "r1"),
	}
	if a.IntN(2) == 0 {
		m.Cause = lifecycle.Cause{Reason: pick(a, lifecycle.ReasonEvicted, lifecycle.ReasonNodeLost,
			lifecycle.ReasonDriverDeleting, "ImagePullBackOff", "QuotaExceeded"), Message: "m"}
	}

	if m.Phase == lifecycle.Running {
		m.ShortSince = a.time(now)
	}
	return m
}

func (a generator) phase() lifecycle.DriverPhase {
	return pick(a, lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed,
		lifecycle.DriverUnknown)
}

func (a generator) observed(now time.Time) lifecycle.Observed {
	seen := lifecycle.Observed{Confirmed: a.IntN(3) == 0}
	for range a.IntN(3) {
		if attempt := int32(a.IntN(6)); seen.Driver(attempt) == nil {
			seen.Drivers = append(seen.Drivers, lifecycle.Driver{
				Name: "s-server", Attempt: attempt, Phase: a.phase(), Ready: a.IntN(2) == 0, Deleting: a.IntN(5) == 0,
				CreatedAt: a.time(now), GoneBy: a.time(now),
				NodeLostSince: a.time(now), StartedAt: a.time(now), ReadyAt: a.time(now), EndedAt: a.time(now),
				Evicted: a.IntN(4) == 0, SpecHash: pick(a, "", "1:a", "1:b"),
			})
		}
	}

	for range a.IntN(5) {
		seen.Executors = append(seen.Executors,
			lifecycle.Executor{Name: "e", Attempt: int32(a.IntN(6)), Phase: a.phase(), CreatedAt: a.time(now)})
	}

	for range a.IntN(2) {
		seen.RemainingAttempts = append(seen.RemainingAttempts, int32(1+a.IntN(4)))
	}

	if a.IntN(3) == 0 {
		seen.ProbeResult = &lifecycle.Cause{Reason: pick(a, "", "QuotaExceeded"), Message: "e"}
	}

	if a.IntN(5) == 0 {
		seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "WebhookFailed",
			Message: "nobody answers"}, Since: now.Add(-time.Duration(a.IntN(200)) * time.Second)}
	}

	if a.IntN(5) == 0 {
		seen.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "no"}
	}
	return seen
}

// TestAnything checks decisions about random situations against the rules that every plan must keep. Some of the
// situations cannot occur in reality. The test also checks that every transition in the table occurs.
func TestAnything(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	used := lives.Used{}
	for seed := range uint64(effort.Count(t, 20000)) {
		a := generator{rand.New(rand.NewPCG(seed, 13))}
		app, mem, seen := a.app(), a.memory(now), a.observed(now)
		plan := Step(app, mem, seen, now)
		checkPlan(t, app, mem, seen, now, plan)
		used.Add(plan.Transitions)
	}

	for _, e := range Transitions {
		used.Holds(t, e.From, e.To, e.When)
	}
}

// TestClockWentBack checks decisions whose memory was stored by a clock that was hours ahead. The next server must not
// start hours later than it would have.
func TestClockWentBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	for seed := range uint64(effort.Count(t, 10000)) {
		a := generator{rand.New(rand.NewPCG(seed, 23))}

		app, mem, seen := a.app(), a.memory(now.Add(20*time.Hour)), a.observed(now)
		if mem.Since.IsZero() {
			mem.Since = now.Add(20 * time.Hour) // every stored phase has this time
		}

		// The generator makes times that differ by up to half an hour.
		if plan := Step(app, mem, seen, now); plan.RequeueAfter > time.Hour {
			t.Fatalf("seed %d: the next pass in %s is after %s; memory %+v", seed, mem.Phase, plan.RequeueAfter, mem)
		}
	}
}

func inTable(from, to lifecycle.Phase) bool {
	return slices.ContainsFunc(Transitions,
		func(e application.Edge) bool { return e.To == to && slices.Contains(e.From, from) })
}
