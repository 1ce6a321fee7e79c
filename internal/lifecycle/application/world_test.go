package application

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// world is a simulated cluster with one application. It carries out plans as the controller does
// (docs/architecture.md).
//
// It simulates every fault that a real cluster can have. Drivers end in every possible way. Events arrive late. Calls
// fail before or after they took effect. The operator dies between any two calls.
type world struct {
	lives.Life
	app lifecycle.App

	stored  lifecycle.Memory // the last written status
	gone    bool             // the custom resource was deleted
	pods    []*pod           // the existing pods
	cache   []pod            // the pods in the operator's cache
	cleared time.Time        // when the last deleted pod disappeared
	remains []int32          // attempts with ConfigMaps and Services
	budgets []int32          // attempts whose driver has a budget
	full    bool             // a quota rejects more executors
	name    int              // the driver pod's name in the spec
	hash    int

	started map[int32]int // number of created driver pods, by attempt
	never   int           // drivers that disappeared before the objects that they mount existed; they do not count as runs
	lost    bool          // a driver was deleted by somebody else
	edits   int
	spared  int                 // suspended runs
	faults  bool                // whether calls fail and the operator dies
	users   bool                // whether users suspend, edit and delete pods
	held    time.Time           // since when no pass succeeded; zero if the last one did
	stopped map[int32]bool      // attempts whose driver the operator stopped
	earlier spec                // the spec before the last change
	clashes int                 // status writes that conflicted with a change of the spec
	lacks   lifecycle.Shortages // the shortages that the operator's process returned last
	second  *ledger             // for an application of spark.apache.org; else nil
	queue   *simulatedQueue     // nil if the application is in no queue

	requests int              // restart requests so far
	asked    map[string]int32 // the last attempt that had a pod when a request was made
	carried  map[int32]string // the restart request with which an attempt's pod was created

	version   int            // of the custom resource; each write and each edit increases it
	slow      time.Duration  // how long a pass may continue after its operator lost the lease; 0: the lease is never lost
	beside    bool           // the next operator starts at once; false: it starts after the late pass
	late      *overtakenPass // the current late pass
	overtaken int            // how many late passes there were
}

// pod is a driver pod, a submitter pod or an executor pod.
type pod struct {
	driver    bool
	submits   bool
	done      bool // a submitter that has created its driver pod
	torn      bool // a driver without the objects that it mounts
	submitted bool // a driver that a submitter created
	name      int  // of the driver pod
	attempt   int32
	phase     lifecycle.DriverPhase
	hash      string
	request   string // the restart request of the custom resource
	deleting  bool
	goneBy    time.Time
	stopping  bool      // a driver whose executors have exited
	dead      bool      // the node will never again carry out a request
	hung      bool      // the kubelet does nothing, and Kubernetes has not noticed yet
	silent    time.Time // when Kubernetes noticed the lost node; zero if it gives no time
	evicted   bool
	ready     bool
	made      time.Time
	began     time.Time
	ended     time.Time
	exec      int
	gated     bool // a queue blocks the pod by scheduling gates
	ungated   time.Time
	placed    bool // assigned to a node after its gates were removed
}

func (p *pod) over() bool {
	return p.phase == lifecycle.DriverSucceeded || p.phase == lifecycle.DriverFailed
}

// why returns the wait reason of a pod, or the zero Cause if it has none.
func (p *pod) why() lifecycle.Cause {
	if p.gated && p.phase == lifecycle.DriverPending {
		return lifecycle.Cause{Reason: lifecycle.ReasonSchedulingGated, Message: "gated"}
	}
	return lifecycle.Cause{}
}

func newWorld(seed uint64) *world {
	w := &world{Life: lives.New(seed, 7, decisionTime), started: map[int32]int{}, stopped: map[int32]bool{},
		asked: map[string]int32{}, carried: map[int32]string{}, faults: true, users: true}
	r := w.Rand
	policies := []lifecycle.RestartPolicy{lifecycle.Never, lifecycle.OnFailure, lifecycle.Always}
	seconds := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Second }

	w.app = lifecycle.App{
		UID: "u", SpecHash: "1:0", MissingGrace: 10 * time.Second, InitialExecutors: int32(r.IntN(3)),
		Restart: lifecycle.Restart{
			Policy: policies[r.IntN(3)], FailureRetries: int32(r.IntN(3)), SubmissionRetries: int32(r.IntN(3)),
			FailureInterval: seconds(30), SubmissionInterval: seconds(30), Factor: float64(r.IntN(3)),
			Max: seconds(100),
		},
	}
	if r.IntN(2) == 0 {
		w.app.Deadlines = lifecycle.Deadlines{DriverStart: 60 * time.Second, DriverReady: seconds(60),
			ExecutorsStart: seconds(90), Run: seconds(600)}
	}

	if r.IntN(4) == 0 {
		w.app.Suspend = true
	}

	w.app.Budget = r.IntN(2) == 0
	if r.IntN(2) == 0 {
		w.app.MinExecutors = w.app.InitialExecutors
	}

	w.chooseMode()
	return w
}

