package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Facts that a queue reports about the request of a cluster.
var (
	unqueued = lifecycle.Quota{Name: "w"}
	inQueue  = lifecycle.Quota{Name: "w", Requested: true, Attempt: 1}
	admitted = lifecycle.Quota{Name: "w", Requested: true, Attempt: 1, Reserved: true}
	unread   = lifecycle.Quota{Name: "w", Requested: true, Unread: true}
)

func replied(q lifecycle.Quota, wait string) lifecycle.Quota {
	q.Asked = true
	if wait != "" {
		q.Wait, q.RequeueAfter = &lifecycle.Cause{Reason: wait, Message: "m"}, 2*time.Minute
	}
	return q
}

func evicted(q lifecycle.Quota) lifecycle.Quota {
	q.Evicted = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
	return q
}

// in adds what the queue reports to an observation.
func in(seen lifecycle.Observed, q lifecycle.Quota) lifecycle.Observed {
	seen.Quota = &q
	return seen
}

// allRead is an observation that a live read of all pods has confirmed.
func allRead(seen lifecycle.Observed) lifecycle.Observed {
	seen.Confirmed, seen.PodsConfirmed = true, true
	return seen
}

// TestQueue checks how a cluster waits in a queue, what an eviction does, and when quota is given back.
func TestQueue(t *testing.T) {
	none := lifecycle.Observed{}
	kept := lifecycle.Observed{AuxiliaryCount: 3, AuxiliaryServices: 3}
	left := lifecycle.Observed{Members: []lifecycle.Member{member("w-0", going)}, AuxiliaryCount: 3, AuxiliaryServices: 3}
	second := func(m *Memory) { m.Attempt = 2 }
	started, unheld := admitted, admitted
	started.Started, unheld.Unheld = true, true

	outgrown := replied(started, "")
	outgrown.Evicted = &lifecycle.Cause{Reason: lifecycle.ReasonOtherPods, Message: "m"}

	const pending, eviction, spec = lifecycle.ReasonQuotaPending, lifecycle.ReasonQueueEviction, lifecycle.ReasonSuspended

	create, remove, confirm := lifecycle.Create, lifecycle.Delete, lifecycle.Confirm
	for _, c := range []struct {
		row
		verb    lifecycle.Verb
		part    lifecycle.Part
		attempt int32
	}{
		{row{name: "new: quota is requested", want: two(), seen: in(none, unqueued)}, create, lifecycle.QuotaRequest, 1},
		{row{name: "new and admitted: a live read comes first", want: two(), seen: in(none, admitted), check: 5 * time.Second}, confirm, lifecycle.Attempt, 1},
		{row{name: "waits", want: two(), seen: in(none, replied(inQueue, pending)), reported: pending, cause: pending, check: 2 * time.Minute}, "", "", 0},
		{row{name: "waits already", want: two(), mem: memory(lifecycle.Resuming, because(pending)), seen: in(none, replied(inQueue, pending)), cause: pending,
			check: 2 * time.Minute}, "", "", 0},
		{row{name: "admitted: the objects are created", want: two(), seen: in(none, replied(admitted, "")), check: start}, "", "", 0},
		{row{name: "admitted, and all objects exist", want: two(), seen: in(none, replied(admitted, "")), objects: stand, trail: "Launched",
			reported: lifecycle.ReasonQuotaAdmitted, cause: ReasonMasterNotReady, check: start}, "", "", 0},
		{row{name: "held: the pending request is given back", want: two(suspended), seen: in(allRead(none), inQueue), check: 15 * time.Second},
			remove, lifecycle.QuotaRequest, 1},
		{row{name: "invalid", want: two(broken), seen: in(none, unqueued), trail: "Ended Done", cause: lifecycle.ReasonInvalid}, "", "", 0},
		{row{name: "what the queue adds is contradictory", want: two(), seen: func() lifecycle.Observed {
			o := in(none, unqueued)
			o.Rejection = &lifecycle.Cause{Reason: lifecycle.ReasonPlacement, Message: "m"}
			return o
		}(), trail: "Ended Done", cause: lifecycle.ReasonPlacement}, "", "", 0},

		{row{name: "it runs, and all pods are ready", want: two(), mem: memory(lifecycle.Running), seen: in(whole, admitted), objects: stand}, create, lifecycle.QuotaStarted, 1},
		{row{name: "it starts, and the request would go with the cluster", want: two(), mem: memory(lifecycle.Launched), seen: in(membersOf(), unheld), objects: stand, cause: ReasonMasterNotReady, check: repeatDelay},
			create, lifecycle.QuotaHeld, 1},
		{row{name: "the queue knows that it runs", want: two(), mem: memory(lifecycle.Running), seen: in(whole, started), objects: stand}, "", "", 0},
		{row{name: "it runs, and all workers are lost: the report stays", want: two(), mem: memory(lifecycle.Running), seen: in(membersOf(member("master")), started), objects: stand,
			reported: ReasonWorkersNotReady, cause: ReasonWorkersNotReady}, "", "", 0},
		{row{name: "it runs: evicted", want: two(), mem: memory(lifecycle.Running), seen: in(whole, evicted(admitted)), objects: stand, trail: "Suspending",
			cause: eviction, check: repeatDelay}, "", "", 0},
		{row{name: "it starts: evicted", want: two(), mem: memory(lifecycle.Launched), seen: in(membersOf(), evicted(admitted)), objects: stand, trail: "Suspending",
			cause: eviction, check: repeatDelay}, "", "", 0},
		{row{name: "the spec comes before the queue", want: two(suspended), mem: memory(lifecycle.Running), seen: in(whole, evicted(admitted)), trail: "Suspending",
			cause: spec, check: repeatDelay}, "", "", 0},
		{row{name: "evicted before anything exists", want: two(), seen: in(none, evicted(replied(admitted, pending))), reported: pending, cause: pending,
			check: 2 * time.Minute}, "", "", 0},
		{row{name: "deleted: nothing is given back", want: two(func(c *Cluster) { c.Deleting = true }), mem: memory(lifecycle.Running), seen: in(none, admitted)}, "", "", 0},
		{row{name: "the request was deleted by hand", want: two(), mem: memory(lifecycle.Running), seen: in(whole, unqueued), objects: stand}, "", "", 0},

		{row{name: "it runs, and its spec is edited: the queue is asked", want: two(edited), mem: memory(lifecycle.Running), seen: in(whole, started), objects: stand, check: start},
			confirm, lifecycle.QuotaRequest, 1},
		{row{name: "it starts, and its spec is edited: the queue is asked", want: two(edited), mem: memory(lifecycle.Launched), seen: in(membersOf(), started), objects: stand},
			confirm, lifecycle.QuotaRequest, 1},
		{row{name: "its spec is edited, and the request cannot be read: the queue is asked", want: two(edited), mem: memory(lifecycle.Running), seen: in(whole, unread), objects: stand, check: start},
			confirm, lifecycle.QuotaRequest, 1},
		{row{name: "its spec is edited, and the queue does not answer: the edit waits", want: two(edited), mem: memory(lifecycle.Running), seen: func() lifecycle.Observed {
			o := in(whole, unread)
			o.TransientError = &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "TooManyRequests"}}
			return o
		}(), objects: stand, check: start}, "", "", 0},
		{row{name: "the edited spec has quota for other pods", want: two(edited), mem: memory(lifecycle.Running), seen: in(whole, outgrown), objects: stand,
			trail: "Suspending", cause: eviction, check: repeatDelay}, "", "", 0},
		{row{name: "the quota is for the edited spec", want: two(edited), mem: memory(lifecycle.Running), seen: in(whole, replied(started, "")), objects: stand,
			reported: ReasonEdited, check: start}, "", "", 0},
		{row{name: "some objects exist: the queue is asked, and nothing is requested", want: two(), mem: memory(lifecycle.Waiting, because("Invalid")),
			seen: in(left, admitted), cause: "Invalid"}, confirm, lifecycle.QuotaRequest, 1},
		{row{name: "some objects exist, and have quota for others", want: two(), mem: memory(lifecycle.Waiting, because("Invalid")),
			seen: in(left, outgrown), trail: "Suspending", cause: eviction, check: repeatDelay}, "", "", 0},
		{row{name: "stopped because of other pods: a live read comes first", want: two(), mem: memory(lifecycle.Resuming, because(eviction)),
			seen: in(kept, admitted), cause: eviction, check: 5 * time.Second}, confirm, lifecycle.Attempt, 1},
		{row{name: "suspending: a pod is left", want: two(), mem: memory(lifecycle.Suspending, because(eviction)), seen: in(allRead(left), evicted(admitted)),
			cause: eviction, check: repeatDelay}, "", "", 0},
		{row{name: "suspending: no pod is left", want: two(), mem: memory(lifecycle.Suspending, because(eviction)), seen: in(kept, evicted(admitted)),
			trail: "Suspended", cause: eviction, check: time.Millisecond}, "", "", 0},
		{row{name: "suspended: a live read comes first", want: two(), mem: memory(lifecycle.Suspended, because(eviction)), seen: in(kept, evicted(admitted)),
			cause: eviction, check: 5 * time.Second}, confirm, lifecycle.Attempt, 1},
		{row{name: "suspended: the cache is behind", want: two(), mem: memory(lifecycle.Suspended, because(eviction)), seen: func() lifecycle.Observed {
			o := allRead(in(kept, evicted(admitted)))
			o.CacheBehind = true
			return o
		}(), cause: eviction, check: 5 * time.Second}, "", "", 0},
		{row{name: "suspended: quota is given back", want: two(), mem: memory(lifecycle.Suspended, because(eviction)), seen: in(allRead(kept), evicted(admitted)),
			cause: eviction, check: 15 * time.Second}, create, lifecycle.QuotaReturn, 1},
		{row{name: "suspended: still deactivated", want: two(), mem: memory(lifecycle.Suspended, because(eviction)), seen: in(kept, evicted(inQueue)), cause: eviction},
			"", "", 0},
		{row{name: "suspended: in the queue again", want: two(), mem: memory(lifecycle.Suspended, because(eviction)), seen: in(kept, inQueue), trail: "Resuming",
			cause: ReasonResumed}, create, lifecycle.QuotaRequest, 1},
		{row{name: "suspended by the spec as well", want: two(suspended), mem: memory(lifecycle.Suspended, because(eviction)), seen: in(allRead(kept), evicted(admitted)),
			cause: spec, check: 15 * time.Second}, remove, lifecycle.QuotaRequest, 1},
		{row{name: "resumed before the quota of the suspended cluster is given back", want: two(), mem: memory(lifecycle.Suspended, because(spec)),
			seen: in(allRead(kept), admitted), cause: spec, check: 15 * time.Second}, remove, lifecycle.QuotaRequest, 1},
		{row{name: "failed: its quota is given back", want: two(), mem: memory(lifecycle.Done, because(ReasonStartTimedOut)), seen: in(allRead(none), admitted),
			cause: ReasonStartTimedOut, check: 15 * time.Second}, remove, lifecycle.QuotaRequest, 1},
		{row{name: "started again: the old request goes first", want: two(), mem: memory(lifecycle.Resuming, second), seen: in(allRead(none), admitted),
			check: 15 * time.Second}, remove, lifecycle.QuotaRequest, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(t)

			var want []lifecycle.Action
			if c.verb != "" {
				want = []lifecycle.Action{{Verb: c.verb, Part: c.part, Attempt: c.attempt}}
			}

			if got := Step(c.want, c.mem, c.seen, c.objects, began.Add(c.after)).Actions; !slices.Equal(got, want) {
				t.Errorf("requested %v, want %v", got, want)
			}
		})
	}
}
