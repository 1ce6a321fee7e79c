package application

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// ledger computes the states, restarts and intervals that a simulated application of spark.apache.org should have. It
// follows the rules of that API, and reads only stored states.
type ledger struct {
	states projection
	begun  time.Time // the launch of the current attempt
	ended  time.Time // zero while the attempt runs
	how    lifecycle.Outcome
	failed bool // the attempt has ended, and no restart was counted for it yet
	counts [3]int64
	due    time.Time // when the next attempt may be launched
	// lacks records since when too few executors were observed, for each phase that expresses such a shortage.
	lacks map[lifecycle.Phase]time.Time
	// hasty is the last time at which a phase that expresses a shortage was entered although the shortage had not
	// lasted for shortageGrace.
	hasty time.Time
	stops int // drivers that ended successfully just after their executors
	// reached is the largest number of running executors that a pass observed, by attempt.
	reached map[int32]int32
	readyAt time.Time // of the driver, as the last pass observed it
}

// newSecondWorld returns a world with an application of spark.apache.org.
func newSecondWorld(seed uint64) *world {
	w := newWorld(seed)
	w.second = &ledger{lacks: map[lifecycle.Phase]time.Time{}, reached: map[int32]int32{}}
	r := rand.New(rand.NewPCG(seed, 17))
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
	w.app.SpecHash, w.app.Suspend, w.app.EnterMissedPhases = "", false, true

	w.app.Deadlines = lifecycle.Deadlines{DriverStart: 60 * time.Second, DriverReady: seconds(60),
		ExecutorsStart: seconds(90), RestartAtScaling: r.IntN(2) == 0}
	if r.IntN(4) == 0 {
		w.app.Deadlines.Run = seconds(600)
	}

	if r.IntN(2) == 0 {
		w.app.ForceAfter = 30*time.Second + seconds(60)
	}

	w.app.CleanupInterval = seconds(4)
	if r.IntN(4) == 0 {
		w.app.TTL = new(seconds(100))
	}

	w.chooseSettings(r)
	return w
}

// chooseSettings sets random values for the settings that the owner of the application may change at any time.
func (w *world) chooseSettings(r *rand.Rand) {
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }
	maybe := func(n int) *time.Duration {
		if r.IntN(2) == 0 {
			return nil
		}
		return new(seconds(n))
	}
	limit := func() *int64 {
		if r.IntN(2) == 0 {
			return nil
		}
		return new(int64(r.IntN(4)))
	}
	w.app.Thresholds = &lifecycle.Thresholds{Init: int32(r.IntN(3)), Min: int32(r.IntN(3)), Max: int32(r.IntN(4)),
		Dynamic: r.IntN(2) == 0}
	w.app.InitialExecutors, w.app.MinExecutors = w.app.Thresholds.Init, w.app.Thresholds.Min
	w.app.Retain = lifecycle.Retention{
		Policy: []lifecycle.RetainPolicy{lifecycle.RetainAlways, lifecycle.RetainNever,
			lifecycle.RetainOnFailure}[r.IntN(3)], For: maybe(200),
	}
	w.app.Restart = lifecycle.Restart{
		Policy: []lifecycle.RestartPolicy{lifecycle.Never, lifecycle.OnFailure, lifecycle.OnInfrastructureFailure,
			lifecycle.Always}[r.IntN(4)],
		Limits: &lifecycle.RestartLimits{
			MaxRestarts: int64(r.IntN(6)), MaxFailures: limit(), MaxRejections: limit(), Backoff: seconds(30),
			FailureBackoff: maybe(30), RejectionBackoff: maybe(30),
			ResetAfter: maybe(200),
		},
	}
}

