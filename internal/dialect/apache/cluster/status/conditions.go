package status

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// Condition types that only clusters have. The other condition types of a cluster are in package dialect.
const (
	// ConditionProgressing is True while the cluster starts, starts again after a failure, or rolls out an edited spec.
	ConditionProgressing = dialect.ConditionProgressing
	// ConditionObjects is True if all objects of the cluster exist in the API server and match the spec of the
	// condition's observedGeneration. It is absent if no object is wanted.
	ConditionObjects = "ObjectsApplied"
)

// Reasons of conditions that the operator derives from the phase of the cluster. If the memory contains a cause
// (lifecycle.Cause), the condition has the reason of that cause instead.
const (
	reasonClusterRunning = "Running"
	reasonMaking         = "MakingObjects"
	reasonAwaitingPods   = "AwaitingPods"
	reasonRollingOut     = "RollingOut"
	reasonComplete       = "Complete"
	reasonReleasing      = "Releasing"
)

// passingConditions are the conditions that are either True or absent.
var passingConditions = []string{dialect.ConditionReconciling, dialect.ConditionStalled, dialect.ConditionDegraded, dialect.ConditionFailed, dialect.ConditionSuspended}

// ownConditions are all conditions that the operator writes for a cluster.
var ownConditions = append([]string{ConditionObjects, ConditionProgressing, dialect.ConditionReady}, passingConditions...)

// setConditions sets the conditions that apply to the cluster. It removes those conditions of
// passingConditions that do not apply.
func (d Decision) setConditions(sc *sparkv1.SparkCluster) {
	want, m, seen, objects, now := d.Want, d.Plan.Next, d.Seen, d.Objects, d.At

	var before []metav1.Condition
	if seen.TransientError != nil {
		before = slices.Clone(sc.Status.Conditions)
	}

	hold := map[string]lifecycle.Cause{}
	why := account(m)

	moves := m.Wants() && m.Phase != lifecycle.Waiting
	if m.Phase == lifecycle.Running {
		moves = holdRunning(hold, want, m, objects)
	} else {
		holdOther(hold, m, why)
	}

	dialect.KeepConditions(&sc.Status.Conditions, ownConditions, func(kind string) bool {
		_, holds := hold[kind]
		return slices.Contains(passingConditions, kind) && !holds || kind == ConditionObjects && !m.Wants()
	})

	for _, kind := range passingConditions {
		if cause, holds := hold[kind]; holds {
			SetCondition(sc, kind, metav1.ConditionTrue, cause, now)
		}
	}

	progress := metav1.ConditionFalse
	if moves {
		progress = metav1.ConditionTrue
	} else if m.Phase == lifecycle.Running && why.Reason == reasonRollingOut && want.Invalid != nil {
		why = *want.Invalid
	}

	SetCondition(sc, ConditionProgressing, progress, why, now)
	setReady(sc, want, m, why, now)

	if apache.TellsHold(want.Hold, m.Phase) {
		return // Ready names the hold, also during errors
	}

	dialect.EncodeTransientError(&sc.Status.Conditions, m.Phase, seen.TransientError, before, sc.Generation, now)
}

// holdRunning adds the conditions of a cluster that is in the phase Running to the map hold, which has condition types
// as keys and causes as values. The result is true if an edit is being rolled out.
func holdRunning(hold map[string]lifecycle.Cause, want cluster.Cluster, m cluster.Memory, objects cluster.Objects) (moves bool) {
	why := account(m)
	late := m.Cause.Reason == cluster.ReasonRolloutTimedOut

	moves = m.Rolling() && !late && objects.Refused == nil && want.Invalid == nil
	switch {
	case want.Invalid != nil:
		hold[dialect.ConditionStalled] = *want.Invalid
	case late:
		hold[dialect.ConditionStalled] = why
	case moves || objects.Refused != nil:
		hold[dialect.ConditionReconciling] = why
	}

	if m.Cause.Reason != "" && !moves {
		hold[dialect.ConditionDegraded] = m.Cause
	}
	return moves
}

// holdOther adds the conditions of a cluster that is not in the phase Running to the map hold. The argument why is the
// result of account.
func holdOther(hold map[string]lifecycle.Cause, m cluster.Memory, why lifecycle.Cause) {
	releases := lifecycle.Cause{Reason: reasonReleasing, Message: "the objects and pods of the cluster are being deleted"}
	switch m.Phase {
	case lifecycle.Ended:
		hold[dialect.ConditionReconciling], hold[dialect.ConditionFailed] = releases, why
	case lifecycle.Done:
		hold[dialect.ConditionStalled], hold[dialect.ConditionFailed] = why, why
	case lifecycle.Suspending:
		hold[dialect.ConditionReconciling] = releases
	case lifecycle.Suspended:
		hold[dialect.ConditionSuspended] = why
	default:
		hold[dialect.ConditionReconciling] = why
	}
}

