package connect

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a simulated cluster with one Spark Connect server. It carries out plans as the controller does.
//
// It also simulates faults. Servers end in every possible way, nodes are lost, and caches are late. Calls fail before
// or after they took effect, and quotas reject objects. The operator dies between any two calls.
type world struct {
	lives.Life
	app lifecycle.App

	stored  lifecycle.Memory // the last written status
	pods    []*pod           // the existing pods
	cache   []pod            // the pods in the operator's cache
	remains []int32          // attempts with a ConfigMap
	quota   bool             // whether a quota rejects servers
	short   bool             // whether a quota rejects executors

	made    map[int32]bool // attempts whose server was created
	stopped map[int32]bool // attempts whose server the operator stopped
	earlier lifecycle.App  // the spec before the last change
	clashes int            // status writes that conflicted with a change of the spec

	kind  bool // whether failures have ended and users no longer act
	edits int

	requests int // restart requests so far
}

// pod is the pod of a server or of an executor.
type pod struct {
	server   bool
	attempt  int32
	hash     string
	request  string // the restart request of the custom resource
	phase    lifecycle.DriverPhase
	ready    bool
	deleting bool
	goneBy   time.Time
	created  time.Time
	silent   time.Time
	ended    time.Time
	evicted  bool
	number   int
}

func (p *pod) over() bool {
	return p.phase == lifecycle.DriverSucceeded || p.phase == lifecycle.DriverFailed
}

func newWorld(seed uint64) *world {
	w := &world{Life: lives.New(seed, 17, startTime), made: map[int32]bool{}, stopped: map[int32]bool{}}

	w.app = lifecycle.App{UID: "u", SpecHash: "1:0", MissingGrace: 10 * time.Second, MinExecutors: int32(w.IntN(3)),
		Suspend: w.IntN(6) == 0}
	if w.IntN(5) == 0 { // another operator created a server
		w.pods = append(w.pods, &pod{server: true, attempt: 1, phase: lifecycle.DriverRunning, ready: w.IntN(2) == 0,
			created: startTime})
		w.made[1] = true
		w.sync()
	}
	return w
}

func (w *world) sync() { w.cache = lives.Copied(w.cache, w.pods) }

// tick advances the time. Meanwhile pods change, the user acts, and the cache may be updated, but no pass runs.
func (w *world) tick() {
	w.Now = w.Now.Add(time.Duration(1+w.IntN(9)) * time.Second)
	for _, p := range slices.Clone(w.pods) {
		w.progress(p)
	}

	if !w.kind {
		w.user()

		if w.Chance(0.04) {
			w.quota = !w.quota
		}

		if w.Chance(0.04) {
			w.short = !w.short
		}
	}

	if w.kind || w.Chance(0.6) {
		w.sync()
	}
}

// progress makes a random change to a pod, as it could happen to a real pod.
func (w *world) progress(p *pod) {
	if p.deleting && p.goneBy.IsZero() {
		p.goneBy = w.Now.Add(time.Duration(w.IntN(30)) * time.Second)
	}

	trouble := 0.04
	if w.kind {
		trouble = 0
	}

	switch {
	case p.phase == lifecycle.DriverUnknown:
		if w.Chance(0.15) {
			p.phase, p.silent = lifecycle.DriverRunning, time.Time{}
		} else if w.Chance(0.1) && p.attempt <= w.stored.Attempt {
			w.remove(p)
		}
	case p.deleting:
		if w.Chance(0.5) {
			w.remove(p)
		} else if !p.over() && w.Chance(0.4) {
			p.phase, p.ended, p.ready = lifecycle.DriverFailed, w.Now, false
		}
	case p.phase == lifecycle.DriverPending && w.Chance(0.5):
		p.phase = lifecycle.DriverRunning
	case p.phase != lifecycle.DriverRunning:
	case w.Chance(trouble):
		p.phase, p.ended, p.ready, p.evicted = lifecycle.DriverFailed, w.Now, false, w.Chance(0.3)
		if w.Chance(0.3) {
			p.phase, p.evicted = lifecycle.DriverSucceeded, false
		}

		w.Tell("server of attempt %d ends: %s", p.attempt, p.phase)
	case w.Chance(trouble / 2):
		p.phase, p.ready, p.silent = lifecycle.DriverUnknown, false, w.Now
		w.Tell("the node of attempt %d is lost", p.attempt)
	case w.Chance(trouble):
		p.ready = false
	case w.Chance(0.5):
		p.ready = true
		if p.server && !w.short && len(w.pods) < 6 {
			w.pods = append(w.pods, &pod{attempt: p.attempt, phase: lifecycle.DriverPending, created: w.Now,
				number: w.Int()})
		}
	}
}