// stop begins the normal end of a driver. Its executors exit at once, and Spark deletes some of their pods. The driver
// exits 0.1 s later.
func (w *world) stop(p *pod) {
	p.stopping = true
	for _, q := range slices.Clone(w.pods) {
		if q.driver || q.submits || q.attempt != p.attempt || q.phase != lifecycle.DriverRunning {
			continue
		}

		if q.phase, q.ended = lifecycle.DriverSucceeded, w.Now; w.Chance(0.5) {
			w.remove(q)
		}
	}

	w.Tell("the executors of attempt %d have stopped, and its driver stops", p.attempt)
}

// finishStop ends a driver whose executors have exited, 0.1 s after them. It reports whether there was such a driver.
func (w *world) finishStop() bool {
	for _, p := range w.pods {
		if !p.stopping || p.phase != lifecycle.DriverRunning {
			continue
		}

		w.Now = w.Now.Add(100 * time.Millisecond)
		p.stopping, p.phase, p.ended = false, lifecycle.DriverSucceeded, w.Now

		w.second.stops++
		if w.Chance(0.6) {
			w.sync()
		}
		return true
	}
	return false
}

// recordShortages records, for each threshold, since when the observed number of executors has been below the
// threshold.
func (l *ledger) recordShortages(w *world, seen lifecycle.Observed) {
	running, t := int32(0), w.app.Thresholds
	for i := range seen.Executors {
		if e := &seen.Executors[i]; e.Attempt == w.stored.Attempt && e.Phase == lifecycle.DriverRunning {
			running++
		}
	}

	now := map[int32]int32{}
	for _, e := range seen.Executors {
		if e.Phase == lifecycle.DriverRunning {
			now[e.Attempt]++
			l.reached[e.Attempt] = max(l.reached[e.Attempt], now[e.Attempt])
		}
	}

	if d := seen.Driver(w.stored.Attempt); d != nil {
		l.readyAt = d.ReadyAt
	}

	for phase, lack := range map[lifecycle.Phase]bool{lifecycle.Below: running < t.Min, lifecycle.Partial: !t.Dynamic &&
		running < t.Max} {
		if since, known := l.lacks[phase]; !lack {
			delete(l.lacks, phase)
		} else if !known || since.After(w.Now) {
			l.lacks[phase] = w.Now
		}
	}
}

// checkStart checks that an application without initial executors is short of executors only if enough of them ran
// before, or had the time to start.
func (l *ledger) checkStart(w *world, plan lifecycle.Plan) {
	t, limit := w.app.Thresholds, w.app.Deadlines.ExecutorsStart
	for _, tr := range plan.Transitions {
		wanted := map[lifecycle.Phase]int32{lifecycle.Below: t.Min, lifecycle.Partial: t.Max}[tr.To]
		if t.Init > 0 || tr.From == lifecycle.Unknown || l.reached[tr.Attempt] >= wanted {
			continue
		}

		if limit <= 0 || w.Now.Before(l.readyAt.Add(limit)) {
			w.Fail("%s, although at most %d of %d executors ran, %s after the driver was ready", tr.To, l.reached[tr.Attempt], wanted, w.Now.Sub(l.readyAt))
		}
	}
}

// checkEnd checks a run that ends successfully. In its last second, such a run must not enter a phase because of a
// shortage of executors, unless the shortage had lasted for shortageGrace. A plan that observes the end of the driver
// must not enter such a phase at all.
func (l *ledger) checkEnd(w *world, plan lifecycle.Plan) {
	unseen := false // whether this plan entered a phase because of a shortage
	for _, tr := range plan.Transitions {
		switch {
		case tr.To == lifecycle.Below || tr.To == lifecycle.Partial && tr.From != lifecycle.Below:
			unseen = true

			if since := l.lacks[tr.To]; tr.From.Runs() && tr.At.Sub(since) < shortageGrace {
				l.hasty = tr.At
			}
		case tr.To == lifecycle.Ended && tr.Outcome == lifecycle.Succeeded &&
			(unseen || w.endOf(tr.Attempt).Sub(l.hasty) < time.Second):
			w.Fail("attempt %d succeeded shortly after a reported shortage of executors: %v", tr.Attempt,
				l.states.states)
		}
	}
}

