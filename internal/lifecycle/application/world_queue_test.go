package application

import (
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// simulatedQueue is a queue with at most one request, that of the application. It admits, evicts and deactivates the
// request at random, and users delete it.
type simulatedQueue struct {
	request *request
	cached  *request // as the operator's cache has it
	lost    bool     // a user deleted the request of pods that ran
	seen    map[string]int
}

// request is a simulated request for quota.
type request struct {
	attempt                                        int32
	holder                                         int32 // the attempt whose driver the request is bound to
	reserved, evicted, inactive, started, finished bool
	deleting                                       bool
}

// facts returns what the operator observes of a request.
func (r *request) facts() *lifecycle.Quota {
	if r == nil {
		return &lifecycle.Quota{}
	}

	q := &lifecycle.Quota{Name: "w", Attempt: r.attempt, Requested: true, Reserved: r.reserved, Started: r.started, Finished: r.finished}
	if r.evicted && r.reserved || r.inactive {
		q.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
	}
	return q
}

func (q *simulatedQueue) tell(what string) {
	if q.seen == nil {
		q.seen = map[string]int{}
	}

	q.seen[what]++
}

// advance simulates the queue between two passes.
func (w *world) advanceQueue() {
	q := w.queue
	r := q.request

	switch {
	case r == nil:
	case r.deleting:
		if w.Chance(0.5) {
			q.request = nil
		}
	case r.inactive:
		r.inactive = w.users && !w.Chance(0.2)
	case w.users && w.Chance(0.02):
		q.tell("deactivated")
		w.Tell("queue: deactivated")

		r.inactive, r.evicted = true, r.reserved
	case w.users && w.Chance(0.01):
		q.tell("deleted")
		w.Tell("user: deletes the request")

		q.request, q.lost = nil, q.lost || w.usesQuota()
	case !r.reserved && w.Chance(0.4):
		w.Tell("queue: admitted for attempt %d", r.attempt)

		r.reserved, r.evicted = true, false
	case r.reserved && !r.finished && w.users && w.Chance(0.03):
		q.tell("evicted")
		w.Tell("queue: evicted")

		r.evicted = true
	}
}

// syncQueue copies the request into the operator's cache.
func (w *world) syncQueue() {
	if w.queue == nil {
		return
	}

	w.queue.cached = nil
	if r := w.queue.request; r != nil {
		w.queue.cached = new(*r)
	}
}

// usesQuota reports whether any pod may still use quota.
func (w *world) usesQuota() bool {
	return slices.ContainsFunc(w.pods, func(p *pod) bool { return !p.over() })
}

// actOnQueue carries out an action on the request. The result is the answer that the decision needs, or nil.
func (w *world) actOnQueue(a lifecycle.Action) func(*lifecycle.Observed) {
	q := w.queue

	frees := func(what string) {
		if w.usesQuota() {
			w.Fail("quota is given back (%s) while pods use it: %v", what, w.stored.Phase)
		}

		q.tell(what)
	}
	switch r := q.request; {
	case a == lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.QuotaRequest, Attempt: a.Attempt}:
		return w.ask(a.Attempt)
	case r == nil:
	case a.Verb == lifecycle.Delete:
		frees("released")

		if r.deleting = w.Chance(0.3); !r.deleting {
			q.request = nil
		}
	case a.Part == lifecycle.QuotaReturn && r.reserved:
		frees("returned")

		r.attempt, r.reserved, r.evicted, r.started = a.Attempt, false, false, false
	case a.Part == lifecycle.QuotaFinished:
		frees("finished")

		r.finished = true
	case a.Part == lifecycle.QuotaHeld:
		q.tell("held")

		r.holder = a.Attempt
	case a.Part == lifecycle.QuotaStarted:
		q.tell("started")

		r.started = true
	}
	return nil
}

// ask requests quota for an attempt.
func (w *world) ask(attempt int32) func(*lifecycle.Observed) {
	q := w.queue
	if q.request == nil {
		q.request = &request{attempt: attempt}
	}

	r := q.request
	if r.attempt == attempt && r.reserved && r.evicted && !r.deleting {
		if w.usesQuota() {
			w.Fail("an evicted reservation is given back while pods use it")
		}

		r.reserved, r.evicted = false, false
	}

	if !r.reserved {
		r.attempt = attempt
	}

	answer := r.facts()

	answer.Asked, answer.RequeueAfter = true, time.Minute
	if r.deleting || !r.reserved || r.evicted || r.inactive || r.attempt != attempt {
		answer.Wait = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "waits"}
	}

	q.cached = new(*r)
	return func(o *lifecycle.Observed) { o.Quota = answer }
}

// checkAdmitted checks that the pods of an attempt are created only with quota, and that no other pod uses it.
func (w *world) checkAdmitted(attempt int32) {
	if w.queue == nil {
		return
	}

	if r := w.queue.request; r == nil || !r.reserved || r.attempt != attempt {
		w.Fail("attempt %d is launched without quota: %+v", attempt, r)
	}

	if !w.queue.lost && slices.ContainsFunc(w.pods, func(p *pod) bool { return !p.over() && p.attempt != attempt }) {
		w.Fail("attempt %d is launched while other pods use its quota", attempt)
	}
}

// queueSettled reports whether the queue needs nothing more from the operator: no request is left, or it is that of
// kept pods and it was reported to the queue that they have ended.
func (w *world) queueSettled() bool {
	if w.queue == nil || w.queue.request == nil {
		return true
	}
	return w.stored.Phase == lifecycle.Retained && w.queue.request.finished
}

var quotaParts = []lifecycle.Part{lifecycle.QuotaRequest, lifecycle.QuotaReturn, lifecycle.QuotaStarted, lifecycle.QuotaHeld, lifecycle.QuotaFinished}

// TestLivesInAQueue simulates life cycles of applications in a queue.
func TestLivesInAQueue(t *testing.T) {
	t.Parallel()

	for name, create := range map[string]func(uint64) *world{"with submitters": newWorld, "with thresholds": newSecondWorld} {
		t.Run(name, func(t *testing.T) {
			seen, phases := map[string]int{}, map[lifecycle.Phase]int{}
			lives.Play(t, 750, func(seed uint64) *lives.Life {
				w := create(seed)

				w.queue = &simulatedQueue{seen: seen}
				if w.second != nil {
					w.liveSecond(t)
				} else {
					w.live(t)
				}

				phases[w.stored.Phase]++
				return &w.Life
			})
			lives.CameTo(t, seen, "evicted", "deactivated", "deleted", "released", "returned", "started", "held", "finished")
			lives.CameTo(t, phases, lifecycle.Retained, lifecycle.Done)
		})
	}
}