// setReady sets the condition Ready. It is True if the cluster runs, its master is ready, and at least one
// worker is ready. If the spec requests no workers, the master is sufficient. While Ready is True, the condition
// Degraded reports missing pods. While the cluster is held, Ready is False.
func setReady(sc *sparkv1.SparkCluster, want cluster.Cluster, m cluster.Memory, why lifecycle.Cause, now time.Time) {
	s := &sc.Status

	ready, text := metav1.ConditionFalse, ""
	switch {
	case apache.TellsHold(want.Hold, m.Phase):
		why = *want.Hold
	case m.Phase != lifecycle.Running:
	case s.Masters.Ready == 0:
		text = "the master is not ready"
	case s.Workers.Ready == 0 && s.Workers.Desired > 0:
		text = "no worker is ready"
	default:
		ready, why = metav1.ConditionTrue, lifecycle.Cause{Reason: reasonClusterRunning}
		if stalled := meta.FindStatusCondition(s.Conditions, dialect.ConditionStalled); stalled != nil && stalled.Reason == lifecycle.ReasonInvalid {
			why.Message = "the cluster runs with the previous spec; the edited spec is invalid: " + stalled.Message
		}
	}

	if text != "" && m.Cause.Reason == "" {
		why.Message = text
	}

	SetCondition(sc, dialect.ConditionReady, ready, why, now)
}

// account returns why the cluster is not in its desired state. If the cluster is in its desired state, the
// reason of the cause is Complete.
func account(m cluster.Memory) lifecycle.Cause {
	if m.Cause.Reason != "" {
		return m.Cause
	}

	switch m.Phase {
	case lifecycle.Running:
		if m.Rolling() {
			return lifecycle.Cause{Reason: reasonRollingOut, Message: "the cluster's pods are being replaced one by one to match the edited spec"}
		}
		return lifecycle.Cause{Reason: reasonComplete, Message: "all pods of the cluster match its spec"}
	case lifecycle.Launched, lifecycle.Started:
		return lifecycle.Cause{Reason: reasonAwaitingPods, Message: "the pods of the cluster are starting"}
	}
	return lifecycle.Cause{Reason: reasonMaking, Message: "the objects of the cluster are being created"}
}

// SetObjects sets the condition ObjectsApplied to True if all objects match the current spec, and to False if one
// was rejected. While objects are being created or updated, the condition does not change.
func SetObjects(sc *sparkv1.SparkCluster, objects cluster.Objects, now time.Time) {
	switch {
	case objects.Refused != nil:
		SetCondition(sc, ConditionObjects, metav1.ConditionFalse, *objects.Refused, now)
	case objects.Stand:
		SetCondition(sc, ConditionObjects, metav1.ConditionTrue, lifecycle.Cause{Reason: reasonComplete}, now)
	}
}

// SetRelease writes into the condition Reconciling how many objects and pods of a failed cluster still exist, and
// why objects cannot be deleted.
func SetRelease(sc *sparkv1.SparkCluster, seen lifecycle.Observed, live []lifecycle.AuxiliaryObject, now time.Time) {
	if meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionReconciling) == nil {
		return
	}

	left := seen.AuxiliaryCount
	if lifecycle.Phase(sc.Status.Operator.Phase) == lifecycle.Suspending {
		left -= seen.AuxiliaryServices // which stay
	}

	why := lifecycle.Cause{Reason: reasonReleasing, Message: bounds.Count(left, "object") + " and " + bounds.Count(len(seen.Members), "pod") + " of the cluster are being deleted"}
	for _, cause := range dialect.ObjectFailures(live) {
		why.Reason, why.Message = cause.Reason, why.Message+"; "+cause.Message
	}

	SetCondition(sc, dialect.ConditionReconciling, metav1.ConditionTrue, why.Bounded(), now)
}

// StalledReported reports whether the condition Stalled already has the message of the given cause.
func StalledReported(sc *sparkv1.SparkCluster, why lifecycle.Cause) bool {
	stalled := meta.FindStatusCondition(sc.Status.Conditions, dialect.ConditionStalled)
	return stalled != nil && stalled.Message == why.Message
}

// SetCondition sets a condition. The argument kind is the condition's type. The transition time of the condition
// changes only if its status (True or False) changes.
func SetCondition(sc *sparkv1.SparkCluster, kind string, status metav1.ConditionStatus, why lifecycle.Cause, now time.Time) {
	dialect.SetCondition(&sc.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: dialect.UsableReason(cmp.Or(why.Reason, kind)), Message: why.Message,
	}, sc.Generation, now)
}
