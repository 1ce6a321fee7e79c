// Package queue has the rules by which the state machines of applications and clusters treat a queue (lifecycle.Quota).
//
// A launch needs quota. An eviction by the queue stops what runs, as a suspension does. Quota is given back only after
// the reason is stored and a live read has found no pod that uses it. An evicted request keeps its place in the queue.
package queue

import (
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// repeatDelay is the time after which an action without effect is requested again.
	repeatDelay = 15 * time.Second
	// rereadDelay is the time after which a live read is repeated if the last one found the cache behind.
	rereadDelay = 5 * time.Second
)

// Stage is what a custom resource does with its quota.
type Stage int

// These are the stages.
const (
	Over    Stage = iota // nothing runs, and nothing may be launched soon: quota is given back
	Waits                // the next launch needs quota
	Runs                 // pods run, or are being stopped
	Ready                // pods run, and all of them are ready
	Kept                 // pods have ended, and are kept
	Evicted              // the queue evicted the pods, and waits for its quota
)

// Resource is what the rules need to know about a custom resource in a queue.
type Resource struct {
	Seen  lifecycle.Observed
	Stage Stage
	// Last and Next are the numbers of the last and of the next attempt.
	Last, Next int32
	// Enters reports that the plan enters a phase, so that its reason is not stored yet.
	Enters bool
	// Exists reports that pods of the next attempt may exist already, because a cluster has only one set of pods.
	Exists bool
	// AllPods reports that quota may be requested again only after a live read of all pods.
	AllPods bool
	// Blocked reports that actions would fail now, or that the plan deletes objects first.
	Blocked bool
}

// Decision is what follows from the rules.
type Decision struct {
	Waits  bool             // no launch is possible now
	Action lifecycle.Action // the zero Action requests nothing
	Cause  lifecycle.Cause  // the wait reason, if Waits is true and the queue has given one
	After  time.Duration    // another pass is needed after this time; 0 means that no time limits the wait
}

// Wait decides whether a launch has to wait. It requests quota for the next attempt if this pass has not done so yet,
// and the answer leads to another decision in the same pass.
//
// An earlier attempt's request is given back first (Settle). A request that holds quota may belong to a launch that was
// not stored. The queue may take such a request back when it is asked, so a live read comes before.
func (r Resource) Wait() Decision {
	q := r.Seen.Quota
	switch {
	case q == nil, q.Asked && q.Wait == nil && !r.holdsOld():
		return Decision{}
	case r.holdsOld():
		return Decision{Waits: true, After: repeatDelay}
	case q.Asked:
		return Decision{Waits: true, Cause: *q.Wait, After: q.RequeueAfter}
	case q.Reserved && r.Exists:
		return Decision{Waits: true, Action: Compare(r.Next)}
	case q.Reserved && r.unread():
		return r.read()
	}
	return Decision{Waits: true, Action: lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.QuotaRequest, Attempt: r.Next}}
}

// unread reports whether pods may exist that were not observed.
func (r Resource) unread() bool {
	return !r.Seen.Confirmed || r.AllPods && (!r.Seen.PodsConfirmed || r.Seen.CacheBehind)
}

// read waits for a live read of the pods, or for the cache after it.
func (r Resource) read() Decision {
	reads := Decision{Waits: true, After: rereadDelay}
	switch {
	case !r.AllPods:
		reads.Action = lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: r.Last}
	case !r.Seen.PodsConfirmed:
		reads.Action = lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.Attempt, Attempt: r.Last}
	}
	return reads
}

// Compare returns the action that asks whether the quota of an attempt is for the pods of the present spec.
func Compare(attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.QuotaRequest, Attempt: attempt}
}

// holdsOld reports whether the request is that of an earlier attempt, which the next attempt must not use.
func (r Resource) holdsOld() bool {
	q := r.Seen.Quota
	return q.Requested && (q.Finished || q.Reserved && q.Attempt > 0 && q.Attempt < r.Next)
}