// endOf returns the time at which the driver of an attempt ended, or the current time if the driver does not exist.
func (w *world) endOf(attempt int32) time.Time {
	for _, p := range w.pods {
		if p.driver && p.attempt == attempt {
			return p.ended
		}
	}
	return w.Now
}

// tenant simulates the owner of the application, who edits or deletes the application or deletes its driver. Some edits
// apply at once, others only to the next attempt.
func (w *world) tenant() {
	switch {
	case w.Chance(0.02):
		w.chooseSettings(w.Rand)
		w.edits++
		w.Tell("tenant: %+v %+v, retain %+v, restart %s %s", *w.app.Thresholds, w.app.Deadlines, w.app.Retain,
			w.app.Restart.Policy, counted(w.app.Restart.Limits))
	case w.Chance(0.01):
		w.app.Budget = !w.app.Budget
	case w.Chance(0.02):
		for _, p := range w.pods {
			if p.driver && p.attempt <= w.stored.Attempt { // see the method user
				p.deleting, w.lost = true, true
				w.Tell("tenant: deletes driver of attempt %d", p.attempt)
			}
		}
	case w.Chance(0.005) && !w.app.Deleting:
		w.app.Deleting, w.app.DeletedAt = true, w.Now
		w.Tell("tenant: deletes the application")
	}
}

func counted(c *lifecycle.RestartLimits) string {
	show := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("most %d/%s/%s", c.MaxRestarts, show(c.MaxFailures), show(c.MaxRejections))
}

// enter updates the ledger with the phases that a plan entered, and compares the plan with the ledger.
func (l *ledger) enter(w *world, plan lifecycle.Plan, seen lifecycle.Observed) {
	l.states.restarts = w.requests > 0

	suspended := slices.Contains([]lifecycle.Phase{lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming}, l.states.last)
	if restartRequested(plan) && !suspended && !slices.ContainsFunc(plan.Transitions, isRestart) {
		l.restart(w)
	}

	for i, tr := range plan.Transitions {
		launch := !slices.ContainsFunc(plan.Transitions[i+1:],
			func(next lifecycle.Transition) bool { return next.To == lifecycle.Launched })
		last := !slices.ContainsFunc(plan.Transitions[i+1:], func(next lifecycle.Transition) bool {
			return next.To == lifecycle.Launched || next.To == lifecycle.Ended
		})
		before := l.states.last
		l.states.enter(tr)

		switch tr.To {
		case lifecycle.Resuming:
			l.counts[2] = 0
		case lifecycle.Launched:
			if tr.From == lifecycle.Unknown {
				break // the node is back
			}

			l.launched(w, tr, before, seen)

			if launch {
				l.begun = plan.Next.SubmittedAt
			}
		case lifecycle.Ended:
			if !before.Live() && before != lifecycle.Suspending {
				l.begun = tr.At // the submission was rejected, so there was no launch
			}

			l.how, l.failed, l.ended = tr.Outcome, true, tr.At
			if last {
				l.ended = plan.Next.EndedAt
			}
		case lifecycle.Waiting:
			if isRestart(tr) {
				l.restart(w)
				continue
			}

			l.checkRestart(w, tr, before, true)
			l.count(w)
			l.due = l.ended.Add(backoff(w.app.Restart.Limits, l.how))
		case lifecycle.Retained, lifecycle.Done:
			l.checkRestart(w, tr, before, false)
		}
	}

	if got := plan.Next.Restarts; got != (lifecycle.Restarts{Total: l.counts[0], Failures: l.counts[1],
		Rejections: l.counts[2]}) {
		w.Fail("restarts are %+v, the ledger has %v", got, l.counts)
	}

	if m := plan.Next; m.Phase == lifecycle.Waiting && !m.NextAttempt.IsZero() && !m.NextAttempt.Equal(l.due) {
		w.Fail("the next attempt is due at %s, in the ledger at %s", m.NextAttempt, l.due)
	}
	// If the restart policy is changed and changed back between a launch that was not stored and the next pass, a
	// finished application continues. That is better than a live read before each end.
	back := func(pair []string) bool {
		return w.edits > 0 && pair[0] == "ResourceReleased" && pair[1] == "DriverRequested"
	}
	if pair := l.states.forbiddenPair(); pair != nil && !back(pair) {
		w.Fail("%s follows %s: %v", pair[1], pair[0], l.states.states)
	}

	w.checkPhasesEntered(plan)
	l.checkEnd(w, plan)
}

