package application

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// checkPlan checks a plan against the rules that every plan must keep:
//
//   - the same input gives the same plan;
//   - the table Transitions contains each transition;
//   - the transitions form a path from the remembered phase to the new phase;
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
	// A plan that requests a live read is never stored: another decision is made with the result.
	asks := slices.ContainsFunc(plan.Actions, queue.LeadsToDecision)
	if plan.Next.Phase == lifecycle.New && app.Hold == nil && !app.Deleting && !asks && seen.TransientError == nil && !queued(seen) {
		t.Fatalf("New is stored: %+v", plan)
	}

	if !slices.ContainsFunc(Waits, func(w Wait) bool { return w.Phase == plan.Next.Phase }) && !app.Deleting && !asks {
		t.Fatalf("the phase %q is not in Waits", plan.Next.Phase)
	}

	checkAttempts(t, mem, seen, plan)
	checkHold(t, app, mem, plan)
	checkIntention(t, app, mem, seen, plan)
	checkSecond(t, app, mem, now, plan)
	checkTransientError(t, app, seen, now, plan)
	checkBounded(t, app, seen, now, plan)

	if app.MissingGrace > 0 && !asks {
		checkQuiet(t, app, seen, now, plan)
	}
}

// checkAttempts checks that the attempt number never decreases and grows by one for each launch, and that a plan
// creates only the attempt that its memory contains afterwards.
func checkAttempts(t *testing.T, mem lifecycle.Memory, seen lifecycle.Observed, plan lifecycle.Plan) {
	if plan.Next.Attempt < mem.Attempt || int64(plan.Next.Attempt) > int64(mem.Attempt)+maxUnremembered+1 {
		t.Fatalf("attempt %d follows %d", plan.Next.Attempt, mem.Attempt)
	}

	creates := 0
	for _, a := range plan.Actions {
		if a.Verb != lifecycle.Create {
			continue
		}

		if a.Part == lifecycle.QuotaRequest && a.Attempt == plan.Next.Attempt+1 || slices.Contains(quotaParts, a.Part) && seen.Quota.Requested {
			continue
		}

		if a.Part == lifecycle.DriverBudget || a.Part == lifecycle.DriverObjects {
			if a.Attempt != plan.Next.Attempt || !plan.Next.Phase.Live() {
				t.Fatalf("%v is created in %s of attempt %d", a, plan.Next.Phase, plan.Next.Attempt)
			}
			continue
		}
		creates++

		if a.Attempt != plan.Next.Attempt || a.Attempt <= mem.Attempt || plan.Next.Phase != lifecycle.Launched {
			t.Fatalf("%v is created, while %d is remembered after %d, in %s", a, plan.Next.Attempt, mem.Attempt,
				plan.Next.Phase)
		}
	}

	if creates > 1 {
		t.Fatalf("%d launches in one plan", creates)
	}

	if creates == 1 && len(plan.Actions) != 1 {
		t.Fatalf("a launch together with other actions: %v", plan.Actions)
	}
}

// checkTransientError checks that a plan requests nothing during transient errors, because the requests would fail.
// There are two exceptions. A launch that has exceeded its deadline must end, which needs requests. A probe is
// harmless, because no decision waits for its answer.
func checkTransientError(t *testing.T, app lifecycle.App, seen lifecycle.Observed, now time.Time, plan lifecycle.Plan) {
	if seen.TransientError == nil {
		return
	}

	limit := app.Deadlines.DriverStart

	over := limit > 0 && !now.Before(seen.TransientError.Since.Add(limit))
	for _, a := range plan.Actions {
		refuses := over && (a.Verb == lifecycle.Confirm && a.Part == lifecycle.DriverPod ||
			a == lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: plan.Next.Attempt})

		asks := a.Verb == lifecycle.Confirm && a.Part == lifecycle.Executors
		if !refuses && !asks && seen.Rejection == nil {
			t.Fatalf("%v during transient errors since %s", a, now.Sub(seen.TransientError.Since))
		}
	}
}

