package schedule

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// world is a simulated cluster with one schedule. It carries out plans as the controller does (docs/architecture.md),
// and injects every kind of trouble:
//
//   - Runs succeed, fail or stay active, and the cache is late.
//   - Calls fail before or after they took effect.
//   - The operator dies between any two calls.
//   - Users edit, suspend, request and delete.
//   - The operator's clock is set forward and back.
type world struct {
	lives.Life
	drift time.Duration // how far the operator's clock is ahead
	want  Schedule
	spec  int // index in specs

	earlier Schedule // the desired state before the last change

	stored Memory
	runs   []*run
	cache  []run
	made   map[string]int // number of created runs, by name
	full   bool           // a quota rejects more runs
	taken  string         // a run's name that another object uses
	faults bool
	users  bool
	held   time.Time
	counts map[string]int // of events, by kind
	asked  int
}

// run is an application that the schedule started.
type run struct {
	name     string
	made     time.Time
	outcome  lifecycle.Outcome
	deleting bool
}

var specs = []string{"* * * * *", "*/2 * * * *", "*/7 * * * *", "0,1,30 * * * *", "@every 45s", "@every 5m",
	"10 * * * *", "", "30 2 * * *"}

// dawn is the start of each simulation, an hour before the clock goes back in Vienna, the time zone of some schedules.
var dawn = time.Date(2026, 10, 25, 0, 0, 17, 0, time.UTC)

func newWorld(seed uint64) *world {
	w := &world{Life: lives.New(seed, 11, dawn), made: map[string]int{}, faults: true, users: true,
		counts: map[string]int{}}
	w.want = Schedule{Name: "etl", UID: fmt.Sprint("u", seed), Created: dawn, Generation: 1}
	w.edit()
	w.choose()
	w.configure()
	return w
}

// edit replaces the schedule by a random schedule, which may be invalid.
func (w *world) edit() {
	w.spec = w.IntN(len(specs))
	zone := []string{"", "Europe/Vienna"}[w.IntN(2)]
	w.want.Key, w.want.Invalid = Key(specs[w.spec], zone), nil

	var err error
	if w.want.Times, err = Parse(specs[w.spec], zone, time.LoadLocation); err != nil {
		w.want.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
}

// configure simulates an administrator who changes the operator's configuration and restarts the operator.
func (w *world) configure() { w.want.Precision = []Precision{"", Nanos, Seconds, Minutes}[w.IntN(4)] }

// choose sets random values for the fields of the spec that do not determine the ticks: the concurrency policy, the
// history limits, the deadline and the jitter.
func (w *world) choose() {
	w.want.Policy = []Policy{Allow, Forbid, Forbid, Replace}[w.IntN(4)]
	w.want.Successful, w.want.Failed = w.IntN(4), w.IntN(4)

	w.want.Deadline, w.want.Jitter = nil, 0
	if w.IntN(3) == 0 {
		w.want.Deadline = new(time.Duration(w.IntN(300)) * time.Second)
	}

	if w.IntN(3) == 0 {
		w.want.Jitter = time.Duration(w.IntN(200)) * time.Second
	}

	if w.IntN(8) == 0 {
		w.want.Deadline = new(forEver)
	}

	if w.IntN(12) == 0 {
		w.want.Jitter = forEver
	}
}

// forEver is the largest duration in whole seconds.
const forEver = math.MaxInt64 / time.Second * time.Second

func (w *world) now() time.Time { return w.Now.Add(w.drift) }

func (w *world) sync() { w.cache = lives.Copied(w.cache, w.runs) }

func factsOf(r run) lifecycle.Run {
	return lifecycle.Run{Name: r.name, UID: r.name, CreatedAt: r.made.Truncate(time.Second), Deleting: r.deleting,
		Outcome: r.outcome}
}

func (w *world) observed() (seen lifecycle.Observed) {
	for _, r := range w.cache {
		seen.Runs = append(seen.Runs, factsOf(r))
	}
	return seen
}

// tick advances the time. Runs, users and the rest of the cluster act during this time, but not the operator.
func (w *world) tick() {
	w.Now = w.Now.Add(time.Duration(1+w.IntN(40)) * time.Second)
	if w.users && w.Chance(0.01) {
		w.Now = w.Now.Add(time.Duration(w.IntN(7200)) * time.Second) // no pass for long: the operator is down
		w.sync()
		w.Due = w.Now
	}

	for _, r := range slices.Clone(w.runs) {
		switch {
		case r.deleting && w.Chance(0.4):
			w.runs = slices.DeleteFunc(w.runs, func(q *run) bool { return q == r })
		case r.deleting:
		case r.outcome == lifecycle.Undecided && w.Chance(0.1):
			r.outcome = []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Failed}[w.IntN(2)]
			w.Tell("run %s: %s", r.name, r.outcome)
		}
	}

	if w.users {
		w.user()
	}

	if w.faults && w.Chance(0.03) {
		w.full = !w.full
		w.Tell("quota full: %v", w.full)
	}

	if w.Chance(0.6) {
		w.sync()
	}
}