// launched updates the ledger when the phase Launched is entered. If a status write failed, the ledger does not contain
// the restart that led to this launch yet. In that case the method counts the restart. After the phase Waiting, it
// checks that the restart interval has passed, unless the plan continues an earlier launch, whose pod it observed. That
// launch may have answered a restart request, of which the ledger knows nothing because the request was not stored.
func (l *ledger) launched(w *world, tr lifecycle.Transition, before lifecycle.Phase, seen lifecycle.Observed) {
	switch {
	case before.Live():
		l.how, l.begun, l.ended = lifecycle.Lost, w.Now, time.Time{}
		l.count(w)
	case before == lifecycle.Ended && l.failed:
		l.count(w)
	case before == lifecycle.Suspending, before == lifecycle.Suspended:
		l.counts[2] = 0 // the resume was not stored
	case before == lifecycle.Waiting && tr.At.Before(l.due) && seen.Driver(tr.Attempt) == nil && seen.Submitter(tr.Attempt) == nil &&
		!slices.ContainsFunc(seen.Executors, func(e lifecycle.Executor) bool { return e.Attempt == tr.Attempt }):
		w.Fail("launched %s before the end of the interval", l.due.Sub(tr.At))
	}

	l.failed = false
}

// count updates the counts of restarts for the next attempt, by the rules of the Apache operator.
func (l *ledger) count(w *world) {
	rule := w.app.Restart.Limits
	failure, refusal := l.how != lifecycle.Succeeded, l.how == lifecycle.Refused

	next := [3]int64{l.counts[0] + 1, 0, 0}
	if failure {
		next[1] = l.counts[1] + 1
	}

	if refusal {
		next[2] = l.counts[2] + 1
	}

	if rule.ResetAfter != nil && !l.ended.IsZero() && l.ended.Sub(l.begun) >= *rule.ResetAfter {
		next = [3]int64{1, 0, 0}
	}

	l.counts, l.failed = next, false
}

// checkRestart checks a decision against the restart policy and its limits, by the rules of the Apache operator. The
// parameter `retry` reports whether the decision allows another attempt.
func (l *ledger) checkRestart(w *world, tr lifecycle.Transition, previous lifecycle.Phase, retry bool) {
	if previous == lifecycle.Retained {
		return
	}

	rule := w.app.Restart
	wanted := map[lifecycle.RestartPolicy]bool{
		lifecycle.Always: true, lifecycle.OnFailure: l.how != lifecycle.Succeeded,
		lifecycle.OnInfrastructureFailure: l.how == lifecycle.Refused || l.how == lifecycle.StartTimedOut ||
			l.how == lifecycle.ExecutorsTimedOut,
	}[rule.Policy]

	before := *l
	if previous == lifecycle.Ended {
		l.count(w)
	}

	next := l.counts
	if previous == lifecycle.Ended {
		*l = before
	}

	limited := next[0] > rule.Limits.MaxRestarts
	switch {
	case limited:
	case l.how == lifecycle.Refused && rule.Limits.MaxRejections != nil:
		limited = next[2] > *rule.Limits.MaxRejections
	case l.how != lifecycle.Succeeded && rule.Limits.MaxFailures != nil:
		limited = next[1] > *rule.Limits.MaxFailures
	}

	interrupted := tr.Cause.Reason == lifecycle.ReasonInterrupted // retried once, whatever the policy
	if want := wanted && !limited; retry != want && !interrupted {
		w.Fail("%s after %s with %v of %s: retry %v", rule.Policy, l.how, next, counted(rule.Limits), retry)
	}

	if says := tr.Cause.Reason == lifecycle.ReasonRestartsExhausted; says != (wanted && limited && !retry) &&
		!interrupted {
		w.Fail("exhausted: %v, by %+v", wanted && limited, tr.Cause)
	}
}