// remove removes a pod. If the pod is a server, it also removes the executors that the server owns.
func (w *world) remove(p *pod) {
	w.pods = slices.DeleteFunc(w.pods,
		func(q *pod) bool { return q == p || p.server && !q.server && q.attempt == p.attempt })
}

// user simulates the owner of the server, who suspends and edits it and deletes its pods.
func (w *world) user() {
	switch {
	case w.Chance(0.02):
		w.app.Suspend = !w.app.Suspend
		w.Tell("user: suspend=%v", w.app.Suspend)
	case w.Chance(0.02):
		w.edits++
		w.app.SpecHash = "1:" + strconv.Itoa(w.edits)

		w.app.Invalid = nil
		if w.Chance(0.3) {
			w.app.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.server.memory"}
		}

		w.Tell("user: edit to %s, invalid %v", w.app.SpecHash, w.app.Invalid != nil)
	case w.edits > 0 && w.Chance(0.01):
		w.app.SpecHash, w.app.Invalid = "1:0", nil
		w.Tell("user: restores the first spec")
	case w.Chance(0.02):
		w.requests++
		w.app.RestartRequest = "r" + strconv.Itoa(w.requests)
		w.Tell("user: restart request %s", w.app.RestartRequest)
	case w.Chance(0.01):
		w.app.Invalid = nil
		w.Tell("the operator's configuration accepts the spec")
	case w.Chance(0.02):
		for _, p := range w.pods {
			if p.server && p.attempt <= w.stored.Attempt {
				p.deleting = true
				w.Tell("user: deletes the server of attempt %d", p.attempt)
			}
		}
	}
}

func (w *world) observed() lifecycle.Observed {
	seen := lifecycle.Observed{RemainingAttempts: slices.Clone(w.remains)}
	for i := range w.cache {
		add(&seen, &w.cache[i])
	}
	return seen
}

func add(seen *lifecycle.Observed, p *pod) {
	if !p.server {
		seen.Executors = append(seen.Executors,
			lifecycle.Executor{Name: strconv.Itoa(p.number), Attempt: p.attempt, Phase: p.phase, CreatedAt: p.created})
		return
	}

	seen.Drivers = append(seen.Drivers, lifecycle.Driver{
		Name: "s-server", Attempt: p.attempt, Phase: p.phase, Ready: p.ready, Deleting: p.deleting, GoneBy: p.goneBy,
		NodeLostSince: p.silent,
		CreatedAt:     p.created, EndedAt: p.ended, Evicted: p.evicted, SpecHash: p.hash, RestartRequest: p.request,
	})
}

// injectError simulates a failed call at random, which ends the pass. The given text describes the place of the call.
func (w *world) injectError(where string) {
	if !w.kind && w.Chance(0.06) {
		lives.CutShort(where)
	}
}

// pass simulates one pass of the operator. It returns the time after which the next pass must run.
func (w *world) pass(t *testing.T) (check time.Duration) {
	crash := lives.Caught(func() { check = w.reconcile(t) })
	if crash == nil {
		return check
	}

	w.Tell("pass cut short: %s", crash.Where)

	if w.Chance(0.3) {
		w.sync() // a new process lists everything
	}
	return time.Second
}

func (w *world) reconcile(t *testing.T) (check time.Duration) {
	w.Passes++

	seen := w.observed()
	if !w.kind && w.Chance(0.03) {
		seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "ServerError", Message: "down"},
			Since: w.Now.Add(-5 * time.Second)}
	}

	for range 6 {
		plan := Step(w.app, w.stored, seen, w.Now)
		checkPlan(t, w.app, w.stored, seen, w.Now, plan)

		if fact := w.apply(plan, seen); fact != nil {
			fact(&seen)
			continue
		}

		w.injectError("before the status write")

		if w.conflict(plan) {
			return time.Second
		}

		w.checkBackOff(plan)
		w.checkEnds(plan)

		w.stored = plan.Next
		for _, tr := range plan.Transitions {
			w.Tell("%s -> %s, attempt %d, %s %s", tr.From, tr.To, tr.Attempt, tr.Outcome, tr.Cause.Reason)
		}

		w.injectError("after the status write")
		return plan.RequeueAfter
	}

	w.Fail("the pass decides again and again")
	return 0
}

// conflict simulates a status write that the API server rejects, because a user changed the spec after the pass had
// read it. In about half of the cases the user restores the earlier spec. The result reports whether the write was
// rejected.
func (w *world) conflict(plan lifecycle.Plan) bool {
	if w.kind || reflect.DeepEqual(w.stored, plan.Next) || !w.Chance(0.2) {
		return false
	}

	before := w.app
	if w.Chance(0.5) && w.earlier.UID != "" {
		w.app = w.earlier
		w.Tell("user: restores the earlier spec: suspend=%v, %s", w.app.Suspend, w.app.SpecHash)
	} else {
		w.user()
	}

	if reflect.DeepEqual(before, w.app) {
		return false
	}

	w.earlier = before
	w.clashes++
	w.Tell("the status write conflicts with a change of the spec")
	return true
}