// checkBounded checks that a plan requests another pass if time alone can end its phase. A phase that only a change of
// a pod or of the custom resource can end needs no timer, because the event of that change starts the next pass.
func checkBounded(t *testing.T, app lifecycle.App, seen lifecycle.Observed, now time.Time, plan lifecycle.Plan) {
	if plan.RequeueAfter < 0 {
		t.Fatalf("requeue after %s", plan.RequeueAfter)
	}

	if l := plan.Limit; !l.At.IsZero() && (!l.At.After(now) || plan.RequeueAfter == 0 || now.Add(plan.RequeueAfter).After(lifecycle.Latest(l.At, now.Add(time.Millisecond)))) {
		t.Fatalf("the limit %+v at %s, and a pass after %s", l, now, plan.RequeueAfter)
	}

	if plan.RequeueAfter > 0 || app.Deleting || slices.ContainsFunc(plan.Actions, queue.LeadsToDecision) {
		return
	}

	m := plan.Next

	d := seen.Driver(m.Attempt)
	switch {
	case m.Phase == lifecycle.Retained && app.Retain.For != nil:
		t.Fatalf("retained for %s, and no pass is requested at that time", app.Retain.For)
	case m.Phase.Terminal() && app.TTL == nil, m.Phase == lifecycle.Suspended, app.Hold != nil && !m.Phase.Live():
	case queued(seen) && !m.Phase.Live(): // an event of the request
	case m.Phase == lifecycle.Unknown && d != nil && app.Deadlines.Run == 0:
	case m.Phase == lifecycle.Launched && d == nil && seen.Submitter(m.Attempt) != nil &&
		app.Deadlines.DriverStart == 0 && app.Deadlines.Run == 0:
	case m.Phase == lifecycle.Launched && d != nil && d.Gated && app.Deadlines.Run == 0:
	case (m.Phase == lifecycle.Ready || m.Phase == lifecycle.Scaling) && seen.HasGatedExecutor(m.Attempt) && app.Deadlines.Run == 0:
	case m.Phase.Live() && d != nil && app.Deadlines.Run == 0:
		if limit := map[lifecycle.Phase]time.Duration{
			lifecycle.Launched: app.Deadlines.DriverStart, lifecycle.Started: app.Deadlines.DriverReady,
			lifecycle.Ready: app.Deadlines.ExecutorsStart, lifecycle.Scaling: app.Deadlines.ExecutorsStart,
		}[m.Phase]; limit > 0 {
			t.Fatalf("%s has a deadline and no timer", m.Phase)
		}
	default:
		t.Fatalf("%s has neither a timer nor an event at %s: app %+v memory %+v seen %+v", m.Phase, now, app, m, seen)
	}
}

// checkQuiet repeats a decision with the memory that the first decision returned. The other input stays the same, but
// without rejections and results of live reads. The second decision must enter no phase, launch nothing and report
// nothing new.
func checkQuiet(t *testing.T, app lifecycle.App, seen lifecycle.Observed, now time.Time, plan lifecycle.Plan) {
	refused := seen.Rejection != nil
	if seen.Quota != nil {
		quota := *seen.Quota
		quota.Asked = false
		seen.Quota = &quota
	}

	seen.Rejection, seen.Confirmed, seen.Inspected, seen.PodsConfirmed, seen.CacheBehind, seen.ProbeResult = nil, false,
		false, false, false, nil
	second := Step(app, plan.Next, seen, now)
	// If the interval of a stored wait is zero, the next pass continues at once.
	due := plan.Next.Phase == lifecycle.Waiting && !plan.Next.NextAttempt.After(now)
	if refused && plan.Next.Cause.Reason == lifecycle.ReasonQuota && !plan.Next.Phase.Live() {
		return // the next pass tries the launch again
	}

	if len(second.Transitions) > 0 && !due {
		t.Fatalf("the second decision enters phases: %v, after %v\nmemory %+v seen %+v", second.Transitions,
			plan.Transitions, plan.Next, seen)
	}

	for _, a := range second.Actions {
		if a.Verb == lifecycle.Create && a.Part == lifecycle.Submission {
			t.Fatalf("a second launch: %v after %v", second.Actions, plan.Actions)
		}
	}

	if len(second.Notices) > 0 && !due && !refused {
		t.Fatalf("reported twice: %v", second.Notices)
	}
}

