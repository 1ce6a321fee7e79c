package dialect

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ReasonSwitchedOff is the reason of the condition Exposed if a setting of the operator's configuration or of the spec
// does not allow a requested object.
const ReasonSwitchedOff = "SwitchedOff"

// Exposed contains the data from which the method Record computes an application's condition Exposed.
type Exposed struct {
	// Objects are the auxiliary objects that the application should have.
	Objects []submit.Object
	// Problems are the reasons why requested objects cannot be created.
	Problems []lifecycle.Cause
	// Live is true while the application runs. The message of the condition then says that it continues to run.
	Live bool
	// Generation is the generation of the custom resource.
	Generation int64
}

// withInheritedAsCurrent returns a copy of the list in which every inherited object is marked as current. The condition
// Exposed treats an inherited object as present, because it serves the same purpose as our own object.
func withInheritedAsCurrent(live []lifecycle.AuxiliaryObject) []lifecycle.AuxiliaryObject {
	out := slices.Clone(live)
	for i := range out {
		if out[i].Cause.Reason == lifecycle.ReasonInherited {
			out[i].Current, out[i].Cause = true, lifecycle.Cause{}
		}
	}
	return out
}

// Record sets the condition Exposed according to the state of the objects. It returns a warning event if the condition
// becomes False, or if it stays False with another reason or message.
func (e Exposed) Record(conditions *[]metav1.Condition, live []lifecycle.AuxiliaryObject, now time.Time) []Event {
	live = withInheritedAsCurrent(live)

	reason, message := "", ""
	for _, cause := range append(slices.Clone(e.Problems), ObjectFailures(live)...) {
		if message != "" {
			message += "; "
		}

		reason, message = cmp.Or(reason, cause.Reason), message+cause.Message
		// A spec may request many objects, and the API server's answers may be long.
		if len(message) > lifecycle.MaxMessage {
			break
		}
	}

	message = lifecycle.Cause{Message: message}.Bounded().Message
	condition := metav1.Condition{
		Type: ConditionExposed, Status: metav1.ConditionTrue, Reason: ConditionExposed,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: e.Generation,
	}

	stands := make(map[[2]string]bool, len(live))
	for i := range slices.Backward(live) { // the first object of a name counts, as in FindObject
		stands[[2]string{live[i].Kind, live[i].Name}] = live[i].Current
	}

	missing := slices.ContainsFunc(e.Objects, func(object submit.Object) bool {
		return !stands[[2]string{object.GetObjectKind().GroupVersionKind().Kind, object.GetName()}]
	})
	switch {
	case message != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, message
		if e.Live {
			condition.Message = "the application continues to run; " + message
		}
	case len(e.Objects) == 0:
		meta.RemoveStatusCondition(conditions, ConditionExposed)
		return nil
	case missing:
		return nil // some objects are still being created; the condition does not change
	}

	before := meta.FindStatusCondition(*conditions, ConditionExposed)
	changed := condition.Status == metav1.ConditionFalse && (before == nil || before.Reason != condition.Reason || before.Message != condition.Message)
	PutCondition(conditions, condition)

	if !changed {
		return nil
	}
	return []Event{{Type: corev1.EventTypeWarning, Reason: condition.Reason, Message: condition.Message}}
}

// Recorder returns a function that records the state of the objects (Record).
func (e Exposed) Recorder(conditions *[]metav1.Condition) func([]lifecycle.AuxiliaryObject, time.Time) []Event {
	return func(live []lifecycle.AuxiliaryObject, now time.Time) []Event { return e.Record(conditions, live, now) }
}

// FindObject returns the state of the object with the given kind and name, or nil if the list does not contain it.
func FindObject(live []lifecycle.AuxiliaryObject, kind, name string) *lifecycle.AuxiliaryObject {
	i := slices.IndexFunc(live, func(s lifecycle.AuxiliaryObject) bool { return s.Kind == kind && s.Name == name })
	if i < 0 {
		return nil
	}
	return &live[i]
}
