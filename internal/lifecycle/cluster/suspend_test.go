package cluster

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func suspended(c *Cluster) { c.Suspend, c.Hold = true, held }

// TestSuspend checks that a suspension stops a cluster in every phase in which something of it may exist, holds it in
// the others, and that the cluster starts again only when all its pods are gone.
func TestSuspend(t *testing.T) {
	none := lifecycle.Observed{}
	kept := lifecycle.Observed{AuxiliaryCount: 3, AuxiliaryServices: 3}
	left := lifecycle.Observed{Members: []lifecycle.Member{member("w-0", going)}, AuxiliaryCount: 3, AuxiliaryServices: 3}

	const cause = lifecycle.ReasonSuspended
	for _, r := range []row{
		{name: "held before its start", want: two(suspended), seen: none},
		{name: "held while its objects are rejected", want: two(suspended), mem: memory(lifecycle.Waiting, because("QuotaExceeded")), seen: none, cause: "QuotaExceeded"},
		{name: "another operator created it without a status", want: two(suspended), mem: Memory{Adopted: true}, seen: whole, trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "some objects exist", want: two(suspended), mem: memory(lifecycle.Waiting), seen: membersOf(), trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "its pods start", want: two(suspended), mem: memory(lifecycle.Launched), seen: membersOf(), objects: stand, trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "the workers start", want: two(suspended), mem: memory(lifecycle.Started), seen: whole, objects: stand, trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "it runs", want: two(suspended), mem: memory(lifecycle.Running), seen: whole, objects: stand, trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "it runs, and the spec is invalid", want: two(broken, suspended), mem: memory(lifecycle.Running), seen: whole, trail: "Suspending", cause: cause, check: repeatDelay},
		{name: "resumed and suspended at once", want: two(suspended), mem: memory(lifecycle.Resuming), seen: kept, trail: "Suspending Suspended", cause: cause},
		{name: "it has failed", want: two(suspended), mem: memory(lifecycle.Done, because(ReasonStartTimedOut)), seen: none, cause: ReasonStartTimedOut},

		{name: "a pod is left", want: two(suspended), mem: memory(lifecycle.Suspending, because(cause)), seen: left, cause: cause, check: repeatDelay},
		{name: "an object is left", want: two(suspended), mem: memory(lifecycle.Suspending, because(cause)), seen: lifecycle.Observed{AuxiliaryCount: 4, AuxiliaryServices: 3}, cause: cause, check: repeatDelay},
		{name: "a pod is left for too long", want: two(suspended), mem: memory(lifecycle.Suspending, because(cause)), seen: left, after: 5 * time.Minute,
			reported: ReasonPodsRemain, cause: ReasonPodsRemain, check: repeatDelay},
		{name: "the pod that is left was reported", want: two(suspended), mem: memory(lifecycle.Suspending, because(ReasonPodsRemain)), seen: left, after: time.Hour,
			cause: ReasonPodsRemain, check: repeatDelay},
		{name: "resumed while a pod is left", want: two(), mem: memory(lifecycle.Suspending, because(cause)), seen: left, cause: cause, check: repeatDelay},
		{name: "only Services are left", want: two(suspended), mem: memory(lifecycle.Suspending, because(cause)), seen: kept, trail: "Suspended", cause: cause},

		{name: "suspended", want: two(suspended), mem: memory(lifecycle.Suspended, because(cause)), seen: kept, cause: cause},
		{name: "suspended, and the caches were late", want: two(), mem: memory(lifecycle.Suspended, because(cause)), seen: left, cause: cause, check: repeatDelay},
		{name: "suspended, and edited", want: two(edited, suspended), mem: memory(lifecycle.Suspended, because(cause)), seen: kept, cause: cause},
		{name: "resumed", want: two(), mem: memory(lifecycle.Suspended, because(cause)), seen: kept, trail: "Resuming", cause: ReasonResumed, check: start},
		{name: "resumed with an invalid spec", want: two(broken), mem: memory(lifecycle.Suspended, because(cause)), seen: none, trail: "Resuming Ended Done", cause: lifecycle.ReasonInvalid},
		{name: "held for another reason", want: two(func(c *Cluster) { c.Hold = held }), mem: memory(lifecycle.Suspended, because(cause)), seen: kept, cause: cause},
	} {
		t.Run(r.name, r.run)
	}

	resumed := Step(two(edited, func(c *Cluster) { c.RestartRequest = "r1" }), memory(lifecycle.Suspended, adopted), kept, unknown, began).Next
	if resumed.Generation != 2 || resumed.RestartRequest != "r1" || resumed.Attempt != 1 || resumed.Adopted || !resumed.Begun.IsZero() {
		t.Errorf("a resumed cluster does not follow its spec as the same attempt: %+v", resumed)
	}
}