// user simulates the owner of the schedule, and changes of the clock of the operator's machine.
func (w *world) user() {
	switch {
	case w.Chance(0.01):
		w.want.Suspend = !w.want.Suspend
		w.want.Generation++
		w.Tell("user: suspend=%v", w.want.Suspend)
	case w.Chance(0.01):
		w.edit()
		w.want.Generation++
		w.Tell("user: schedule %q", w.want.Key)
	case w.Chance(0.01):
		w.choose()
		w.want.Generation++
		w.Tell("user: %s, %d and %d kept, deadline %v, jitter %v", w.want.Policy, w.want.Successful, w.want.Failed,
			w.want.Deadline, w.want.Jitter)
	case w.Chance(0.02):
		w.asked++

		w.want.Request = strconv.Itoa(w.asked)
		if w.taken = ""; w.Chance(0.3) {
			w.taken = RequestName("etl", w.want.UID, w.want.Request)
		}

		w.Tell("user: run now, %s, taken: %q", w.want.Request, w.taken)
	case w.asked > 0 && w.Chance(0.005):
		before := w.want.Request
		// The request was withdrawn, or has an earlier value.
		if w.want.Request = []string{"", strconv.Itoa(w.IntN(w.asked + 1))}[w.IntN(2)]; w.want.Request == before {
			break
		}

		w.made[RequestName("etl", w.want.UID, w.want.Request)], w.taken = 0, ""
		w.Tell("user: run now, %q", w.want.Request)
	case w.Chance(0.02):
		for _, r := range w.runs {
			// A run that is deleted before the status write can be started again. This case is documented and is not a
			// breach, so the simulation leaves it out.
			if w.writtenDown(r.name) && !w.now().Before(TickOf("etl", r.name)) && w.Chance(0.5) {
				w.Tell("user: deletes run %s", r.name)
				r.deleting = true
			}
		}
	case w.faults && w.Chance(0.005):
		w.drift = time.Duration(w.IntN(7200)-3600) * time.Second
		w.Tell("clock: %s off", w.drift)
	}
}

func (w *world) writtenDown(name string) bool {
	if tick := TickOf("etl", name); !tick.IsZero() {
		return !tick.After(w.stored.LastTick)
	}
	return w.want.Request == w.stored.LastRequest || name != RequestName("etl", w.want.UID, w.want.Request)
}

// injectError simulates a failed call at random, which ends the pass. The given text describes the place of the call.
func (w *world) injectError(where string) {
	often := 0.04
	if !w.held.IsZero() {
		often = 0.4
	}

	if w.faults && w.Chance(often) {
		lives.CutShort(where)
	}
}

// pass simulates one pass of the operator. It returns the maximum time until the next pass.
func (w *world) pass() (check time.Duration) {
	crash := lives.Caught(func() { check = w.reconcile() })
	if crash == nil {
		return check
	}

	w.Tell("pass cut short: %s", crash.Where)

	if w.Chance(0.3) {
		if w.sync(); w.Chance(0.1) { // a new process lists everything
			w.configure()
		}

		w.held = time.Time{}
	}
	return time.Second
}

func (w *world) reconcile() (check time.Duration) {
	w.Passes++

	seen := w.observed()
	for range 5 {
		plan := Step(w.want, w.stored, seen, w.now())
		w.checkShape(plan, seen)

		fact, failed := w.attempt(plan, seen)
		switch {
		case failed != nil && seen.TransientError == nil:
			if w.held.IsZero() {
				w.held = w.Now
			}

			if w.Now.Sub(w.held) < 3*time.Second {
				panic(*failed)
			}

			seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "ServerError",
				Message: failed.Where}, Since: w.held}
			seen.Confirmed = false
		case failed != nil:
			panic(*failed)
		case fact != nil:
			fact(&seen)
		case w.conflict(plan):
			return time.Second
		default:
			w.record(plan)

			if seen.TransientError == nil {
				w.held = time.Time{}
			}
			return plan.RequeueAfter
		}
	}

	w.Fail("the pass does not end after 5 decisions")
	return 0
}