// backoff returns the interval before the next attempt, by the rules of the Apache operator.
func backoff(c *lifecycle.RestartLimits, how lifecycle.Outcome) time.Duration {
	byKind := []*time.Duration{c.RejectionBackoff, c.FailureBackoff, &c.Backoff}
	switch how {
	case lifecycle.Refused:
	case lifecycle.Succeeded:
		byKind = byKind[2:]
	default:
		byKind = byKind[1:]
	}

	for _, d := range byKind {
		if d != nil {
			return max(*d, minDelay)
		}
	}
	return 0
}

// checkPhasesEntered checks that a successful driver entered all phases that do not depend on executors.
func (w *world) checkPhasesEntered(plan lifecycle.Plan) {
	for i, tr := range plan.Transitions {
		if tr.To != lifecycle.Ended || tr.Outcome != lifecycle.Succeeded {
			continue
		}

		before := tr.From
		if i == 0 && before == lifecycle.Unknown {
			continue // the state does not change on a lost node
		}

		if before == lifecycle.Suspending {
			continue // the driver ended before the suspension stopped it
		}

		if init := w.app.Thresholds.Init; !before.Runs() && (init == 0 || rank[before] < rank[lifecycle.Ready]) {
			w.Fail("succeeded from %s, with %d executors to wait for", before, init)
		}
	}
}

// checkDeadlines checks that the application has not exceeded the time limit of its phase.
func (w *world) checkDeadlines() {
	m, limits := w.stored, w.app.Deadlines

	var d *pod

	gated, ungated := false, m.UngatedAt
	for _, p := range w.pods {
		switch {
		case p.attempt != m.Attempt:
		case p.driver:
			d = p
		default: // an executor
			gated, ungated = gated || p.gated && p.phase == lifecycle.DriverPending, lifecycle.Latest(ungated, p.ungated)
		}
	}

	late := func(what string, from time.Time, limit time.Duration) {
		if limit > 0 && w.Now.Sub(from) >= limit {
			w.Fail("in %s for %s, with a limit of %s (%s)", m.Phase, w.Now.Sub(from), limit, what)
		}
	}
	switch {
	case m.Phase == lifecycle.Launched && d != nil && d.gated:
	case m.Phase == lifecycle.Launched:
		late("start", lifecycle.Latest(m.SubmittedAt, m.UngatedAt), limits.DriverStart)
	case m.Phase == lifecycle.Started && d != nil:
		late("ready", d.began, limits.DriverReady)
	case (m.Phase == lifecycle.Ready || m.Phase == lifecycle.Scaling) && gated:
	case m.Phase == lifecycle.Scaling && limits.RestartAtScaling:
		late("executors, anew", lifecycle.Latest(m.Since, ungated), limits.ExecutorsStart)
	case m.Phase == lifecycle.Ready && d != nil, m.Phase == lifecycle.Scaling && d != nil:
		late("executors", lifecycle.Latest(d.began, ungated), limits.ExecutorsStart)
	case m.Phase == lifecycle.Waiting && w.queue != nil:
	case m.Phase == lifecycle.Waiting && !m.NextAttempt.IsZero() && (d == nil || !d.deleting):
		from := m.NextAttempt
		if w.cleared.After(from) {
			from = w.cleared // the driver on a lost node was force-deleted, and the next pass launches the next attempt
		}

		late("next attempt", from, time.Nanosecond)
	case m.Phase == lifecycle.Retained && w.app.Retain.For != nil:
		if slices.ContainsFunc(w.pods, func(p *pod) bool { return !p.deleting }) {
			late("retention", m.Since, *w.app.Retain.For)
		}
	}
}