// chooseMode chooses the submission mode of the application at random.
func (w *world) chooseMode() {
	w.app.Submitter = nil
	if w.IntN(2) == 0 {
		w.app.Submitter = &lifecycle.Cause{Reason: "SparkSubmit", Message: "asked for"}
	}
}

// tick advances the time. Meanwhile pods change, the user acts, and the cache may be updated, but no pass runs.
func (w *world) tick() {
	if w.second != nil && w.finishStop() {
		return
	}

	w.Now = w.Now.Add(time.Duration(1+w.IntN(9)) * time.Second)
	for _, p := range slices.Clone(w.pods) {
		w.progress(p)
	}

	w.use()

	if w.queue != nil {
		w.advanceQueue()
	}

	if w.Chance(0.05) {
		w.full = !w.full
		w.Tell("capacity for executors: %v", !w.full)
	}

	if w.Chance(0.6) {
		w.sync()
	}
}

// use simulates random actions of the owner of the application.
func (w *world) use() {
	switch {
	case w.users && w.Chance(0.02):
		w.requestRestart()
	case w.users && w.second != nil:
		w.tenant()
	case w.users:
		w.user()
	}
}

func (w *world) sync() {
	w.cache = lives.Copied(w.cache, w.pods)
	w.syncQueue()
}

// progress makes a random change to a pod, as it could happen to a real pod.
func (w *world) progress(p *pod) {
	if p.deleting && p.goneBy.IsZero() {
		p.goneBy = w.Now.Add(time.Duration(w.IntN(30)) * time.Second)
	}

	if p.dead {
		return
	}

	if p.phase != lifecycle.DriverUnknown && !p.over() && (p.hung || w.faults && w.Chance(0.01)) {
		p.hung = w.faults && !w.Chance(0.1)
		return
	}

	switch {
	case p.phase == lifecycle.DriverUnknown:
		if w.Chance(0.2) { // the node is back, or was removed with its pods
			p.phase, p.silent = lifecycle.DriverRunning, time.Time{}
		} else if w.Chance(0.1) && p.attempt <= w.stored.Attempt { // see user
			w.remove(p)
		}
	case p.deleting:
		if w.Chance(0.5) {
			w.remove(p)
		} else if !p.over() && w.Chance(0.3) {
			p.phase, p.ended = lifecycle.DriverFailed, w.Now
		} else if p.submits && p.phase == lifecycle.DriverRunning {
			w.submit(p) // it continues until its grace period is over
		}
	case p.submits && p.phase == lifecycle.DriverRunning:
		w.submit(p)
	case p.gated:
		if p.gated = w.Chance(0.9); !p.gated {
			p.ungated, p.placed = w.Now, w.Chance(0.5)
		}
	case p.phase == lifecycle.DriverPending:
		if w.Chance(0.5) && !p.torn {
			p.phase, p.began = lifecycle.DriverRunning, w.Now
		}
	case p.phase == lifecycle.DriverRunning:
		p.ready = p.ready || w.Chance(0.7)
		switch {
		case p.driver && w.second != nil && w.Chance(0.1):
			w.stop(p)
		case p.driver && w.Chance(0.15):
			p.phase, p.ended = lifecycle.DriverSucceeded, w.Now
		case w.Chance(0.1):
			p.phase, p.ended, p.evicted = lifecycle.DriverFailed, w.Now, w.Chance(0.3)
		case w.Chance(0.03):
			p.phase = lifecycle.DriverUnknown
			if w.Chance(0.8) {
				p.silent = w.Now
			}
		case p.driver && p.ready && !w.full && w.Chance(0.4):
			w.pods = append(w.pods, &pod{attempt: p.attempt, phase: lifecycle.DriverPending, exec: w.Int(), made: w.Now,
				gated: w.Chance(0.2)})
		}
	}
}

// submit simulates one step of spark-submit. The first step creates a driver pod, the second step creates the objects
// that this pod mounts, and then spark-submit ends. It may die before each step.
func (w *world) submit(p *pod) {
	trouble := 0.1
	if !w.faults {
		trouble = 0
	}

	end := func(phase lifecycle.DriverPhase) { p.phase, p.ended = phase, w.Now }
	switch {
	case w.Chance(trouble):
		end(lifecycle.DriverFailed)
		w.Tell("submitter of attempt %d dies", p.attempt)
	case w.Chance(trouble / 4):
		p.phase = lifecycle.DriverUnknown
	case w.Chance(0.4):
	case !p.done && slices.ContainsFunc(w.pods, func(q *pod) bool { return q.driver && q.name == p.name }):
		end(lifecycle.DriverFailed)
		w.Tell("submitter of attempt %d: already exists", p.attempt)
	case !p.done:
		p.done = true
		w.Tell("submitter of attempt %d creates the driver", p.attempt)
		w.makeDriver(&pod{driver: true, submitted: true, torn: true, name: p.name, attempt: p.attempt,
			phase: lifecycle.DriverPending, made: w.Now, hash: p.hash, request: p.request})
	default:
		for _, q := range w.pods {
			if q.driver && q.attempt == p.attempt {
				q.torn = false
			}
		}

		end(lifecycle.DriverSucceeded)
	}
}