// attempt carries out a plan. If the pass must decide again, the first result is a function that adds the new
// information (the result of a live read, or a rejection) to the observation. If a call failed and the operator
// survived, which is the usual case, the second result describes the failure.
func (w *world) attempt(plan Plan, seen lifecycle.Observed) (fact func(*lifecycle.Observed), failed *lives.Crash) {
	failed = lives.Caught(func() { fact = w.apply(plan, seen) })
	if failed != nil && w.Chance(0.3) {
		panic(*failed)
	}
	return fact, failed
}

func (w *world) apply(plan Plan, seen lifecycle.Observed) (fact func(*lifecycle.Observed)) {
	for _, a := range plan.Actions {
		w.injectError("before an action")

		switch a.Verb {
		case lifecycle.Create:
			fact = w.create(a.Name)
		case lifecycle.Confirm:
			fact = w.confirm(a.Name, seen)
		case lifecycle.Delete:
			for _, r := range w.runs {
				if r.name == a.Name {
					w.deleted(r)
				}
			}
		}

		if fact != nil {
			return fact
		}

		w.injectError("after an action")
	}
	return nil
}

// deleted marks a run as deleted. It checks that the run was stored before, and that the memory contains the reason of
// the deletion: either the end of the run was reported, or the run is being replaced.
func (w *world) deleted(r *run) {
	w.Tell("do Delete %s (%s)", r.name, r.outcome)

	r.deleting = true
	if !w.writtenDown(r.name) {
		w.Fail("run %s is deleted before it was stored", r.name)
	}

	reported := slices.Contains(w.stored.Succeeded, r.name) || slices.Contains(w.stored.Failed, r.name)
	if !reported && w.stored.Cause.Reason != ReasonReplacing {
		w.Fail("run %s (%s) is deleted, and the memory does not contain the reason", r.name, r.outcome)
	}

	if !reported && w.want.Policy != Replace {
		w.Fail("run %s (%s) is deleted under %s, and its end was not reported", r.name, r.outcome, w.want.Policy)
	}
}

// create simulates the creation of a run by the API server, and checks the invariants of the schedule. If the API
// server rejects the run, the result is a function that adds the rejection to the observation, after which the pass
// decides again. Otherwise it is nil.
func (w *world) create(name string) func(*lifecycle.Observed) {
	w.Tell("do Create %s", name)

	if w.full {
		return func(o *lifecycle.Observed) { o.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "quota"} }
	}

	if name == w.taken {
		w.counts["taken"]++
		return func(o *lifecycle.Observed) { o.Rejection = &lifecycle.Cause{Reason: "NameTaken", Message: "another's"} }
	}

	if slices.ContainsFunc(w.runs, func(r *run) bool { return r.name == name }) {
		w.counts["found"]++
		return nil
	}

	if w.made[name]++; w.made[name] > 1 {
		w.Fail("run %s is started twice", name)
	}

	if w.want.Policy != Allow {
		for _, r := range w.runs {
			if r.outcome == lifecycle.Undecided {
				w.Fail("run %s is started under %s while %s is active", name, w.want.Policy, r.name)
			}
		}
	}

	tick := TickOf("etl", name)
	switch {
	case tick.IsZero() && name != RequestName("etl", w.want.UID, w.want.Request):
		w.Fail("run %s was not requested", name)
	case !tick.IsZero() && w.want.Suspend:
		w.Fail("run %s is started while suspended", name)
	case !tick.IsZero() && tick.After(w.now()):
		w.Fail("run %s is started before its time", name)
	case !tick.IsZero() && w.want.Deadline != nil && *w.want.Deadline != forEver && w.want.Jitter != forEver &&
		w.now().Sub(tick) >= *w.want.Deadline+w.want.Jitter+time.Second:
		w.Fail("run %s is started past its deadline", name)
	case w.want.Invalid != nil:
		w.Fail("run %s is started although the spec is invalid", name)
	}
	w.counts["started"]++
	w.runs = append(w.runs, &run{name: name, made: w.Now})
	return nil
}

