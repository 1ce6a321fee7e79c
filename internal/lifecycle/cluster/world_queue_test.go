package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// queueOfWorld is a simulated queue. It admits, evicts and deactivates the request of the cluster at random, and users
// delete it.
type queueOfWorld struct {
	requested, reserved, evicted, inactive, started bool
	held                                            bool // the request is bound to the master
	attempt                                         int32
	workers                                         int32 // of the pods that are requested
	lost                                            bool  // a user deleted the request of pods that ran
	down                                            bool  // requests to the API server about the queue fail
}

func (q *queueOfWorld) facts() *lifecycle.Quota {
	if !q.requested {
		return &lifecycle.Quota{Name: "w"}
	}

	facts := lifecycle.Quota{Name: "w", Requested: true, Attempt: q.attempt, Reserved: q.reserved, Started: q.started, Unheld: q.reserved && !q.held}
	if q.evicted && q.reserved || q.inactive {
		facts = evicted(facts)
	}
	return &facts
}

// settled reports whether the queue needs nothing more from the operator.
func (q *queueOfWorld) settled(phase lifecycle.Phase) bool {
	if q == nil || !q.requested {
		return true
	}
	return phase == lifecycle.Running && q.reserved && q.started
}

// advance simulates the queue between two passes.
func (q *queueOfWorld) advance(w *world) {
	if q.down = !w.kind && w.Chance(0.15); q.down {
		w.Tell("queue: requests fail")
	}

	switch {
	case !q.requested:
	case q.inactive:
		q.inactive = !w.kind && !w.Chance(0.3)
	case !w.kind && w.Chance(0.02):
		w.Tell("queue: deactivated")

		q.inactive, q.evicted = true, q.reserved
	case !w.kind && w.Chance(0.01):
		w.Tell("user: deletes the request")

		*q = queueOfWorld{down: q.down, lost: q.lost || w.objects > services || len(w.pods) > 0}
	case !q.reserved && (w.kind || w.Chance(0.4)):
		w.Tell("queue: admitted")

		q.reserved, q.evicted = true, false
	case q.reserved && !w.kind && w.Chance(0.03):
		w.Tell("queue: evicted")

		q.evicted = true
	}
}

// act carries out an action of a plan. Its answer is added to the observation.
func (w *world) act(a lifecycle.Action, seen *lifecycle.Observed) {
	q := w.queue
	w.Tell("do %v", a)

	stale := q.reserved && q.workers != w.want.Workers
	replaces := a.Verb == lifecycle.Create && a.Part == lifecycle.QuotaRequest && (stale || q.evicted)

	frees := a.Verb == lifecycle.Delete || a.Part == lifecycle.QuotaReturn || replaces
	if frees && (len(w.pods) > 0 || w.objects > services) {
		w.Fail("quota is given back while pods or their objects exist: %v", a)
	}

	switch {
	case a.Verb == lifecycle.Confirm && a.Part == lifecycle.QuotaRequest:
		answer := q.facts()

		answer.Asked = true
		if stale && answer.Evicted == nil {
			answer.Evicted = &lifecycle.Cause{Reason: lifecycle.ReasonOtherPods, Message: "m"}
		}

		seen.Quota = answer
	case a.Verb == lifecycle.Confirm:
		seen.Confirmed, seen.PodsConfirmed = true, a.Part == lifecycle.Attempt
		seen.CacheBehind = slices.ContainsFunc(w.pods, func(p lifecycle.Member) bool {
			return !slices.ContainsFunc(seen.Members, func(m lifecycle.Member) bool { return m.Name == p.Name })
		})
	case a.Part == lifecycle.QuotaRequest && a.Verb == lifecycle.Delete:
		*q = queueOfWorld{}
	case a.Part == lifecycle.QuotaReturn:
		q.reserved, q.evicted, q.started, q.held = false, false, false, false
	case a.Part == lifecycle.QuotaHeld:
		q.held = true
	case a.Part == lifecycle.QuotaStarted:
		q.started = true
	case a.Part == lifecycle.QuotaRequest:
		if stale {
			*q = queueOfWorld{}
		}

		if !q.requested {
			q.requested, q.attempt = true, a.Attempt
		}

		if !q.reserved {
			q.workers = w.want.Workers
		}

		if q.reserved && q.evicted && len(w.pods) == 0 {
			q.reserved, q.evicted = false, false
		}

		answer := q.facts()

		answer.Asked = true
		if !q.reserved || q.evicted || q.inactive {
			answer.Wait, answer.RequeueAfter = &lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "waits"}, time.Minute
		}

		seen.Quota = answer
	}
}

// observe returns the facts about the queue at the start of a pass. If requests fail, the cache may lack the request.
func (q *queueOfWorld) observe(w *world) *lifecycle.Quota {
	if q.down && w.Chance(0.5) {
		return &lifecycle.Quota{Name: "w", Requested: true, Unread: true}
	}
	return q.facts()
}

// decideInSpite decides again after an action of the plan failed, with the error as a fact. It returns nil if the error
// is too recent to be a fact, so that the pass ends without a decision.
func (w *world) decideInSpite(t *testing.T, seen *lifecycle.Observed) *Plan {
	if w.Chance(0.5) {
		return nil
	}

	seen.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "TooManyRequests", Message: "m"}, Since: w.Now.Add(-time.Minute)}
	seen.Confirmed, seen.PodsConfirmed, seen.CacheBehind = false, false, false

	plan := Step(w.want, w.stored, *seen, w.known, w.Now)
	checkPlan(t, w.want, w.stored, *seen, w.known, w.Now, plan)

	if len(plan.Actions) > 0 {
		w.Fail("requested in spite of a transient error: %v", plan.Actions)
	}
	return &plan
}

// checkAdmitted checks that the objects of a cluster are created only with quota.
func (w *world) checkAdmitted() {
	if q := w.queue; q != nil && w.objects <= services && !q.reserved && !q.lost {
		w.Fail("the objects are created without quota: %+v", *q)
	}
}

// checkSize checks that the objects of a cluster get the size for which it has quota.
func (w *world) checkSize() {
	if q := w.queue; q != nil && q.reserved && !q.lost && q.workers != w.want.Workers {
		w.Fail("%d workers have the quota of %d", w.want.Workers, q.workers)
	}
}