func (w *world) remove(p *pod) {
	if p.torn {
		w.never++
	}

	w.pods, w.cleared = slices.DeleteFunc(w.pods, func(q *pod) bool { return q == p }), w.Now
}

// user simulates the owner of the application, who suspends and edits the application and deletes its pods.
func (w *world) user() {
	switch {
	case w.Chance(0.02):
		w.app.Suspend = !w.app.Suspend
		w.Tell("user: suspend=%v", w.app.Suspend)
	case w.Chance(0.02):
		if w.Chance(0.3) { // in the same update, as a queue does
			w.app.Suspend = !w.app.Suspend
			w.Tell("user: suspend=%v", w.app.Suspend)
		}
		w.hash++
		w.app.SpecHash, w.app.Edited = "1:"+strconv.Itoa(w.hash), true
		w.edits++
		w.chooseMode()

		if w.Chance(0.5) {
			w.name++ // spec.driver.podName
		}

		w.Tell("user: edit to %s, name %d", w.app.SpecHash, w.name)
	case w.Chance(0.02):
		if w.app.Hold == nil {
			w.app.Hold = held
		} else {
			w.app.Hold = nil
		}

		w.Tell("user: held=%v", w.app.Hold != nil)
	case w.Chance(0.02):
		w.app.Budget = !w.app.Budget
		w.Tell("user: budget=%v", w.app.Budget)
	case w.Chance(0.02):
		for _, p := range w.pods {
			// If somebody else deletes a driver before the status write for its launch, the driver can be launched
			// again. The documentation names this one remaining case, so it is not a breach.
			if p.driver && p.attempt <= w.stored.Attempt {
				p.deleting, w.lost = true, true
				w.Tell("user: deletes driver of attempt %d", p.attempt)
			}

			if p.submits && p.attempt <= w.stored.Attempt && w.Chance(0.5) {
				p.deleting = true
				w.Tell("user: deletes submitter of attempt %d", p.attempt)
			}
		}
	}
}

func (w *world) observed() lifecycle.Observed {
	var seen lifecycle.Observed
	for i := range w.cache {
		w.add(&seen, &w.cache[i])
	}

	seen.RemainingAttempts = append(slices.Clone(w.remains), w.budgets...)
	seen.Budgets = slices.Clone(w.budgets)

	seen.Shortages = w.lacks
	if w.queue != nil {
		seen.Quota = w.queue.cached.facts()
		if d := seen.Driver(w.stored.Attempt); d != nil && !endedPhase(d.Phase) && seen.Quota.Reserved {
			seen.Quota.Unheld = w.queue.cached.holder != d.Attempt
		}
	}
	return seen
}

func (w *world) add(seen *lifecycle.Observed, p *pod) {
	if p.submits {
		r := lifecycle.Submitter{
			Name: "s" + strconv.Itoa(int(p.attempt)), Attempt: p.attempt, Phase: p.phase, Deleting: p.deleting,
			CreatedAt: p.made, EndedAt: p.ended, SpecHash: p.hash,
			RestartRequest: p.request,
		}
		if p.phase == lifecycle.DriverFailed {
			r.Why = lifecycle.Cause{Reason: "Error", Message: "spark-submit failed"}
		}

		seen.Submitters = append(seen.Submitters, r)
		return
	}

	if !p.driver {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: strconv.Itoa(p.exec), Attempt: p.attempt, Phase: p.phase, CreatedAt: p.made, Why: p.why(),
		})
		return
	}

	d := lifecycle.Driver{
		Name: strconv.Itoa(p.name), Attempt: p.attempt, Phase: p.phase, Ready: p.ready, Deleting: p.deleting,
		GoneBy: p.goneBy, CreatedAt: p.made,
		NodeLostSince: p.silent, StartedAt: p.began, EndedAt: p.ended, Evicted: p.evicted, SpecHash: p.hash,
		RestartRequest: p.request, Gated: p.gated, Why: p.why(),
	}
	if p.placed {
		d.ScheduledAt = p.ungated
	}

	if p.submitted {
		d.Submitter = "s"
	}

	if p.ready {
		d.ReadyAt = p.began
	}

	seen.Drivers = append(seen.Drivers, d)
}

// injectError simulates a failed call at random, which ends the pass. The given text describes the place of the call.
func (w *world) injectError(where string) {
	often := 0.06
	if !w.held.IsZero() {
		often = 0.5 // a long outage
	}

	if w.faults && (w.late == nil || !w.late.acts) && w.Chance(often) {
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
		w.held, w.lacks = time.Time{}, lifecycle.Shortages{}
	}
	return time.Second
}

