package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// replyLifetime is the time after which the operator first repeats a creation that waits for a change in the namespace.
// It grows (lifecycle.QueryInterval), because many applications may wait for hours, and each creation of a driver also
// creates and deletes its other objects.
const replyLifetime = 15 * time.Second

// remembered carries out a creation, unless the API server rejected the same creation less than replyLifetime ago. It
// then returns the same rejection without a request. Executor churn, or the deletion of the objects that were created
// before the rejection, would otherwise repeat the requests many times a second.
//
// Two rejections are remembered: of the objects of a live attempt, and of a pod that a quota rejects.
func (a Applier) remembered(view dependents.View, action lifecycle.Action, create func() (Outcome, error)) (Outcome, error) {
	asked := apianswer.Question{Key: identity.Key(view.Owner), Part: action.Part}
	// An edit may end the rejection.
	asker := types.UID(fmt.Sprintf("%s/%d", view.Owner.GetUID(), view.Owner.GetGeneration()))
	if cause, fresh := a.Replies.Last(asked, asker, action.Attempt, view.Now); fresh {
		return Outcome{Fact: RejectionFact(cause)}, nil
	}

	outcome, err := create()
	if outcome.Fact == nil || err != nil {
		return outcome, err
	}
	var seen lifecycle.Observed
	outcome.Fact(&seen)

	if why := seen.Rejection; why != nil && (action.Part == lifecycle.DriverObjects || why.Reason == lifecycle.ReasonQuota) {
		since := view.Now
		if last, _ := a.Replies.Get(asked); last.UID == asker && last.Attempt == action.Attempt {
			since = last.Since
		}

		again := max(replyLifetime, lifecycle.QueryInterval(view.Now.Sub(since)))
		a.Replies.Set(asked, apianswer.Reply{UID: asker, Attempt: action.Attempt, Since: since, Until: view.Now.Add(again), Cause: *why})
	}
	return outcome, nil
}

// restore creates those objects of a live attempt that a launch creates before the driver pod, and that have not
// existed for lifecycle.StopDuration.
func (a Applier) restore(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	if a.mayBeStopping(view, action) {
		return Outcome{}, nil
	}

	action.Part, d.Begun = lifecycle.Submission, d.Plan.Next.SubmittedAt

	objects, cause := a.render(d, action)
	if cause != nil {
		return Outcome{Fact: RejectionFact(*cause)}, nil
	}

	var missing []client.Object
	for _, object := range objects.Before {
		exists := slices.ContainsFunc(view.Set.Others, func(other metav1.PartialObjectMetadata) bool {
			return other.Kind == dependents.KindOf(object) && other.Name == object.GetName()
		})
		if exists || !dependents.IsDriverObject(object) {
			continue
		}

		if err := identity.Verify(object, view.Owner, action.Attempt); err != nil {
			return Outcome{}, err
		}

		missing = append(missing, object)
	}

	outcome, err := a.createAll(ctx, view, missing, objects.Driver)
	if err == nil && outcome.Fact == nil {
		a.Replies.Forget(stopQuestion(view))
	}

	outcome.Restored = outcome.Created
	return outcome, err
}

// absence is the time for which the operator remembers that objects are missing. It is longer than the longest interval
// between two tries of their creation, so that the reason of a rejection stays in the status.
const absence = 2 * time.Minute

// mayBeStopping reports whether the driver may have deleted the missing objects itself because it stops. That is so
// until they have been missing for lifecycle.StopDuration.
func (a Applier) mayBeStopping(view dependents.View, action lifecycle.Action) bool {
	asked, reply := stopQuestion(view), apianswer.Reply{UID: view.Owner.GetUID(), Attempt: action.Attempt, Until: view.Now.Add(lifecycle.StopDuration)}

	last, known := a.Replies.Get(asked)
	if known && last.UID == reply.UID && last.Attempt == action.Attempt && view.Now.Before(last.Until.Add(absence)) {
		if view.Now.Before(last.Until) {
			return true
		}

		reply.Until = view.Now
	}

	a.Replies.Set(asked, reply)
	return reply.Until.After(view.Now)
}

func stopQuestion(view dependents.View) apianswer.Question {
	return apianswer.Question{Key: identity.Key(view.Owner), Part: lifecycle.DriverPod}
}
