package cluster

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// world is a simulated Kubernetes with one Spark cluster. It ensures the objects that the state machine wants and
// creates pods from them. It also simulates faults: pods die, nodes are lost, images are missing, quotas reject
// objects, caches are late, users edit the spec, and the operator dies before a status write.
type world struct {
	lives.Life
	want Cluster

	stored  Memory  // the last written status
	known   Objects // the last known state of the objects
	objects int     // number of existing objects
	made    map[lifecycle.Role]string
	workers int32 // the wanted number in the StatefulSet
	pods    []lifecycle.Member
	cache   []lifecycle.Member
	seen    int // number of objects in the cache

	queue   *queueOfWorld // nil if the cluster is in no queue
	quota   bool          // whether a quota rejects an object
	noImage bool          // whether new pods lack their image, so that they do not become ready
	kind    bool          // whether failures have ended and users no longer act
	edits   int
	// requests is the number of restart requests so far.
	requests int
	earlier  Cluster // the desired state before the last change
	clashes  int     // status writes that conflicted with a change of the spec
	entered  []lifecycle.Phase
	ready    time.Time // when the master was last observed ready, or when its time limit began
}

func newWorld(seed uint64) *world {
	w := &world{Life: lives.New(seed, 21, began), want: two()}

	if seed%2 == 1 {
		w.queue = &queueOfWorld{}
	}

	w.want.Scales = w.IntN(4) == 0
	if w.IntN(6) == 0 { // another operator created the cluster
		w.stored = Memory{Phase: pick(generator{w.Rand}, lifecycle.Running, lifecycle.Waiting, lifecycle.New),
			Since: began, Attempt: 1, Adopted: true, Begun: began, Complete: began}
		if w.stored.Phase != lifecycle.Running {
			w.stored.Begun, w.stored.Complete = time.Time{}, time.Time{}
		}
	}
	return w
}

// tick advances the time. Meanwhile pods change, users act, and the cache may be updated, but no pass runs.
func (w *world) tick() {
	w.Now = w.Now.Add(time.Duration(1+w.IntN(20)) * time.Second)
	if !w.kind {
		w.trouble()
	}

	w.keepPods()

	if w.queue != nil {
		w.queue.advance(w)
	}

	if w.kind || w.Chance(0.7) {
		w.cache, w.seen = slices.Clone(w.pods), w.objects
	}
}

// trouble simulates a random fault or a random action of a user: an edit, a restart request, a quota, a missing image,
// a pod that dies, or a lost node.
func (w *world) trouble() {
	switch {
	case w.Chance(0.04):
		w.quota = !w.quota
	case w.Chance(0.04):
		w.noImage = !w.noImage
	case w.Chance(0.04):
		w.edit()
	case w.Chance(0.04):
		w.requestRestart()
	case w.Chance(0.04):
		w.toggleHold()
	case w.Chance(0.1) && len(w.pods) > 0:
		at := w.IntN(len(w.pods))
		w.Tell("%s dies", w.pods[at].Name)
		w.pods = slices.Delete(w.pods, at, at+1)
	case w.Chance(0.05) && len(w.pods) > 0:
		lost(&w.pods[w.IntN(len(w.pods))])
	}
}

// requestRestart requests a restart. The request is part of the pods' template, so the wanted pods change.
func (w *world) requestRestart() {
	w.earlier = w.want
	w.requests++

	w.want.RestartRequest = "r" + strconv.Itoa(w.requests)
	if w.want.Invalid == nil {
		made := map[lifecycle.Role]string{}
		for role, digest := range w.want.Made {
			spec, _, _ := strings.Cut(digest, "/")
			made[role] = spec + "/" + w.want.RestartRequest
		}

		w.want.Made = made
	}

	w.Tell("user: restart request %s", w.want.RestartRequest)
}

// toggleHold sets spec.suspend, or clears it.
func (w *world) toggleHold() {
	w.earlier = w.want
	w.edits++

	w.want.Generation, w.known = int64(1+w.edits), unknown
	if w.want.Hold == nil {
		w.want.Hold, w.want.Suspend = held, w.Chance(0.8) // a hold alone belongs to another operator's state
	} else {
		w.want.Hold, w.want.Suspend = nil, false
	}

	w.Tell("user: held %v, suspended %v", w.want.Hold != nil, w.want.Suspend)
}

// edit changes the spec.
func (w *world) edit() {
	w.earlier = w.want
	w.edits++
	request, hold, suspend := w.want.RestartRequest, w.want.Hold, w.want.Suspend
	w.want = two()
	w.want.RestartRequest, w.want.Hold, w.want.Suspend = request, hold, suspend
	w.want.Generation, w.known = int64(1+w.edits), unknown
	w.want.Workers = int32(w.IntN(4))

	w.want.Made = map[lifecycle.Role]string{lifecycle.Master: strconv.Itoa(w.IntN(3)) + "/" + request,
		lifecycle.Worker: strconv.Itoa(w.IntN(3)) + "/" + request}
	if w.Chance(0.2) {
		broken(&w.want)
	}

	w.Tell("user: edit to %d, invalid %v", w.want.Generation, w.want.Invalid != nil)
}