// checkEnds fails if a plan assumes that a server ended by itself although the operator had stopped it. It also fails
// if a plan carries out a restart request for which the server was already created.
func (w *world) checkEnds(plan lifecycle.Plan) {
	for _, tr := range plan.Transitions {
		if tr.From.Live() && tr.Cause.Reason == lifecycle.ReasonRestartRequested && w.carries(tr.Attempt) {
			w.Fail("the server of attempt %d was created for the request %s, and is replaced because of it", tr.Attempt,
				w.app.RestartRequest)
		}

		if tr.From.Live() && tr.To == lifecycle.Ended && w.stopped[tr.Attempt] {
			w.Fail("the server of attempt %d counts as ended by itself (%s), but the operator stopped it", tr.Attempt,
				tr.Outcome)
		}
	}
}

// carries reports whether the server of an attempt was created for the current restart request.
func (w *world) carries(attempt int32) bool {
	return slices.ContainsFunc(w.pods, func(p *pod) bool {
		return p.server && p.attempt == attempt && p.request != "" && p.request == w.app.RestartRequest
	})
}

// checkBackOff checks that the interval between two servers is at least FirstInterval and at most MaxInterval.
func (w *world) checkBackOff(plan lifecycle.Plan) {
	for _, tr := range plan.Transitions {
		if tr.To == lifecycle.Waiting && tr.From == lifecycle.Ended && plan.Next.Phase == lifecycle.Waiting &&
			!plan.Next.NextAttempt.IsZero() {
			if wait := plan.Next.NextAttempt.Sub(plan.Next.EndedAt); wait < FirstInterval || wait > MaxInterval {
				w.Fail("a back-off of %s after %+v", wait, plan.Next)
			}
		}
	}
}

func (w *world) apply(plan lifecycle.Plan, seen lifecycle.Observed) func(*lifecycle.Observed) {
	for _, a := range plan.Actions {
		w.injectError("before an action")

		switch {
		case a.Verb == lifecycle.Create:
			if fact := w.create(a.Attempt, seen); fact != nil {
				return fact
			}
		case a.Verb == lifecycle.Confirm && a.Part == lifecycle.Executors:
			answer := lifecycle.Cause{}
			if w.short {
				answer = lifecycle.Cause{Reason: "QuotaExceeded", Message: "quota"}
			}
			return func(o *lifecycle.Observed) { o.ProbeResult = &answer }
		case a.Verb == lifecycle.Confirm:
			for _, p := range w.pods {
				if p.server && seen.Driver(p.attempt) == nil {
					return func(o *lifecycle.Observed) { add(o, p) }
				}
			}
			return func(o *lifecycle.Observed) { o.Confirmed = true }
		case a.Verb == lifecycle.Delete:
			w.delete(a, seen)
		}

		w.injectError("after an action")
	}
	return nil
}

// create creates the objects of an attempt, and adopts existing objects. If the API server rejects an object, or the
// server of another attempt already has the name, the result is a function that adds this to the observation, after
// which the pass decides again. Otherwise it is nil.
func (w *world) create(attempt int32, seen lifecycle.Observed) func(*lifecycle.Observed) {
	if w.app.Suspend || w.app.Invalid != nil {
		w.Fail("a server is created, suspend=%v invalid=%v", w.app.Suspend, w.app.Invalid != nil)
	}

	if !slices.Contains(w.remains, attempt) {
		w.remains = append(w.remains, attempt)
	}

	w.injectError("between the ConfigMap and the pod")

	for _, p := range w.pods {
		if !p.server {
			continue
		}

		switch {
		case p.attempt == attempt && p.deleting:
			lives.CutShort("the server is being deleted")
		case p.attempt == attempt:
			return nil
		case seen.Driver(p.attempt) != nil:
			lives.CutShort("the old server still exists")
		}
		return func(o *lifecycle.Observed) { add(o, p) } // the name is taken
	}

	if w.quota {
		return func(o *lifecycle.Observed) {
			o.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "quota"}
		}
	}

	if w.made[attempt] {
		w.Fail("the server of attempt %d is created twice", attempt)
	}

	w.made[attempt] = true
	w.Tell("server of attempt %d is created from %s", attempt, w.app.SpecHash)
	w.pods = append(w.pods, &pod{server: true, attempt: attempt, hash: w.app.SpecHash, request: w.app.RestartRequest,
		phase: lifecycle.DriverPending, created: w.Now})
	return nil
}

