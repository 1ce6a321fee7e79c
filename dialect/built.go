package dialect

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Built holds the objects of an attempt that a decision rendered to find out whether the attempt can be launched.
// Render reuses these objects, so the attempt is not rendered twice.
type Built struct {
	Attempt int32
	ID      string    // the attempt's id
	At      time.Time // time of the submission
	Objects submit.Objects
}

// NextAttempt returns the number of the attempt that a decision may launch. If m.Attempt is the largest int32, the
// result is 1, but the state machine launches no attempt (lifecycle.ReasonNoAttempts).
func NextAttempt(m lifecycle.Memory) int32 { return max(m.Attempt+1, 1) }

// AttachTo attaches the built objects to the action in the plan that launches the same attempt, if there is such an
// action. If b is nil, AttachTo does nothing.
func (b *Built) AttachTo(plan lifecycle.Plan) {
	for i := range plan.Actions {
		if a := &plan.Actions[i]; b != nil && a.Verb == lifecycle.Create && a.Part == lifecycle.Submission && a.Attempt == b.Attempt {
			a.Built = b
		}
	}
}

// Launched returns the objects of a launch. The action may contain objects that the decision has built already (Built).
// If these are for the same attempt, id and submission time, Launched returns a copy of them. Otherwise it calls the
// function build.
func Launched(action lifecycle.Action, id string, at time.Time, build func() (submit.Objects, *lifecycle.Cause, error)) (submit.Objects, error) {
	if b, ok := action.Built.(*Built); ok && b.Attempt == action.Attempt && b.ID == id && b.At.Equal(at) {
		return b.Objects.DeepCopy(), nil
	}
	objects, _, err := build()
	return objects, err
}