// conflict simulates a status write that the API server rejects, because a user changed the spec after the pass had
// read it. In about half of the cases the user restores the earlier spec.
func (w *world) conflict() {
	w.clashes++
	if w.earlier.Made == nil || w.Chance(0.5) {
		w.edit()
	} else {
		w.edits++
		w.want, w.earlier = w.earlier, w.want
		w.want.Generation, w.known = int64(1+w.edits), unknown
		w.Tell("user: restores the earlier spec, generation %d", w.want.Generation)
	}

	w.Tell("the status write conflicts with a change of the spec")
	w.Due = w.Now
}

// services is the number of Services among the objects of a cluster. They stay while the cluster is suspended.
const services = 2

// keepPods simulates how StatefulSets, nodes and the garbage collector create, change and delete pods.
func (w *world) keepPods() {
	if w.objects <= services {
		w.pods = slices.DeleteFunc(w.pods, func(lifecycle.Member) bool { return w.kind || w.Chance(0.5) })
		return
	}

	names := map[string]lifecycle.Role{"m": lifecycle.Master}
	for i := range w.workers {
		names["w-"+strconv.Itoa(int(i))] = lifecycle.Worker
	}

	w.pods = slices.DeleteFunc(w.pods, func(m lifecycle.Member) bool {
		role, wanted := names[m.Name]
		delete(names, m.Name)
		return !wanted || m.Generation != w.made[role] && w.Chance(0.3) || m.Phase == lifecycle.DriverUnknown &&
			w.Chance(0.2)
	})
	for i := range w.pods {
		switch p := &w.pods[i]; {
		case p.Phase == lifecycle.DriverUnknown:
		case w.noImage && !p.Ready:
			noImage(p)
		case w.kind || w.Chance(0.4):
			p.Phase, p.Ready, p.Why = lifecycle.DriverRunning, true, lifecycle.Cause{}
		}
	}

	for _, name := range slices.Sorted(keys(names)) {
		w.pods = append(w.pods, lifecycle.Member{Name: name, Role: names[name], Phase: lifecycle.DriverPending,
			Generation: w.made[names[name]]})
	}
}

func keys(roles map[string]lifecycle.Role) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range roles {
			if !yield(name) {
				return
			}
		}
	}
}

// pass simulates one pass of the operator. The operator decides, ensures the objects, and decides again with their new
// state. Unless it dies before, it then stores the result.
func (w *world) pass(t *testing.T) {
	w.Passes++
	seen := lifecycle.Observed{Members: slices.Clone(w.cache), AuxiliaryCount: w.seen, AuxiliaryServices: min(w.seen, services)}
	before := w.stored

	decided := w.decide(t, &seen)
	if decided == nil {
		w.Due = w.Now // the pass failed, and is repeated
		return
	}

	plan := *decided
	check, trail := plan.RequeueAfter, plan.Transitions

	goes := !plan.Next.Wants() && (w.want.Invalid == nil || plan.Next.Phase != lifecycle.Running)
	if plan.Next.Wants() && w.want.Invalid == nil && w.want.Hold == nil && !plan.Next.WaitsInQueue(seen) && !plan.Next.EditWaits(seen, w.want.Generation) {
		if plan.Next.asks() {
			w.checkAdmitted()
		}

		w.known = w.ensureObjects()
		reported := Step(w.want, plan.Next, seen, w.known, w.Now)
		checkPlan(t, w.want, plan.Next, seen, w.known, w.Now, reported)
		trail, plan = append(slices.Clone(trail), reported.Transitions...), reported
	}

	if !w.kind && w.Chance(0.1) {
		w.Tell("the operator dies")
		w.known = Objects{}
		return
	}

	if !w.kind && !reflect.DeepEqual(before, plan.Next) && w.Chance(0.2) {
		w.conflict()
		return
	}

	w.checkDecision(before, plan.Next, trail, seen)

	if plan.Next.RestartRequest != before.RestartRequest && plan.Next.RestartRequest != w.want.RestartRequest {
		w.Fail("the request %s is carried out, and the last one is %s", plan.Next.RestartRequest, w.want.RestartRequest)
	}

	if w.stored = plan.Next; goes { // after it is stored that the objects are not wanted
		w.objects = 0
		if plan.Next.Suspended() {
			w.objects = services
		}
	}

	w.Wake(check)
}

// decide decides until no action leads to another decision. It returns nil if an action failed and the pass ends.
func (w *world) decide(t *testing.T, seen *lifecycle.Observed) *Plan {
	if w.queue != nil {
		seen.Quota = w.queue.observe(w)
	}

	for range 7 {
		plan := Step(w.want, w.stored, *seen, w.known, w.Now)
		checkPlan(t, w.want, w.stored, *seen, w.known, w.Now, plan)

		if len(plan.Actions) > 0 && w.queue.down {
			return w.decideInSpite(t, seen)
		}

		again := false
		for _, a := range plan.Actions {
			w.act(a, seen)

			again = again || queue.LeadsToDecision(a)
		}

		if !again {
			return &plan
		}
	}

	w.Fail("the pass decides again and again")
	return nil
}