// checkHold checks that a held application is not launched, and that its restart requests wait. A driver that was
// launched before may have carried out a request.
func checkHold(t *testing.T, app lifecycle.App, mem lifecycle.Memory, plan lifecycle.Plan) {
	if app.Hold == nil {
		return
	}

	for _, a := range plan.Actions {
		if a.Verb == lifecycle.Create && a.Part == lifecycle.Submission {
			t.Fatalf("a held application is launched: %v", plan.Actions)
		}
	}

	suspended := []lifecycle.Phase{lifecycle.New, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming}
	if plan.Next.RestartRequest != mem.RestartRequest && plan.Next.Attempt == mem.Attempt && !slices.Contains(suspended, mem.Phase) && !slices.Contains(suspended, plan.Next.Phase) {
		t.Fatalf("the restart request of a held application is carried out in %s", mem.Phase)
	}
}

// held is a hold.
var held = &lifecycle.Cause{Reason: "SuspendHeld", Message: "spec.suspend is true"}

// generator generates random situations, including situations that cannot occur.
type generator struct{ r *rand.Rand }

func (a generator) below(n int) int { return a.r.IntN(n) }

func (a generator) time(now time.Time) time.Time {
	if a.below(3) == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(a.below(400)-300) * time.Second)
}

func (a generator) app() lifecycle.App {
	app := lifecycle.App{
		UID: "u", SpecHash: []string{"1:a", "1:b", "2:a", ""}[a.below(4)], Deleting: a.below(20) == 0,
		Orphan: a.below(2) == 0, Suspend: a.below(4) == 0,
		InitialExecutors: int32(a.below(5)), MissingGrace: time.Duration(1+a.below(20)) * time.Second,
		Restart: lifecycle.Restart{
			Policy: []lifecycle.RestartPolicy{lifecycle.Never, lifecycle.OnFailure,
				lifecycle.Always}[a.below(3)],
			FailureRetries: int32(a.below(4)), SubmissionRetries: int32(a.below(4)),
			FailureInterval:    time.Duration(a.below(60)) * time.Second,
			SubmissionInterval: time.Duration(a.below(60)) * time.Second,
			Factor:             float64(a.below(4)), Max: time.Duration(a.below(100)) * time.Second,
		},
	}
	if a.below(2) == 0 {
		limit := func() time.Duration { return time.Duration(a.below(200)) * time.Second }
		app.Deadlines = lifecycle.Deadlines{DriverStart: limit(), DriverReady: limit(), ExecutorsStart: limit(),
			Run: limit()}
	}

	if a.below(5) == 0 {
		app.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.driver.memory"}
	}

	if a.below(3) == 0 {
		app.Submitter = &lifecycle.Cause{Reason: "SparkSubmit", Message: "why"}
	}

	if a.below(5) == 0 {
		app.Hold = held
	}

	app.Budget = a.below(3) == 0
	app.RestartRequest = []string{"", "", "r1", "r2"}[a.below(4)]

	app.MinExecutors = int32(a.below(5))
	if a.below(3) == 0 {
		app.TTL = new(time.Duration(a.below(100)-10) * time.Second)
	}
	return app
}