func (w *world) reconcile(t *testing.T) (check time.Duration) {
	w.Passes++

	seen := w.observed()
	if w.second != nil {
		w.second.recordShortages(w, seen)
	}

	for range 7 { // as many as the controller's maxRounds
		plan := Step(w.app, w.stored, seen, w.Now)
		checkPlan(t, w.app, w.stored, seen, w.Now, plan)

		fact, failed := w.attempt(plan, seen)
		switch {
		case failed != nil && seen.TransientError == nil:
			if w.held.IsZero() {
				w.held = w.Now
			}

			if w.Now.Sub(w.held) < 3*time.Second {
				panic(*failed)
			}

			w.Tell("transient error: %s", failed.Where)
			seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "ServerError",
				Message: failed.Where}, Since: w.held}
			// The failed action may have changed the objects that were read.
			seen.Confirmed, seen.Inspected, seen.PodsConfirmed, seen.CacheBehind = false, false, false, false
		case failed != nil:
			panic(*failed)
		case fact != nil:
			fact(&seen)
		case w.conflict(plan):
			return time.Second
		default:
			w.checkEarlyStops(plan, seen)
			w.checkUnseenEnds(plan, seen)
			w.lacks = plan.Shortages
			w.checkGateGrace(plan, seen)

			if w.second != nil {
				w.second.checkStart(w, plan)
			}

			w.record(plan, seen)

			if seen.TransientError == nil {
				w.held = time.Time{}
			}
			return plan.RequeueAfter
		}
	}

	w.Fail("the pass decides again and again")
	return 0
}

// attempt carries out a plan. If an action has an answer that the decision needs (for example of a live read), the
// first result is a function that adds the answer to the observation, after which the pass decides again. If a call
// fails, either the operator dies, or the second result describes the failure.
func (w *world) attempt(plan lifecycle.Plan, seen lifecycle.Observed) (fact func(*lifecycle.Observed),
	failed *lives.Crash) {
	failed = lives.Caught(func() { fact = w.apply(plan, seen) })
	if failed != nil && w.Chance(0.3) {
		panic(*failed)
	}
	return fact, failed
}

// spec contains what a user may change.
type spec struct {
	app  lifecycle.App
	name int
}

func (w *world) spec() spec { return spec{w.app, w.name} }

// conflict simulates a status write that the API server rejects, because a user changed the spec after the pass had
// read it. In half of the cases the user restores the earlier spec. The result reports whether the write was rejected.
func (w *world) conflict(plan lifecycle.Plan) bool {
	if !w.users || w.late != nil && w.late.acts || reflect.DeepEqual(w.stored, plan.Next) || !w.Chance(0.2) {
		return false
	}

	before := w.spec()
	if w.Chance(0.5) && w.earlier.app.UID != "" {
		edited := w.app.Edited || w.earlier.app.SpecHash != w.app.SpecHash
		w.app, w.name = w.earlier.app, w.earlier.name
		w.app.Edited = edited // the generation does not go back
		w.edits++
		w.Tell("user: restores the earlier spec: suspend=%v, %s, name %d", w.app.Suspend, w.app.SpecHash, w.name)
	} else {
		w.use()
	}

	if reflect.DeepEqual(before, w.spec()) {
		return false
	}

	w.earlier = before
	w.version++
	w.clashes++
	w.Tell("the status write conflicts with a change of the spec")
	return true
}

func (w *world) record(plan lifecycle.Plan, seen lifecycle.Observed) {
	w.injectError("before the status write")

	if plan.Next.Attempt < w.stored.Attempt {
		w.Fail("the attempt number decreases from %d to %d", w.stored.Attempt, plan.Next.Attempt)
	}

	for _, tr := range plan.Transitions {
		w.Tell("%s -> %s, attempt %d, %s %s", tr.From, tr.To, tr.Attempt, tr.Outcome, tr.Cause.Reason)

		if tr.From.Live() && tr.To == lifecycle.Suspending {
			w.spared++
		}

		if tr.From.Live() && tr.To == lifecycle.Ended && w.stopped[tr.Attempt] {
			w.Fail("attempt %d counts as ended by itself (%s), but the operator stopped it", tr.Attempt, tr.Outcome)
		}
	}

	w.checkRestarts(plan)

	if !reflect.DeepEqual(w.stored, plan.Next) {
		w.version++
	}

	w.stored = plan.Next
	if w.second != nil {
		w.second.enter(w, plan, seen)
	}

	w.injectError("after the status write")
}

func (w *world) apply(plan lifecycle.Plan, seen lifecycle.Observed) func(*lifecycle.Observed) {
	for _, a := range plan.Actions {
		w.Tell("do %v", a)
		w.injectError("before an action")

		switch {
		case a.Part == lifecycle.DriverBudget:
			if fact := w.budget(a); fact != nil {
				return fact
			}
		case slices.Contains(quotaParts, a.Part):
			if fact := w.actOnQueue(a); fact != nil {
				return fact
			}
		case a.Verb == lifecycle.Create:
			if fact := w.create(a.Attempt, seen); fact != nil {
				return fact
			}
		case a.Verb == lifecycle.Confirm:
			return w.confirm(a, seen)
		case a.Part == lifecycle.Application:
			w.gone = true
		case a.Verb == lifecycle.Delete:
			w.delete(a, seen)
		}

		w.injectError("after an action")
	}
	return nil
}