// Settle decides what the queue has to learn in the current stage. Nothing is given back in a pass that enters a phase.
// If a pod still uses the quota, its events start the next pass.
func (r Resource) Settle() Decision {
	action := r.action()
	switch {
	case action == lifecycle.Action{}:
		return Decision{}
	case r.Blocked:
		return Decision{After: repeatDelay}
	case action.Part == lifecycle.QuotaStarted:
		return Decision{Action: action}
	case action.Part == lifecycle.QuotaHeld:
		return Decision{Action: action, After: repeatDelay}
	case Used(r.Seen):
		return Decision{}
	case r.Enters:
		return Decision{After: time.Millisecond}
	case !r.Seen.PodsConfirmed:
		return Decision{Action: lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.Attempt, Attempt: r.Last}, After: rereadDelay}
	case r.Seen.CacheBehind:
		return Decision{After: rereadDelay}
	}
	return Decision{Action: action, After: repeatDelay}
}

// action returns what the queue has to learn, or the zero Action. Settle checks that no pod uses quota that is given
// back.
func (r Resource) action() lifecycle.Action {
	q := r.Seen.Quota
	report := func(part lifecycle.Part, attempt int32) lifecycle.Action {
		return lifecycle.Action{Verb: lifecycle.Create, Part: part, Attempt: attempt}
	}

	switch none := (lifecycle.Action{}); {
	case q == nil, !q.Requested:
		return none
	case (r.Stage == Runs || r.Stage == Ready) && q.Unheld:
		return report(lifecycle.QuotaHeld, r.Last)
	case r.Stage == Runs:
		return none
	case r.Stage == Ready && (q.Started || !q.Reserved), r.Stage == Kept && q.Finished, r.Stage == Evicted && !q.Reserved, r.Stage == Waits && !r.holdsOld():
		return none
	case r.Stage == Ready:
		return report(lifecycle.QuotaStarted, r.Last)
	case r.Stage == Kept:
		return report(lifecycle.QuotaFinished, r.Last)
	case r.Stage == Evicted:
		return report(lifecycle.QuotaReturn, r.Next)
	}
	return lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.QuotaRequest, Attempt: r.Last}
}

// LeadsToDecision reports whether the answer to an action leads to another decision in the same pass.
func LeadsToDecision(a lifecycle.Action) bool {
	return a.Verb == lifecycle.Confirm || a.Verb == lifecycle.Create && a.Part == lifecycle.QuotaRequest
}

// Used reports whether an observed pod may still use quota. A pod uses none when all its containers have ended.
func Used(seen lifecycle.Observed) bool {
	uses := func(phase lifecycle.DriverPhase, lingers bool) bool {
		return phase != lifecycle.DriverSucceeded && phase != lifecycle.DriverFailed || lingers
	}
	return len(seen.Members) > 0 ||
		slices.ContainsFunc(seen.Drivers, func(d lifecycle.Driver) bool { return uses(d.Phase, d.Lingering != "") }) ||
		slices.ContainsFunc(seen.Executors, func(e lifecycle.Executor) bool { return uses(e.Phase, e.Lingers) }) ||
		slices.ContainsFunc(seen.Submitters, func(r lifecycle.Submitter) bool { return uses(r.Phase, false) })
}

// Gone reports whether no request is left.
func Gone(seen lifecycle.Observed) bool { return seen.Quota == nil || !seen.Quota.Requested }

// Eviction returns why the queue wants its quota back, and whether it does. The argument noun names the custom
// resource.
func Eviction(seen lifecycle.Observed, noun string) (lifecycle.Cause, bool) {
	if seen.Quota == nil || seen.Quota.Evicted == nil {
		return lifecycle.Cause{}, false
	}

	why := seen.Quota.Evicted
	if why.Reason == lifecycle.ReasonOtherPods {
		return lifecycle.Cause{Reason: lifecycle.ReasonQueueEviction, Message: "the " + noun + " is stopped, and requests quota again: " + why.Message}, true
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonQueueEviction, Message: "Kueue evicted the " + noun + ": " + why.Reason + ": " + why.Message}, true
}

// Admitted returns the notice that the queue has admitted an attempt that is launched, if it has.
func Admitted(seen lifecycle.Observed, attempt int32) []lifecycle.Notice {
	if seen.Quota == nil || !seen.Quota.Reserved {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Attempt: attempt, Cause: lifecycle.Cause{
		Reason: lifecycle.ReasonQuotaAdmitted, Message: "Kueue admitted Workload " + seen.Quota.Name + "; the pods are created"}}}
}