func (a generator) memory(now time.Time) lifecycle.Memory {
	if a.below(8) == 0 {
		return lifecycle.Memory{}
	}

	phases := []lifecycle.Phase{
		lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running,
		lifecycle.Unknown,
		lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended,
		lifecycle.Resuming, lifecycle.Editing,
	}
	outcomes := []lifecycle.Outcome{
		lifecycle.Undecided, lifecycle.Succeeded, lifecycle.Failed, lifecycle.Lost, lifecycle.Evicted,
		lifecycle.Refused, lifecycle.RunTimedOut,
	}

	m := lifecycle.Memory{
		Phase: phases[a.below(len(phases))], Since: a.time(now), Attempt: int32(1 + a.below(4)), AttemptID: "id",
		SpecHash: []string{"1:a", "1:b", ""}[a.below(3)],
		Runs:     int32(a.below(4)), Submissions: int32(a.below(5)), SubmittedAt: a.time(now), UngatedAt: a.time(now),
		EndedAt: a.time(now), NextAttempt: a.time(now),
		Outcome: outcomes[a.below(len(outcomes))], SuspendedRuns: int32(a.below(2)),
		RestartRequest: []string{"", "r1", "r1"}[a.below(3)],
	}
	if a.below(2) == 0 {
		m.Cause = lifecycle.Cause{Reason: []string{lifecycle.ReasonEvicted, lifecycle.ReasonNodeLost,
			lifecycle.ReasonDriverDeleting, "ImagePullBackOff", "QuotaExceeded",
			lifecycle.ReasonSchedulingGated}[a.below(6)], Message: "m"}
	}

	if m.Phase.Live() {
		m.ShortSince = a.time(now)
	}
	return m
}

// queued reports whether a queue lets the launch wait, or an earlier request must be gone first.
func queued(seen lifecycle.Observed) bool {
	q := seen.Quota
	return q != nil && (q.Asked && q.Wait != nil || q.Finished)
}

// quota returns what a queue reports, or nil.
func (a generator) quota() *lifecycle.Quota {
	if a.below(2) > 0 {
		return nil
	}

	q := &lifecycle.Quota{Name: "w"}
	if a.below(4) > 0 {
		q.Requested, q.Attempt = true, int32(a.below(6))
		q.Reserved, q.Started, q.Finished = a.below(2) == 0, a.below(2) == 0, a.below(6) == 0
	}

	if q.Requested && a.below(3) == 0 {
		q.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
	}

	if q.Requested && a.below(2) == 0 {
		q.Asked = true
		if q.Evicted != nil || a.below(2) == 0 {
			q.Wait = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "waits"}
		}
	}
	return q
}

