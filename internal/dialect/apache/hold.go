package apache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Reasons of the condition Ready (False), and of an event, of a custom resource that is held.
const (
	ReasonSuspendHeld = "SuspendHeld" // spec.suspend is true
	ReasonEvicted     = lifecycle.ReasonQueueEviction
)

// maxHeldState is the maximum length of a state in a message, in bytes.
const maxHeldState = 64

// Resource is the part of a custom resource that decides whether it is held.
type Resource struct {
	Suspend       *bool // spec.suspend
	State         string
	SuspendReason sparkv1.SuspendReason // of the state
	Known         bool                  // the state is one of this API
	Queued        bool                  // a queue decides about the resource
	Deleting      bool
	Conditions    []metav1.Condition
}

// Hold is why nothing may be started for a custom resource, and what else must not happen to it.
type Hold struct {
	// Cause is the reason, with the way out; nil if the resource is not held.
	Cause *lifecycle.Cause
	// Suspends reports that what runs is stopped.
	Suspends bool
	// Frozen reports that the operator must not decide about the resource at all, because another operator wrote a state
	// that this operator does not know. Nothing is created, changed or deleted, and of the status only the condition
	// Ready changes.
	Frozen bool
	// New reports that the condition Ready does not have the reason yet, so that an event is due.
	New bool
}

// HoldOf returns whether a custom resource is held. It is held if its spec suspends it, if Kueue has evicted it and it
// is in no queue now, or if this operator has no such state: a newer operator may have stopped the resource there on
// purpose. A resource that is being deleted is not held.
func HoldOf(r Resource) Hold {
	var h Hold

	switch {
	case r.Deleting:
		return h
	case !r.Known:
		h.Frozen = true
		h.Cause = &lifecycle.Cause{Reason: dialect.ReasonOtherOperator, Message: "held in state " + lifecycle.Cut(fmt.Sprintf("%q", r.State), maxHeldState) +
			", which another operator wrote and this operator does not support; nothing is started: let the other operator finish or resume it, or delete it and create it again"}
	case dialect.Suspended(r.Suspend):
		h.Suspends = true
		h.Cause = &lifecycle.Cause{Reason: ReasonSuspendHeld, Message: "nothing is started, because spec.suspend is true: set it to false to start"}
	case r.SuspendReason == sparkv1.KueueEviction && !r.Queued:
		h.Suspends = true
		h.Cause = &lifecycle.Cause{Reason: ReasonEvicted, Message: "Kueue evicted it, and it is in no queue of this operator (kueue.enabled); nothing is started: " +
			"put it into a queue, or set spec.suspend to true and then to false to start it without a queue"}
	default:
		return h
	}

	ready := meta.FindStatusCondition(r.Conditions, dialect.ConditionReady)
	h.New = ready == nil || ready.Reason != h.Cause.Reason
	return h
}

// TellsHold reports whether the condition Ready and an event have to name a hold. A custom resource that was stopped
// has the state Suspended instead, but only the hold says that Kueue evicted it.
func TellsHold(hold *lifecycle.Cause, phase lifecycle.Phase) bool {
	switch {
	case hold == nil, phase.Terminal(), phase == lifecycle.Ended:
		return false
	case phase == lifecycle.Suspending, phase == lifecycle.Suspended:
		return hold.Reason == ReasonEvicted
	}
	return true
}

// Notices returns the notice of a hold, if it is due.
func (h Hold) Notices() []lifecycle.Notice {
	if !h.New {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Cause: *h.Cause}}
}