// ended reports whether the simulated life cycle is over.
func (w *world) ended() bool {
	empty := len(w.pods) == 0 && len(w.remains) == 0

	retained := w.stored.Phase == lifecycle.Retained && w.app.Retain.For == nil
	switch {
	case w.gone:
		return true
	case w.app.Deleting:
		return empty
	case w.requested(), !w.queueSettled():
		return false
	case w.app.TTL != nil: // the life cycle ends when the application is deleted
		return false
	case retained:
		return w.quiet()
	}
	return w.stored.Phase == lifecycle.Done && w.quiet() && (empty || w.app.Retain.Policy != lifecycle.RetainNever)
}

// liveSecond simulates one life cycle of an application of spark.apache.org. In the first part, calls fail, users edit
// and nodes are lost. In the second part, none of this happens, and the life cycle must end.
func (w *world) liveSecond(t *testing.T) {
	w.Due = w.Now
	for range 200 {
		if w.gone || w.Breach != "" {
			break
		}

		if w.turn(t, false); w.stored.Phase.Terminal() && w.Chance(0.3) {
			break
		}
	}

	w.faults, w.users = false, false

	w.Due, w.held = w.Now, time.Time{}
	if w.app.Restart.Policy == lifecycle.Always {
		w.edits++
		w.app.Restart.Policy = lifecycle.Never // attempts that live long enough would restart forever
	}

	for turns := 0; turns < 600 && !w.ended() && w.Breach == ""; turns++ {
		if looked := w.turn(t, true); looked && !w.gone && !w.app.Deleting {
			w.checkBudget()
			w.checkShortageReported()
		}

		if !w.gone && !w.app.Deleting && turns > 2 {
			w.checkDeadlines()
			w.checkRunDeadline()
		}
	}

	switch {
	case !w.ended():
		w.Fail("stuck in %s, pods %d, remains %v", w.stored.Phase, len(w.pods), w.remains)
	case w.gone || w.app.Deleting:
	case w.stored.Outcome == lifecycle.Undecided || w.stored.EndedAt.IsZero():
		w.Fail("finished without an outcome or an end: %+v", w.stored)
	case w.stored.Phase == lifecycle.Retained && len(w.pods) == 0 && w.edits == 0 && !w.lost &&
		w.stored.Outcome != lifecycle.Refused:
		w.Fail("Retained without a pod")
	}
}

// TestSecondLives simulates many life cycles of applications of spark.apache.org. If one of them breaks an invariant,
// the test prints its seed and its story.
func TestSecondLives(t *testing.T) {
	t.Parallel()

	stops, ends, states, most := 0, map[string]int{}, map[string]int{}, int64(0)
	lives.Play(t, 750, func(seed uint64) *lives.Life {
		w := newSecondWorld(seed)
		w.liveSecond(t)

		stops += w.second.stops
		switch {
		case w.gone:
			ends["expired"]++
		case w.app.Deleting:
			ends["deleted"]++
		default:
			ends[string(w.stored.Phase)]++
		}

		for _, state := range w.second.states.states {
			states[state]++
		}

		most = max(most, w.second.counts[0])
		return &w.Life
	})

	if stops == 0 {
		t.Error("no driver ended shortly after its executors: the simulation causes too few such ends")
	}

	t.Logf("restarts of one: %d", most)
	lives.CameTo(t, states, slices.Collect(maps.Keys(successors))...)
	lives.CameTo(t, ends, "expired", "deleted", "Retained", "Done")
}