func (w *world) confirm(name string, seen lifecycle.Observed) func(*lifecycle.Observed) {
	w.counts["confirmed"]++
	if seen.Confirmed {
		w.Fail("a second live read in one pass")
	}
	var found []lifecycle.Run

	there := name == ""
	for _, r := range w.runs {
		if known := slices.ContainsFunc(seen.Runs, func(k lifecycle.Run) bool { return k.Name == r.name }); !known {
			found, there = append(found, factsOf(*r)), there || name == r.name
		}
	}

	if !there {
		found = nil // the read covered only that run
	}
	return func(o *lifecycle.Observed) { o.Runs, o.Confirmed = append(o.Runs, found...), true }
}

// checkShape checks the rules that every plan must keep for the controller. It creates at most one run, a live read is
// its only action, and it requests the next pass within maxRequeue.
func (w *world) checkShape(plan Plan, seen lifecycle.Observed) {
	creates := 0
	for i, a := range plan.Actions {
		if a.Part != lifecycle.ScheduledRun || seen.TransientError != nil {
			w.Fail("%v during a transient error %v", a, seen.TransientError)
		}

		if a.Verb == lifecycle.Create {
			creates++
		}

		if a.Verb == lifecycle.Confirm && (i > 0 || len(plan.Actions) > 1) {
			w.Fail("a plan with a live read has other actions: %v", plan.Actions)
		}

		if seen.Rejection != nil && a.Verb == lifecycle.Create {
			w.Fail("a rejected run is created again at once: %v", plan.Actions)
		}
	}

	if creates > 1 {
		w.Fail("%d runs at once", creates)
	}

	if plan.RequeueAfter < 0 || plan.RequeueAfter > maxRequeue {
		w.Fail("requeue after %s", plan.RequeueAfter)
	}
}

// conflict simulates a status write that the API server rejects, because a user changed the schedule after the pass had
// read it and acted. In about half of the cases the user restores the earlier schedule. The result reports whether the
// write was rejected.
func (w *world) conflict(plan Plan) bool {
	if !w.users || reflect.DeepEqual(w.stored, plan.Next) || !w.Chance(0.2) {
		return false
	}

	before := w.want
	if w.Chance(0.5) && w.earlier.UID != "" && w.earlier.Request == w.want.Request {
		w.want = w.earlier
		w.want.Generation, w.want.Precision = before.Generation+1, before.Precision
		w.Tell("user: reverts the last change: %q, %s, suspend=%v", w.want.Key, w.want.Policy, w.want.Suspend)
	} else {
		w.user()
	}

	if reflect.DeepEqual(before, w.want) {
		return false
	}

	w.earlier = before
	w.counts["conflict"]++
	w.Tell("the status write conflicts with a change of the schedule")
	return true
}

// record simulates the status write.
func (w *world) record(plan Plan) {
	w.injectError("before the status write")
	w.checkTicks(plan)

	w.stored = plan.Next
	for _, n := range plan.Notices {
		w.counts[n.Cause.Reason]++
		w.Tell("reported: %s %s %s", n.Cause.Reason, n.Name, n.Cause.Message)
	}

	w.injectError("after the status write")
}

// checkTicks checks that the last tick in the memory never decreases, and that every tick between the old and the new
// last tick was started or reported.
func (w *world) checkTicks(plan Plan) {
	before, after := w.stored, plan.Next
	if after.LastTick.Before(before.LastTick) || after.Since.Before(before.Since) && !before.Since.After(w.now()) &&
		before.Key == after.Key {
		w.Fail("the last tick goes back from %s to %s", before.LastTick, after.LastTick)
	}

	base := after.Since
	if before.LastTick.After(base) {
		base = before.LastTick
	}

	if w.want.Times == nil || !after.LastTick.After(base) {
		return
	}

	has := func(reason string) bool {
		return slices.ContainsFunc(plan.Notices, func(n lifecycle.Notice) bool { return n.Cause.Reason == reason })
	}
	for tick := w.want.Times.Next(after.Since, base); !tick.After(after.LastTick) &&
		!tick.IsZero(); tick = w.want.Times.Next(after.Since, tick) {
		started := false
		for _, p := range []Precision{Nanos, Seconds, Minutes} {
			started = started || w.made[RunName("etl", tick, p)] > 0
		}
		// After an edit, a run may belong to no tick of this schedule. It then counts for the latest tick before it,
		// like the run of another operator (adopt).
		next := w.want.Times.Next(after.Since, tick)

		started = started || tick.Before(after.LastTick) && (next.IsZero() || next.After(after.LastTick)) &&
			w.made[after.LastRunName] > 0 &&
			TickOf("etl", after.LastRunName).Equal(after.LastTick)
		if skipped := tick.Equal(after.LastTick) && has(ReasonSkipped); !started && !skipped && !has(ReasonMissed) {
			w.Fail("the tick %s is neither started nor reported", tick)
		}
	}
}

