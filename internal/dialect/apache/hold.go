package apache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ReasonSuspendHeld is the reason of the condition Ready (False), and of an event, of a custom resource whose
// spec.suspend is true.
const ReasonSuspendHeld = "SuspendHeld"

// maxHeldState is the maximum length of a state in a message, in bytes.
const maxHeldState = 64

// Resource is the part of a custom resource that decides whether it is held.
type Resource struct {
	Suspend    *bool // spec.suspend
	State      string
	Known      bool // the state is one of this API
	Ours       bool // this operator has written the status before
	Deleting   bool
	Conditions []metav1.Condition
}

// Hold is why nothing may be started for a custom resource, and what else must not happen to it.
type Hold struct {
	// Cause is the reason, with the way out; nil if the resource is not held.
	Cause *lifecycle.Cause
	// Frozen reports that the operator must not decide about the resource at all, because another operator wrote its
	// status. Nothing is created, changed or deleted, and of the status only the condition Ready changes.
	Frozen bool
	// New reports that the condition Ready does not have the reason yet, so that an event is due.
	New bool
}

// HoldOf returns whether a custom resource is held. It is held if its spec requests the hold, or if this operator has
// no such state: a newer operator may have stopped the resource there on purpose. A resource that is being deleted is
// not held.
func HoldOf(r Resource) Hold {
	var c lifecycle.Cause

	state := lifecycle.Cut(fmt.Sprintf("%q", r.State), maxHeldState)
	switch {
	case r.Deleting:
		return Hold{}
	case !r.Known:
		c = lifecycle.Cause{Reason: dialect.ReasonOtherOperator, Message: "held in state " + state + ", which another operator wrote and this operator does not support; " +
			"nothing is started: let the other operator finish or resume it, or delete it and create it again"}
	case r.Suspend != nil && *r.Suspend && r.State == "":
		c = lifecycle.Cause{Reason: ReasonSuspendHeld, Message: "held before its start, because spec.suspend is true: set it to false to start"}
	case r.Suspend != nil && *r.Suspend:
		c = lifecycle.Cause{Reason: ReasonSuspendHeld, Message: "held in state " + state + ", because spec.suspend is true; nothing is started, and what runs continues: " +
			"set spec.suspend to false to go on, or delete the resource to stop what runs"}
	default:
		return Hold{}
	}

	ready := meta.FindStatusCondition(r.Conditions, dialect.ConditionReady)
	return Hold{Cause: &c, Frozen: !r.Ours || !r.Known, New: ready == nil || ready.Reason != c.Reason}
}

// SuspendWarnings returns the warning of a review about a spec that requests a hold.
func SuspendWarnings(suspend *bool) []string {
	if suspend == nil || !*suspend {
		return nil
	}
	return []string{"spec.suspend: is true, so the operator starts nothing until it is false; it does not stop what runs"}
}

// Notices returns the notice of a hold, if it is due.
func (h Hold) Notices() []lifecycle.Notice {
	if !h.New {
		return nil
	}
	return []lifecycle.Notice{{Part: lifecycle.Application, Cause: *h.Cause}}
}
