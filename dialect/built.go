package dialect

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Built is what a decision built of the attempt that may follow from it, to know whether it can be: what Render would build again.
type Built struct {
	Attempt int32
	ID      string    // of the attempt
	At      time.Time // of the submission
	Objects submit.Objects
}

// NextAttempt is the attempt that a decision may launch. The last one has none after it.
func NextAttempt(m lifecycle.Memory) int32 { return max(m.Attempt+1, 1) }

// Offer gives what was built, if anything was, to the action that launches the attempt, if there is one.
func (b *Built) Offer(plan lifecycle.Plan) {
	for i := range plan.Do {
		if a := &plan.Do[i]; b != nil && a.Verb == lifecycle.Create && a.Part == lifecycle.Submission && a.Attempt == b.Attempt {
			a.Built = b
		}
	}
}

// Launched returns a copy of what was built for an action, where the attempt's id and the time of its submission are those that it was built for; else what is
// built now.
func Launched(action lifecycle.Action, id string, at time.Time, build func() (submit.Objects, *lifecycle.Cause, error)) (submit.Objects, error) {
	if b, ok := action.Built.(*Built); ok && b.Attempt == action.Attempt && b.ID == id && b.At.Equal(at) {
		return b.Objects.DeepCopy(), nil
	}
	objects, _, err := build()
	return objects, err
}
