package explain

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// rightsLifetime is the time for which the operator assumes that a driver's account keeps all its rights. A check costs
// a request for each right, and rights rarely change.
const rightsLifetime = time.Minute

// Shortage describes executors that a driver wants and that do not exist.
type Shortage struct {
	Of      types.NamespacedName // the application
	UID     types.UID            // the UID of the application
	Attempt int32
	Driver  types.UID // empty if the driver was not observed
	Account string    // the driver's service account
	Created time.Time // when the driver was created
	Since   time.Time
	// Executor renders another executor pod, as the driver would. An error means that no executor can be built from
	// the user's spec. If the function is nil, the API server is not queried.
	Executor func() (*corev1.Pod, error)
}

// Executors finds out why wanted executors do not exist. The driver itself receives only an answer with status 403,
// which it writes to its log. So the operator sends a server-side dry run that creates such an executor pod. The API
// server rejects the dry run for the reason for which it rejected the executors: quota, pod security, service account
// or priority class. If the API server accepts the dry run, the operator checks the rights of the driver's service
// account.
//
// The answer is kept for a while, so that several passes can use it. If the query fails, or is not allowed now
// (Allowance), Executors returns the previous cause. Without one, the Answer is marked as Skipped: that no cause is
// known does not mean that the API server accepts the executor.
func (e *Explainer) Executors(ctx context.Context, s Shortage, now time.Time) Answer {
	asked := apianswer.Question{Key: s.Of, Part: lifecycle.Executors}

	last, known := e.replies.About(asked, s.UID, s.Attempt)

	cause, fresh := last.Cause, now.Before(last.Until)
	if s.Driver == "" || fresh {
		return Answer{Cause: cause, Skipped: cause.Reason == "" && (!fresh || last.Failed)}
	}

	answered := false
	if !e.allowed.try(s.Of.Namespace, !known, func() { cause, answered = e.probed(ctx, s, cause, now) }) {
		return skipped(cause)
	}

	failed := !answered && cause.Reason == ""
	e.replies.Set(asked, apianswer.Reply{
		UID: s.UID, Attempt: s.Attempt, Until: now.Add(lifecycle.QueryInterval(now.Sub(s.Since))), Cause: cause, Failed: failed,
	})
	return Answer{Cause: cause, Skipped: failed}
}

// probed returns the current cause that prevents executors, or the previous cause if the query fails. The second result
// reports whether the query was answered.
func (e *Explainer) probed(ctx context.Context, s Shortage, before lifecycle.Cause, now time.Time) (lifecycle.Cause, bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	cause, err := e.executorCause(ctx, s, now)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Could not determine why executors are missing", "cause", err.Error())
		return before, false
	}
	return cause, true
}

// executorCause returns the cause that prevents another executor, or an empty cause. The operator renders an executor
// from the spec to find the cause. If this fails and there is no other cause, the cause is the error of the rendering,
// because Spark usually fails as well. There is one exception: if only Spark's JVM can render the executor, the error
// is not a cause.
func (e *Explainer) executorCause(ctx context.Context, s Shortage, now time.Time) (lifecycle.Cause, error) {
	if s.Executor == nil {
		return lifecycle.Cause{}, nil
	}

	pod, unmade := s.Executor()
	switch {
	case unmade != nil:
	case pod.Namespace != s.Of.Namespace:
		return lifecycle.Cause{}, lifecycle.Bugf("executor %s was rendered for namespace %q instead of the namespace of its application", pod.Name, pod.Namespace)
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

// accountCause returns a cause that names the fault of the driver's account, or an empty cause (accountFault). If no
// right is missing, accountCause remembers this for rightsLifetime. It does not remember a fault, so that it soon
// notices when somebody corrects it.
func (e *Explainer) accountCause(ctx context.Context, s Shortage, now time.Time) (lifecycle.Cause, error) {
	asked := apianswer.Question{Key: s.Of, Part: partAllowed}
	if _, fresh := e.replies.Last(asked, s.Driver, s.Attempt, now); fresh {
		return e.voidToken(ctx, s.Of.Namespace, s.Account, s.Created)
	}

	cause, err := e.accountFault(ctx, s.Of.Namespace, s.Account, s.Created)
	if err == nil && cause.Reason == "" {
		e.replies.Set(asked, apianswer.Reply{UID: s.Driver, Attempt: s.Attempt, Until: now.Add(rightsLifetime)})
	}
	return cause, err
}

// dryRun sends a creation of a pod that the API server does not store, and returns the cause of a rejection.
func (e *Explainer) dryRun(ctx context.Context, pod *corev1.Pod) (lifecycle.Cause, error) {
	return apianswer.OfDryRun(pod, e.writer.Create(ctx, pod, client.DryRunAll))
}