// ensureObjects ensures the cluster's objects and returns their state.
func (w *world) ensureObjects() Objects {
	switch {
	case w.quota && (w.objects < 7 || !reflect.DeepEqual(w.made, w.want.Made)):
		return refused
	case !w.kind && w.Chance(0.1):
		return unknown
	}

	w.checkSize()
	w.objects, w.made, w.workers = 7, w.want.Made, w.want.Workers
	return stand
}

// checkDecision checks the transitions of a decision. A cluster may fail only if no master was ready during its whole
// time limit, and never while it is Running. It may start again only after an edit or a restart request, or if its spec
// was invalid before.
func (w *world) checkDecision(before, after Memory, trail []lifecycle.Transition, seen lifecycle.Observed) {
	if after.Begun != before.Begun {
		w.ready = w.Now
	}

	for _, m := range seen.Members {
		if m.Role == lifecycle.Master && ready(&m) {
			w.ready = w.Now
		}
	}

	for _, tr := range trail {
		w.entered = append(w.entered, tr.To)
		w.Tell("%s -> %s: %s", tr.From, tr.To, tr.Cause.Reason)

		if tr.To == lifecycle.Ended && tr.Cause.Reason == ReasonStartTimedOut && w.Now.Sub(w.ready) < w.want.Start {
			w.Fail("failed %s after the master was last ready, or after its time limit began", w.Now.Sub(w.ready))
		}

		if tr.To == lifecycle.Ended && before.Phase == lifecycle.Running {
			w.Fail("a running cluster was ended")
		}

		resumed := tr.From == lifecycle.Suspended && !w.want.Suspend
		if tr.To == lifecycle.Resuming && !resumed && before.Generation == w.want.Generation && before.RestartRequest == w.want.RestartRequest && before.Cause.Reason != lifecycle.ReasonInvalid {
			w.Fail("started again without an edit")
		}
	}
}

// settled reports whether the cluster has reached its final state. It is used after the faults have ended.
func (w *world) settled() bool {
	m := w.stored
	switch m.Phase {
	case lifecycle.Running:
		return w.want.Invalid != nil || (w.want.RestartRequest == "" || m.RestartRequest == w.want.RestartRequest) &&
			m.Cause.Reason == "" && !m.Rolling()
	case lifecycle.Done:
		return len(w.pods) == 0 && w.objects == 0
	case lifecycle.Suspended, lifecycle.New, lifecycle.Waiting:
		return w.want.Suspend && len(w.pods) == 0 && w.objects <= services
	}
	return false
}

// TestWorlds simulates many clusters with faults. After the faults have ended, each cluster must either run completely
// and match its spec, or be suspended and have no pod left, or have failed and have no object left.
func TestWorlds(t *testing.T) {
	ends := map[lifecycle.Phase]int{}

	count := lives.Play(t, 50, func(seed uint64) *lives.Life {
		w := newWorld(seed)
		for range 80 {
			w.tick()
			w.pass(t)
		}

		if w.kind, w.quota, w.noImage = true, false, false; w.want.Hold != nil && (!w.want.Suspend || w.Chance(0.5)) {
			w.toggleHold()
		}

		for range 200 {
			w.tick()
			w.pass(t)
		}

		if !w.settled() {
			w.Fail("not settled: %+v, %d objects, pods %v, wanted %+v", w.stored, w.objects, w.pods, w.want)
		}

		if !w.queue.settled(w.stored.Phase) {
			w.Fail("the request in %s is %+v", w.stored.Phase, *w.queue)
		}
		ends[w.stored.Phase]++
		return &w.Life
	})
	if ends[lifecycle.Running] < count/4 || ends[lifecycle.Done] < count/40 || ends[lifecycle.Suspended] < count/40 {
		t.Errorf("too few clusters end in Running, Done or Suspended: %v", ends)
	}
}

// TestIdleWorld checks a cluster whose pods are never created. There are no events, so only the requested passes run.
// They must end the cluster at its time limit and delete all its objects.
func TestIdleWorld(t *testing.T) {
	w := newWorld(1)
	w.want, w.stored, w.kind, w.queue = two(), Memory{}, true, nil
	w.pass(t) // no pod is ever created

	for range 50 {
		if w.stored.Phase == lifecycle.Done {
			break
		}

		if w.Due.IsZero() {
			t.Fatalf("%s has no timer", w.stored.Phase)
		}

		w.Now = w.Due
		w.seen, w.cache = w.objects, nil
		w.pass(t)
	}

	if w.stored.Phase != lifecycle.Done || w.stored.Since.Sub(began) > start+time.Minute {
		t.Errorf("after %s: %s\n%s", w.stored.Since.Sub(began), w.stored.Phase, w.Story())
	}

	want := []lifecycle.Phase{lifecycle.Launched, lifecycle.Ended, lifecycle.Done}
	if !slices.Equal(w.entered, want) {
		t.Errorf("entered %v, want %v", w.entered, want)
	}
}