// budget creates or deletes the driver's PodDisruptionBudget. If the API server rejects the request, the result is a
// function that adds the rejection to the observation, after which the pass decides again. Otherwise it is nil.
func (w *world) budget(a lifecycle.Action) func(*lifecycle.Observed) {
	if w.faults && w.Chance(0.2) {
		return func(o *lifecycle.Observed) { o.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"} }
	}

	w.budgets = slices.DeleteFunc(w.budgets, func(n int32) bool { return n == a.Attempt })
	if a.Verb == lifecycle.Create {
		w.budgets = append(w.budgets, a.Attempt)
	}
	return nil
}

// checkBudget checks that a running driver has a PodDisruptionBudget if and only if the application requests one. It
// must be called after a pass without errors.
func (w *world) checkBudget() {
	if w.stored.Since.Equal(w.Now) {
		return // this pass entered a phase, so it was not allowed to delete the budget
	}

	for _, p := range w.pods {
		if p.driver && p.attempt == w.stored.Attempt && w.stored.Phase.Live() && p.phase == lifecycle.DriverRunning &&
			!p.deleting &&
			w.app.Budget != slices.Contains(w.budgets, p.attempt) {
			w.Fail("driver %d runs, budget requested: %v, budgets of attempts %v", p.attempt, w.app.Budget, w.budgets)
		}
	}

	if !w.stored.Phase.Live() && slices.Contains(w.budgets, w.stored.Attempt) {
		w.Fail("in %s, attempt %d still has its budget", w.stored.Phase, w.stored.Attempt)
	}
}

// confirm simulates a live read of the pods that are missing in the cache, and of the objects that a driver mounts. The
// result is a function that adds what was found to the observation, after which the pass decides again.
func (w *world) confirm(a lifecycle.Action, seen lifecycle.Observed) func(*lifecycle.Observed) {
	if a.Part == lifecycle.Executors {
		return w.probe(a.Attempt, seen)
	}

	inspects := a.Part == lifecycle.Submission

	again := seen.Confirmed
	switch a.Part {
	case lifecycle.Submission:
		again = seen.Inspected
	case lifecycle.Attempt:
		again = seen.PodsConfirmed
	}

	if again {
		w.Fail("the same live read is requested twice in one pass")
	}

	for _, p := range w.pods {
		if p.driver && seen.Driver(p.attempt) == nil || p.submits && seen.Submitter(p.attempt) == nil {
			return func(o *lifecycle.Observed) { w.add(o, p) }
		}
	}

	behind := w.behind(seen, a.Part == lifecycle.Attempt)
	torn := slices.ContainsFunc(w.pods, func(p *pod) bool { return p.driver && p.attempt == a.Attempt && p.torn })
	return func(o *lifecycle.Observed) {
		o.Confirmed, o.PodsConfirmed, o.CacheBehind = true, a.Part == lifecycle.Attempt, behind
		if d := o.Driver(a.Attempt); inspects && d != nil {
			o.Inspected, d.MissingConfigMap = true, torn
		}
	}
}

// behind reports whether the cache lacks a driver or has an earlier state of it. The argument all includes executors.
func (w *world) behind(seen lifecycle.Observed, all bool) bool {
	return slices.ContainsFunc(w.pods, func(p *pod) bool {
		switch d := seen.Driver(p.attempt); {
		case p.submits:
			return false
		case p.driver:
			return d == nil || d.Phase != p.phase || d.Ready != p.ready
		}
		return all && !slices.ContainsFunc(seen.Executors, func(e lifecycle.Executor) bool {
			return e.Name == strconv.Itoa(p.exec) && e.Phase == p.phase
		})
	})
}

// checkUnseenEnds fails if a plan begins a suspension that holds the next launch although the driver has ended.
func (w *world) checkUnseenEnds(plan lifecycle.Plan, seen lifecycle.Observed) {
	for _, tr := range plan.Transitions {
		// An attempt that an edit or a request replaces does not end the application, however it ends. If the launch was
		// not stored, its pod has the spec and the request with which it was created, and they may differ from those of
		// the stored attempt.
		hash, request := w.stored.SpecHash, w.stored.RestartRequest
		if d := seen.Driver(tr.Attempt); d != nil && tr.Attempt > w.stored.Attempt {
			hash, request = d.SpecHash, cmp.Or(d.RestartRequest, request)
		}

		replaced := lifecycle.Edited(hash, w.app.SpecHash) || lifecycle.RestartRequested(request, w.app.RestartRequest)
		if tr.To != lifecycle.Suspending || !tr.From.Live() || w.app.Hold == nil && tr.Cause.Reason != lifecycle.ReasonQueueEviction || replaced {
			continue
		}

		for _, p := range w.pods {
			if p.driver && p.attempt == tr.Attempt && endedPhase(p.phase) {
				w.Fail("attempt %d is suspended, but its driver is %s", tr.Attempt, p.phase)
			}
		}
	}
}

// checkEarlyStops fails if a plan ends an attempt by a deadline although its driver had started or ended in time.
// During transient errors this is allowed, because no live read is possible.
func (w *world) checkEarlyStops(plan lifecycle.Plan, seen lifecycle.Observed) {
	for _, tr := range plan.Transitions {
		if tr.To != lifecycle.Ended || seen.TransientError != nil {
			continue
		}

		for _, p := range w.pods {
			if !p.driver || p.attempt != tr.Attempt {
				continue
			}

			if p.gated && tr.Outcome == lifecycle.StartTimedOut {
				w.Fail("attempt %d ends by %s while its pod is gated", tr.Attempt, tr.Outcome)
			}

			if since := plan.Next.UngatedAt; tr.Outcome == lifecycle.StartTimedOut && !since.IsZero() &&
				since.Before(p.ungated) {
				w.Fail("attempt %d counts from %s, before its gates were removed at %s", tr.Attempt, since, p.ungated)
			}

			if started := !p.began.IsZero(); started && tr.Outcome == lifecycle.StartTimedOut || !p.ended.IsZero() &&
				tr.Outcome == lifecycle.RunTimedOut {
				w.Fail("attempt %d ends by %s, but its driver is %s", tr.Attempt, tr.Outcome, p.phase)
			}
		}
	}
}

// checkGateGrace fails if a plan reports a scheduling gate of a pod that is younger than 5 s.
func (w *world) checkGateGrace(plan lifecycle.Plan, seen lifecycle.Observed) {
	young := func(why lifecycle.Cause, made time.Time) bool {
		return why.Reason == lifecycle.ReasonSchedulingGated && w.Now.Sub(made) < 5*time.Second
	}
	for _, n := range plan.Notices {
		if n.Cause.Reason != lifecycle.ReasonSchedulingGated {
			continue
		}

		for _, d := range seen.Drivers {
			if n.Part == lifecycle.DriverPod && d.Attempt == n.Attempt && young(d.Why, d.CreatedAt) {
				w.Fail("a gate is reported too early: %+v", n)
			}
		}

		for _, e := range seen.Executors {
			if n.Part == lifecycle.Executors && e.Name == n.Name && young(e.Why, e.CreatedAt) {
				w.Fail("a gate is reported too early: %+v", n)
			}
		}
	}
}

// probe simulates the API server's answer to a probe. The answer is a rejection if a quota is used up.
func (w *world) probe(attempt int32, seen lifecycle.Observed) func(*lifecycle.Observed) {
	if d := seen.Driver(attempt); seen.ProbeResult != nil || d == nil || driverEnded(d) ||
		d.Phase == lifecycle.DriverPending {
		w.Fail("a probe for executors of attempt %d: driver %+v, answer %v", attempt, d, seen.ProbeResult)
	}

	answer := lifecycle.Cause{}
	if w.full {
		answer = lifecycle.Cause{Reason: "QuotaExceeded", Message: fmt.Sprint("quota, ", w.Int())}
	}
	return func(o *lifecycle.Observed) { o.ProbeResult = &answer }
}

// checkShortageReported checks the report of a shortage of executors with a known reason. The report must begin when
// the shortage has lasted for the time that queryDelay returns, and must end with the shortage.
func (w *world) checkShortageReported() {
	m := w.stored

	reported := m.Cause.Reason == "QuotaExceeded"
	switch short := !m.ShortSince.IsZero() && w.Now.Sub(m.ShortSince) >= queryDelay(m.Phase); {
	case !m.Phase.Live() || rank[m.Phase] < rank[lifecycle.Ready]:
		if !m.ShortSince.IsZero() {
			w.Fail("a shortage of executors is remembered in %s", m.Phase)
		}
	case !slices.ContainsFunc(w.pods, func(p *pod) bool {
		return p.driver && p.attempt == m.Attempt && p.phase == lifecycle.DriverRunning && !p.deleting
	}):
		// The state of the driver takes precedence.
	case reported && (!short || !w.full), !reported && short && w.full && m.Cause.Reason == "":
		w.Fail("reported: %v, capacity: %v, shortage of %s: %+v", reported, !w.full, w.Now.Sub(m.ShortSince), m.Cause)
	}
}

// checkRunDeadline checks that no run exceeds its deadline, even if the driver's node does not respond.
func (w *world) checkRunDeadline() {
	m, limit := w.stored, w.app.Deadlines.Run
	if ran := w.Now.Sub(m.SubmittedAt); m.Phase.Live() && limit > 0 && ran >= max(limit, w.app.MissingGrace) {
		w.Fail("in %s, %s after the launch, with a deadline of %s for the run", m.Phase, ran, limit)
	}
}

// existing returns a function that adds a pod of an earlier launch to the observation, if the pod was created for
// another restart request. Otherwise it returns nil, and the pod is adopted.
func (w *world) existing(p *pod) func(*lifecycle.Observed) {
	if p.request == w.app.RestartRequest {
		return nil
	}
	return func(o *lifecycle.Observed) { w.add(o, p) }
}

// launchSubmitter creates the submitter of an attempt, or adopts an existing one (existing).
func (w *world) launchSubmitter(attempt int32) func(*lifecycle.Observed) {
	for _, p := range w.pods {
		if p.submits && p.attempt == attempt {
			if p.deleting {
				lives.CutShort("the submitter is being deleted")
			}
			return w.existing(p)
		}
	}

	for _, p := range w.pods {
		if p.submits && !p.over() {
			w.Fail("submitter %d is created while submitter %d is %s", attempt, p.attempt, p.phase)
		}
	}

	w.pods = append(w.pods, &pod{submits: true, name: w.name, attempt: attempt, phase: lifecycle.DriverPending,
		made: w.Now, hash: w.app.SpecHash, request: w.app.RestartRequest})
	w.carried[attempt] = w.app.RestartRequest
	return nil
}

// makeDriver simulates the creation of a driver pod by the API server. It reports a broken invariant if the attempt had
// a driver before, or if another driver still exists.
func (w *world) makeDriver(made *pod) {
	if w.started[made.attempt]++; w.started[made.attempt] > 1 {
		w.Fail("attempt %d is started twice", made.attempt)
	}

	for _, p := range w.pods {
		if p.driver && (!p.over() || w.second != nil) {
			w.Fail("driver %d is created while driver %d is %s", made.attempt, p.attempt, p.phase)
		}
		// If the first launch was not stored, another launch with an edited spec may follow. The driver pod's name then
		// decides which of the two launches creates a driver.
		if !made.submitted && p.submits && p.attempt != made.attempt && !p.over() {
			w.Fail("driver %d is created while attempt %d is being submitted", made.attempt, p.attempt)
		}
	}

	made.gated = w.Chance(0.2)
	w.carried[made.attempt] = made.request
	w.pods = append(w.pods, made)
}

// rejection returns a function that adds a rejection to the observation.
func (w *world) rejection() func(*lifecycle.Observed) {
	reason := "Forbidden"
	if w.Chance(0.5) {
		reason = lifecycle.ReasonQuota
	}
	return func(o *lifecycle.Observed) { o.Rejection = &lifecycle.Cause{Reason: reason, Message: "no"} }
}

// create creates the objects of an attempt, and adopts existing objects. If the API server rejects an object, or the
// driver of another attempt already has the name, the result is a function that adds this to the observation, after
// which the pass decides again. Otherwise it is nil.
func (w *world) create(attempt int32, seen lifecycle.Observed) func(*lifecycle.Observed) {
	w.checkAdmitted(attempt)

	if w.app.Submitter != nil {
		w.injectError("between the Secret and the pod")

		if w.faults && w.Chance(0.15) {
			return w.rejection()
		}
		return w.launchSubmitter(attempt)
	}

	if !slices.Contains(w.remains, attempt) {
		w.remains = append(w.remains, attempt)
	}

	w.injectError("between the ConfigMap and the pod")

	if w.faults && w.Chance(0.15) {
		return w.rejection()
	}

	for _, p := range w.pods {
		if !p.driver || p.name != w.name {
			continue
		}

		if p.attempt == attempt {
			if p.deleting {
				lives.CutShort("the driver is being deleted")
			}
			return w.existing(p)
		}

		if seen.Driver(p.attempt) != nil {
			lives.CutShort("the old driver still exists")
		}
		return func(o *lifecycle.Observed) { w.add(o, p) }
	}

	w.makeDriver(&pod{driver: true, name: w.name, attempt: attempt, phase: lifecycle.DriverPending, made: w.Now,
		hash: w.app.SpecHash, request: w.app.RestartRequest})
	return nil
}

// delete marks the objects of an attempt as deleted, if the operator has observed them.
func (w *world) delete(a lifecycle.Action, seen lifecycle.Observed) {
	for _, p := range slices.Clone(w.pods) {
		known := seen.Driver(p.attempt) != nil
		switch {
		case p.submits:
			known = seen.Submitter(p.attempt) != nil
		case !p.driver:
			known = slices.ContainsFunc(seen.Executors,
				func(e lifecycle.Executor) bool { return e.Name == strconv.Itoa(p.exec) })
		}

		if p.attempt != a.Attempt || !known {
			continue
		}

		leads := p.driver || p.submits
		if a.Part == lifecycle.Attempt || a.Part == lifecycle.Executors && !leads || a.Part == lifecycle.DriverPod &&
			leads {
			if !leads {
				w.checkExecutorDeletion(a, seen)
			}

			if p.driver && !p.over() {
				w.stopped[p.attempt] = true
			}

			if w.second != nil && p.driver && !w.app.Deleting && w.stored.Phase.Live() &&
				w.stored.Attempt == p.attempt {
				w.Fail("driver %d is deleted before its end is stored", p.attempt)
			}

			p.deleting = true

			p.dead = p.dead || w.app.ForceAfter > 0 && !w.stored.Phase.Live() && w.Chance(0.1)
			if a.Force {
				w.remove(p)
			}
		}
	}

	if a.Part == lifecycle.DriverPod {
		w.budgets = slices.DeleteFunc(w.budgets, func(n int32) bool { return n == a.Attempt })
	}

	if a.Part == lifecycle.Attempt {
		w.remains = slices.DeleteFunc(w.remains, func(n int32) bool { return n == a.Attempt })
		w.budgets = slices.DeleteFunc(w.budgets, func(n int32) bool { return n == a.Attempt })
	}
}

// checkExecutorDeletion checks that the operator may delete the executors of an attempt. According to its observation,
// the driver must have ended, must no longer exist, or must be on a node that counts as dead.
func (w *world) checkExecutorDeletion(a lifecycle.Action, seen lifecycle.Observed) {
	d := seen.Driver(a.Attempt)
	if d != nil && !driverEnded(d) && !w.app.Deleting && (!d.Deleting || w.Now.Sub(d.GoneBy) <= overdue) {
		w.Fail("%v while its driver still runs: %+v", a, *d)
	}
}

func (w *world) settled() bool {
	p := w.stored.Phase
	return w.gone || (p.Terminal() || p == lifecycle.Suspended) && !w.requested() && w.queueSettled()
}

// turn advances the time. It runs a pass if the observed state has changed or the requested time has come. It reports
// whether a pass ran.
func (w *world) turn(t *testing.T, sync bool) bool {
	app, name, before := w.app, w.name, w.observed()
	w.tick()

	if !reflect.DeepEqual(app, w.app) {
		w.version++
		w.earlier = spec{app, name}
	}

	if w.advanceLatePass(); w.late != nil && !w.beside {
		return false
	}

	if sync {
		w.sync()
	}

	if w.Waits() && reflect.DeepEqual(app, w.app) && reflect.DeepEqual(before, w.observed()) {
		return false
	}

	if w.slow > 0 && w.faults && w.late == nil && w.Chance(0.1) {
		if w.overtake(); !w.beside {
			w.Due = w.Now
			return false
		}
	}

	w.Wake(w.pass(t))
	return true
}

// live simulates one life cycle of an application. In the first part, calls fail, users edit and nodes are lost. In the
// second part, none of this happens, and the application must end.
func (w *world) live(t *testing.T) {
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

	w.app.Hold = nil
	if w.app.Restart.Policy == lifecycle.Always {
		w.app.Restart.Policy = lifecycle.Never
	}

	w.Due = w.Now
	for range 400 {
		if w.settled() && w.quiet() {
			break
		}

		if !w.turn(t, true) {
			continue
		}

		if !w.gone {
			w.checkBudget()
			w.checkShortageReported()
			w.checkRunDeadline()
		}
	}

	if !w.settled() || !w.quiet() {
		w.Fail("stuck in %s, pods %d", w.stored.Phase, len(w.pods))
	}

	if w.stored.Phase.Terminal() && (w.stored.Outcome == lifecycle.Undecided || w.stored.EndedAt.IsZero()) {
		w.Fail("finished without an outcome or an end: %+v", w.stored)
	}

	w.checkRestartPolicy()
	w.restartsDone()
}

// quiet reports whether all pods have ended.
func (w *world) quiet() bool {
	return !slices.ContainsFunc(w.pods, func(p *pod) bool { return !p.over() })
}

// checkRestartPolicy checks that the number of runs agrees with the restart policy. It ignores life cycles with edits.
func (w *world) checkRestartPolicy() {
	if w.edits > 0 || w.lost || w.app.Restart.Policy != lifecycle.OnFailure {
		return
	}

	if runs := int32(len(w.started) - w.never - w.spared); runs > w.app.Restart.FailureRetries+1 {
		w.Fail("%d runs and %d suspended runs, with %d retries", runs, w.spared, w.app.Restart.FailureRetries)
	}
	// The number of runs must not be lower either, because a suspension uses up no retry.
	if over := w.stored.Phase.Terminal() && w.stored.Outcome != lifecycle.Succeeded &&
		w.stored.Outcome != lifecycle.Refused; over && w.stored.Runs != w.app.Restart.FailureRetries+1+int32(w.spared) {
		w.Fail("finished after %d runs, %d of them suspended, with %d retries", w.stored.Runs, w.spared,
			w.app.Restart.FailureRetries)
	}
	// An interrupted submission is retried once, whatever the policy says.
	if refused := w.stored.Submissions - w.stored.Runs; refused > max(w.app.Restart.SubmissionRetries, 1)+1 {
		w.Fail("%d rejected submissions with %d retries", refused, w.app.Restart.SubmissionRetries)
	}
}

// TestLives simulates many life cycles. If one of them breaks an invariant, the test prints its seed and its story.
func TestLives(t *testing.T) {
	t.Parallel()

	phases := map[lifecycle.Phase]int{}
	lives.Play(t, 750, func(seed uint64) *lives.Life {
		w := newWorld(seed)
		w.live(t)
		phases[w.stored.Phase]++
		return &w.Life
	})
	lives.CameTo(t, phases, lifecycle.Retained, lifecycle.Done, lifecycle.Suspended)
}