// turn advances the time. It runs a pass if the observed state changed or the requested time has come, and reports
// whether a pass ran.
func (w *world) turn(sync bool) bool {
	want, before := w.want, w.observed()
	w.tick()

	if sync {
		w.sync()
	}

	if w.Waits() && reflect.DeepEqual(want, w.want) && reflect.DeepEqual(before, w.observed()) {
		return false
	}
	// The operator runs a pass at the requested time, not at the end of the turn.
	w.Wake(w.pass())
	return true
}

// live plays one life cycle of a schedule. The first part has trouble (errors, edits, changes of the clock), the second
// part has none. In the second part, everything must match the spec.
func (w *world) live() {
	w.Due = w.Now
	for range 300 {
		if w.turn(false); w.Breach != "" {
			return
		}
	}

	w.faults, w.users, w.full, w.drift = false, false, false, 0
	w.sync()

	w.Due = w.Now
	for n := range 200 {
		w.turn(true)

		if w.Breach != "" {
			return
		}

		if n > 20 {
			w.checkPeace()
		}
	}
}

// checkPeace checks the state that the schedule must reach after the last simulated fault. No more runs than allowed
// are kept, the schedule does not wait without a reason, and no request and no tick is forgotten.
func (w *world) checkPeace() {
	limits := map[lifecycle.Outcome]int{lifecycle.Succeeded: w.want.Successful, lifecycle.Failed: w.want.Failed}

	ended := map[lifecycle.Outcome]int{}
	for _, r := range w.runs {
		// Other runs are kept until the clock, which went back, reaches their tick again.
		if !r.deleting && w.writtenDown(r.name) {
			ended[r.outcome]++
		}
	}

	for outcome, limit := range limits {
		if ended[outcome] > limit && w.Due.Sub(w.Now) > time.Minute {
			w.Fail("%d %s runs are kept, the limit is %d", ended[outcome], outcome, limit)
		}
	}

	waits := w.stored.Cause.Reason == ReasonWaiting || w.stored.Cause.Reason == ReasonReplacing

	active := slices.ContainsFunc(w.runs, func(r *run) bool { return r.outcome == lifecycle.Undecided })
	if waits && !active && w.Due.Sub(w.Now) > time.Minute {
		w.Fail("the schedule waits for other runs although none is active: %+v", w.stored.Cause)
	}

	if w.want.Invalid != nil || waits || !w.Due.IsZero() && w.Due.Sub(w.Now) < time.Second {
		return
	}

	waiting := w.want.Request != w.stored.LastRequest && w.want.Request != ""
	if waiting && w.taken == "" {
		w.Fail("request %q is not honored; the last was %q", w.want.Request, w.stored.LastRequest)
	}

	if w.want.Suspend || w.stored.LastTick.After(w.now()) {
		return
	}
	// A turn lasts at most 40 s, and a pass runs at its end.
	base := w.stored.Since
	if w.stored.LastTick.After(base) {
		base = w.stored.LastTick
	}

	if tick := w.want.Times.Next(w.stored.Since, base); w.want.Jitter != forEver &&
		w.now().Sub(tick) > w.want.Jitter+2*time.Minute {
		w.Fail("the tick %s has been due for %s, and is neither started nor reported: %+v", tick, w.now().Sub(tick),
			w.stored)
	}
}

// TestLives plays many life cycles. If one breaks an invariant, the test prints its seed and its story.
func TestLives(t *testing.T) {
	counts := map[string]int{}
	lives.Play(t, 75, func(seed uint64) *lives.Life {
		w := newWorld(seed)
		w.live()

		for what, n := range w.counts {
			counts[what] += n
		}
		return &w.Life
	})
	lives.CameTo(t, counts, "started", "found", "confirmed", "taken", ReasonHonored, ReasonDropped, ReasonCompleted,
		ReasonFailed, ReasonReplaced, ReasonWaiting, ReasonMissed,
		ReasonSkipped, ReasonRefused, ReasonEdited, ReasonValid, ReasonSuspended, ReasonResumed, ReasonClock,
		lifecycle.ReasonInvalid)
}
