package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// allowedHolds is for how long it is believed that a driver's account has all its rights: each of them is a request of its own, and they hardly ever change.
const allowedHolds = time.Minute

// Shortage is of executors that a driver wants and has not.
type Shortage struct {
	Of      types.NamespacedName // the application
	UID     types.UID            // its own
	Attempt int32
	Driver  types.UID // empty where it was not seen
	Account string    // the driver's service account
	Since   time.Time
	// Executor renders one more, as the driver would. An error is the user's: none of this spec can be made. Without the function nobody is asked.
	Executor func() (*corev1.Pod, error)
}

// Executors finds out why executors are wanted and not there. The driver itself is told no more than 403, and writes that into a log that nobody reads.
// So the API server is asked to create one like theirs, and to do nothing (a server-side dry run), which says what it says to the driver: the
// quota, the pod security, the service account, the priority class. What that passes, the driver's own account may not do.
//
// The answer holds for a while, however often the application is looked at. Where none can be had, or none may be asked for now (Allowance), it is the one before.
func (e *Explainer) Executors(ctx context.Context, s Shortage, now time.Time) Answer {
	asked := apianswer.Question{Key: s.Of, Part: lifecycle.Executors}
	cause, fresh := e.replies.Last(asked, s.UID, s.Attempt, now)
	if s.Driver == "" || fresh {
		return Answer{Cause: cause}
	}
	if !e.allowed.ask(s.Of.Namespace, func() { cause = e.probed(ctx, s, cause, now) }) {
		return unasked(cause)
	}
	e.replies.Set(asked, apianswer.Reply{UID: s.UID, Attempt: s.Attempt, Until: now.Add(lifecycle.AskAgain(now.Sub(s.Since))), Cause: cause})
	return Answer{Cause: cause}
}

// probed is what stands in the way now, or what did before where that cannot be found out.
func (e *Explainer) probed(ctx context.Context, s Shortage, before lifecycle.Cause, now time.Time) lifecycle.Cause {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cause, err := e.executorCause(ctx, s, now)
	if err != nil {
		log.FromContext(ctx).V(1).Info("it cannot be found out why executors are not made", "cause", err.Error())
		return before
	}
	return cause
}

// executorCause is what stands in the way of another executor, or nothing. Where the operator can make none of the spec itself, Spark hardly can, unless
// it takes a JVM: that is told where nothing else is to be found.
func (e *Explainer) executorCause(ctx context.Context, s Shortage, now time.Time) (lifecycle.Cause, error) {
	if s.Executor == nil {
		return lifecycle.Cause{}, nil
	}
	pod, unmade := s.Executor()
	switch {
	case unmade != nil:
	case pod.Namespace != s.Of.Namespace:
		return lifecycle.Cause{}, fmt.Errorf("executor %s is rendered for namespace %q", pod.Name, pod.Namespace)
	default:
		cause, err := e.dryRun(ctx, pod)
		if err != nil || cause.Reason != "" {
			return cause, err
		}
	}
	cause, err := e.accountCause(ctx, s, now)
	refused, _ := errors.AsType[*submit.Error](unmade)
	if err == nil && cause.Reason == "" && unmade != nil && (refused == nil || !refused.NotNative) {
		cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: unmade.Error()}
	}
	return cause, err
}

// accountCause is which right the driver's account lacks, or nothing. A right that is lacking is asked for each time, so that it is known soon that it
// was given.
func (e *Explainer) accountCause(ctx context.Context, s Shortage, now time.Time) (lifecycle.Cause, error) {
	asked := apianswer.Question{Key: s.Of, Part: partAllowed}
	if _, fresh := e.replies.Last(asked, s.Driver, s.Attempt, now); fresh {
		return lifecycle.Cause{}, nil
	}
	missing, err := e.missingRight(ctx, s.Of.Namespace, s.Account)
	switch {
	case err != nil:
		return lifecycle.Cause{}, err
	case missing == "":
		e.replies.Set(asked, apianswer.Reply{UID: s.Driver, Attempt: s.Attempt, Until: now.Add(allowedHolds)})
		return lifecycle.Cause{}, nil
	}
	return lifecycle.Cause{Reason: apianswer.ReasonForbidden, Message: lacks(s.Account, missing, s.Of.Namespace)}, nil
}

// dryRun asks the API server to create a pod and to store nothing.
func (e *Explainer) dryRun(ctx context.Context, pod *corev1.Pod) (lifecycle.Cause, error) {
	return apianswer.OfDryRun(pod, e.asks.Create(ctx, pod, client.DryRunAll))
}