func (a generator) observed(now time.Time) lifecycle.Observed {
	phases := []lifecycle.DriverPhase{
		lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed,
		lifecycle.DriverUnknown,
	}

	seen := lifecycle.Observed{Confirmed: a.below(3) == 0}
	if seen.Confirmed {
		seen.PodsConfirmed, seen.CacheBehind = a.below(2) == 0, a.below(3) == 0
	}

	for range a.below(3) {
		attempt := int32(a.below(5))
		if seen.Driver(attempt) != nil {
			continue
		}

		seen.Drivers = append(seen.Drivers, lifecycle.Driver{
			Name: "d", Attempt: attempt, Phase: phases[a.below(5)], Ready: a.below(2) == 0, Deleting: a.below(5) == 0,
			CreatedAt:  a.time(now),
			Finalizers: []string{"f"}[a.below(2):], Lingering: []string{"", "proxy"}[a.below(2)],
			MissingObjects: int32(max(a.below(4)-2, 0)),
			Gated:          a.below(4) == 0, ScheduledAt: a.time(now), GoneBy: a.time(now), NodeLostSince: a.time(now),
			StartedAt: a.time(now), ReadyAt: a.time(now), EndedAt: a.time(now), Evicted: a.below(4) == 0,
			SpecHash: []string{"", "1:a", "1:b"}[a.below(3)],
		})
	}

	a.submitters(now, &seen)

	if a.below(3) == 0 {
		seen.ProbeResult = &lifecycle.Cause{Reason: []string{"", "QuotaExceeded", "Unschedulable"}[a.below(3)],
			Message: "e"}
	}

	for range a.below(6) {
		e := lifecycle.Executor{Name: "e", Attempt: int32(a.below(5)), Phase: phases[a.below(5)]}
		if a.below(40) == 0 {
			e.Attempt = math.MaxInt32 - int32(a.below(2)) // forged
		}

		e.CreatedAt = a.time(now)
		if a.below(2) == 0 {
			e.Why = lifecycle.Cause{Reason: []string{lifecycle.ReasonEvicted, "Unschedulable",
				"ImagePullBackOff", lifecycle.ReasonSchedulingGated}[a.below(4)], Message: "e"}
		}

		seen.Executors = append(seen.Executors, e)
	}

	for range a.below(2) {
		seen.RemainingAttempts = append(seen.RemainingAttempts, int32(1+a.below(4)))
		if a.below(2) == 0 {
			seen.Budgets = append(seen.Budgets, seen.RemainingAttempts[len(seen.RemainingAttempts)-1])
		}

		if a.below(3) == 0 {
			seen.Groups = append(seen.Groups, seen.RemainingAttempts[len(seen.RemainingAttempts)-1])
		}
	}

	if a.below(5) == 0 {
		seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "WebhookFailed",
			Message: "nobody answers"}, Since: now.Add(-time.Duration(a.below(200)) * time.Second)}
	}

	if a.below(5) == 0 {
		seen.Rejection = &lifecycle.Cause{Reason: []string{"Forbidden", lifecycle.ReasonQuota}[a.below(2)],
			Message: "no"}
	}
	return seen
}

// submitters adds submitter pods to the observation, and marks some drivers as created by a submitter.
func (a generator) submitters(now time.Time, seen *lifecycle.Observed) {
	phases := []lifecycle.DriverPhase{
		lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed,
		lifecycle.DriverUnknown,
	}
	for range a.below(3) {
		attempt := int32(a.below(5))
		if seen.Submitter(attempt) != nil {
			continue
		}

		seen.Submitters = append(seen.Submitters, lifecycle.Submitter{
			Name: "s", Attempt: attempt, Phase: phases[a.below(5)], Deleting: a.below(5) == 0, GoneBy: a.time(now),
			CreatedAt: a.time(now), EndedAt: a.time(now),
			SpecHash: []string{"", "1:a", "1:b"}[a.below(3)],
			Why:      lifecycle.Cause{Reason: []string{"", "Error", "ImagePullBackOff"}[a.below(3)]},
		})
	}

	for i := range seen.Drivers {
		if a.below(2) == 0 {
			seen.Drivers[i].Submitter, seen.Drivers[i].MissingConfigMap = "s", a.below(2) == 0
		}
	}

	if seen.Inspected = a.below(3) == 0; seen.Inspected {
		seen.Confirmed = true
	}
}

// decisionTime is the time of all decisions that randomDecisions makes.
var decisionTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// randomDecisions makes decisions about random situations, and passes each decision to check. Some of the situations
// cannot occur in reality.
func randomDecisions(decisions uint64,
	check func(lifecycle.App, lifecycle.Memory, lifecycle.Observed, lifecycle.Plan)) {
	for seed := range decisions {
		a := generator{rand.New(rand.NewPCG(seed, 11))}

		app, mem, seen := a.app(), a.memory(decisionTime), a.observed(decisionTime)
		if seed%2 == 1 {
			generator{rand.New(rand.NewPCG(seed, 13))}.addApacheSettings(decisionTime, &app, &mem, &seen)
		}

		seen.Quota = generator{rand.New(rand.NewPCG(seed, 19))}.quota()

		check(app, mem, seen, Step(app, mem, seen, decisionTime))
	}
}