// delete marks the pods of an attempt as deleted, if the operator has observed them.
func (w *world) delete(a lifecycle.Action, seen lifecycle.Observed) {
	for _, p := range w.pods {
		known := p.server && seen.Driver(p.attempt) != nil ||
			slices.ContainsFunc(seen.Executors,
				func(e lifecycle.Executor) bool { return e.Name == strconv.Itoa(p.number) })
		if known && p.attempt == a.Attempt &&
			(p.server && a.Part != lifecycle.Executors || !p.server && a.Part != lifecycle.DriverPod) {
			if p.server && !p.over() && w.app.Invalid != nil && !w.app.Suspend && w.stored.Phase.Live() &&
				p.attempt == w.stored.Attempt {
				w.Fail("the server of attempt %d is stopped because of an invalid spec", p.attempt)
			}

			w.stopped[p.attempt] = w.stopped[p.attempt] || p.server && !p.over()
			p.deleting = true
		}
	}

	if a.Part == lifecycle.Attempt {
		w.remains = slices.DeleteFunc(w.remains, func(n int32) bool { return n == a.Attempt })
	}
}

// turn advances the time. It runs a pass if the observed state has changed or the requested time has come.
func (w *world) turn(t *testing.T) {
	app, before := w.app, w.observed()
	if w.tick(); !reflect.DeepEqual(app, w.app) {
		w.earlier = app
	}

	if servers := w.servers(); servers > 1 {
		w.Fail("%d servers at once", servers)
	}

	if w.Waits() && reflect.DeepEqual(app, w.app) && reflect.DeepEqual(before, w.observed()) {
		return
	}

	w.Wake(w.pass(t))
}

// servers returns the number of servers that have not ended.
func (w *world) servers() (n int) {
	for _, p := range w.pods {
		if p.server && !p.over() {
			n++
		}
	}
	return n
}

// deviation describes how the server's state differs from the state that its spec requires. It returns "" if there is
// no difference. It is used after the faults have ended.
func (w *world) deviation() string {
	m := w.stored

	var server *pod
	for _, p := range w.pods {
		if p.server && !p.over() {
			server = p
		}
	}

	switch {
	case w.app.Suspend && m.Phase.Terminal() && w.app.Invalid != nil && server == nil: // nothing to suspend
	case w.app.Suspend:
		if m.Phase != lifecycle.Suspended || len(w.pods) > 0 || len(w.remains) > 0 {
			return fmt.Sprintf("suspended, and %s with %d pods, %d ConfigMaps", m.Phase, len(w.pods), len(w.remains))
		}
	case w.app.Invalid != nil && server == nil:
		if !m.Phase.Terminal() {
			return fmt.Sprintf("invalid, and %s", m.Phase)
		}
	case m.Phase != lifecycle.Running || server == nil || !server.ready:
		return fmt.Sprintf("%s, server %+v", m.Phase, server)
	case server.hash != "" && w.app.RestartRequest != "" && server.request != w.app.RestartRequest &&
		w.app.Invalid == nil:
		return fmt.Sprintf("the server is of the request %q, the last request is %s", server.request,
			w.app.RestartRequest)
	case server.hash != "" && server.hash != w.app.SpecHash && w.app.Invalid == nil:
		return fmt.Sprintf("the server is of %s, the spec is %s", server.hash, w.app.SpecHash)
	}
	return ""
}

// live simulates one life cycle of a server. In the first part, calls fail, users edit and nodes are lost. In the
// second part, none of this happens, and the server must reach the state that its spec requires.
func (w *world) live(t *testing.T) {
	w.Due = w.Now
	for range 250 {
		if w.Breach != "" {
			return
		}

		w.turn(t)
	}

	w.kind, w.quota, w.short = true, false, false
	w.Due = w.Now
	w.Tell("the faults have ended")

	for range 400 {
		if w.turn(t); w.Breach != "" || w.deviation() == "" && w.stored.Cause.Reason != "QuotaExceeded" {
			break
		}
	}

	if left := w.deviation(); left != "" {
		w.Fail("stuck: %s", left)
	}
}

// TestLives simulates many life cycles. If one of them breaks an invariant, the test prints its seed and its story.
func TestLives(t *testing.T) {
	phases := map[lifecycle.Phase]int{}
	lives.Play(t, 200, func(seed uint64) *lives.Life {
		w := newWorld(seed)
		w.live(t)
		phases[w.stored.Phase]++
		return &w.Life
	})
	lives.CameTo(t, phases, lifecycle.Running, lifecycle.Suspended, lifecycle.Done)
}