// TestAnything checks decisions about random situations against the rules that every plan must keep. Some of the
// situations cannot occur in reality.
func TestAnything(t *testing.T) {
	const enough = 100000 // so many situations need every transition
	used, count := lives.Used{}, effort.Count(t, 25000)
	randomDecisions(uint64(count),
		func(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, plan lifecycle.Plan) {
			checkPlan(t, app, mem, seen, decisionTime, plan)
			used.Add(plan.Transitions)

			if len(plan.Transitions) >= maxMoves {
				t.Fatalf("the trail does not end: %v", plan.Transitions)
			}
		})

	if count < enough {
		return
	}

	for _, e := range Transitions {
		used.Holds(t, e.From, e.To, e.When)
	}
}

// TestClockWentBack checks decisions whose memory was stored by a clock that was hours ahead. No timer may be further
// ahead than the longest duration of the application: a retry and the deletion of an expired application came hours
// late, and a driver that had vanished in Launched was not read live for hours.
func TestClockWentBack(t *testing.T) {
	const ahead, longest = 20 * time.Hour, 10 * time.Minute // the generators use shorter durations

	for seed := range uint64(effort.Count(t, 10000)) {
		a := generator{rand.New(rand.NewPCG(seed, 23))}

		app, mem, seen := a.app(), a.memory(decisionTime.Add(ahead)), a.observed(decisionTime)
		if mem.Since.IsZero() {
			mem.Since = decisionTime.Add(ahead) // every stored phase has this time
		}

		if seed%2 == 1 {
			a.addApacheSettings(decisionTime, &app, &mem, &seen)
		}

		app.Restart.Max = max(app.Restart.Max, time.Second) // 0 means no limit

		plan := Step(app, mem, seen, decisionTime)
		if plan.RequeueAfter > longest || plan.Limit.At.After(decisionTime.Add(longest)) {
			t.Fatalf("seed %d: the next pass in %s is after %s, the limit is %+v; memory %+v", seed, mem.Phase, plan.RequeueAfter, plan.Limit, mem)
		}
	}
}

// TestTimersAfterTheClockWentBack checks that three timers last for their own duration, counted from the correction of
// the clock.
func TestTimersAfterTheClockWentBack(t *testing.T) {
	const ahead, wait = 20 * time.Hour, 40 * time.Second

	then := decisionTime.Add(ahead)
	memory := func(phase lifecycle.Phase) lifecycle.Memory {
		return lifecycle.Memory{Phase: phase, Since: then, Attempt: 1, AttemptID: "id", SpecHash: "1:a", Runs: 1, Submissions: 1, SubmittedAt: then}
	}
	ended := func(phase lifecycle.Phase) lifecycle.Memory {
		m := memory(phase)
		m.Outcome, m.EndedAt = lifecycle.Lost, then
		return m
	}

	retry := ended(lifecycle.Waiting)
	retry.NextAttempt = then.Add(wait)

	app := lifecycle.App{UID: "u", SpecHash: "1:a", MissingGrace: wait, TTL: new(wait), Restart: lifecycle.Restart{Policy: lifecycle.Always, FailureInterval: wait}}
	for name, mem := range map[string]lifecycle.Memory{
		"the retry": retry, "the live read of a missing driver": memory(lifecycle.Launched), "the expiry": ended(lifecycle.Done),
	} {
		plan := Step(app, mem, lifecycle.Observed{}, decisionTime)
		if plan.RequeueAfter != wait {
			t.Errorf("%s: the next pass is after %s, want %s", name, plan.RequeueAfter, wait)
		}

		if plan = Step(app, plan.Next, lifecycle.Observed{}, decisionTime.Add(wait)); len(plan.Actions) == 0 {
			t.Errorf("%s: nothing is requested after %s: %+v", name, wait, plan)
		}
	}
}

func inTable(from, to lifecycle.Phase) bool {
	return slices.ContainsFunc(Transitions, func(e Edge) bool { return e.To == to && slices.Contains(e.From, from) })
}
