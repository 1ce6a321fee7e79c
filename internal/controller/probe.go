package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// allowedHolds is for how long it is believed that a driver's account has all its rights: each of them is a request of its own, and they hardly ever change.
const allowedHolds = time.Minute

// probe finds out why executors are wanted and not there. The driver itself is told no more than 403, and writes that into a log that nobody reads.
// So the API server is asked to create one like theirs, and to do nothing (a server-side dry run), which says what it says to the driver: the
// quota, the pod security, the service account, the priority class. What that passes, the driver's own account may not do.
//
// The answer holds for a while, however often the application is looked at. Where none can be had, or none may be asked for now (allowance), the pass goes on with
// the one before.
func (r *Reconciler) probe(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	asked := question{identity.Key(p.stored), lifecycle.Executors}
	cause, fresh := r.answers.last(asked, p.stored.GetUID(), action.Attempt, p.now)
	if driver := p.seen.Driver(action.Attempt); driver != nil && !fresh {
		if !r.allowed.ask(p.stored.GetNamespace(), func() { cause = r.probed(ctx, p, driver, cause) }) {
			cause = p.unasked(cause)
			return func(seen *lifecycle.Observed) { seen.Probed = &cause }, nil
		}
		again := p.now.Add(lifecycle.AskAgain(p.now.Sub(p.plan.Next.ShortSince)))
		r.answers.set(asked, reply{p.stored.GetUID(), action.Attempt, again, cause})
	}
	return func(seen *lifecycle.Observed) { seen.Probed = &cause }, nil
}

// probed is what stands in the way now, or what did before where that cannot be found out.
func (r *Reconciler) probed(ctx context.Context, p *pass, driver *lifecycle.Driver, before lifecycle.Cause) lifecycle.Cause {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	now, err := r.executorCause(ctx, p, driver)
	if err != nil {
		log.FromContext(ctx).V(1).Info("it cannot be found out why executors are not made", "cause", err.Error())
		return before
	}
	return now
}

// executorCause is what stands in the way of another executor, or nothing. Where the operator can make none of the spec itself, Spark hardly can, unless
// it takes a JVM: that is told where nothing else is to be found.
func (r *Reconciler) executorCause(ctx context.Context, p *pass, driver *lifecycle.Driver) (lifecycle.Cause, error) {
	if r.kind.Executor == nil {
		return lifecycle.Cause{}, nil
	}
	pod, unmade := r.kind.Executor(p.object, driver.Attempt, nextExecutor(p.seen.Executors, driver.Attempt), types.UID(driver.UID), p.now)
	switch {
	case unmade != nil:
	case pod.Namespace != p.stored.GetNamespace():
		return lifecycle.Cause{}, fmt.Errorf("executor %s is rendered for namespace %q", pod.Name, pod.Namespace)
	default:
		cause, err := r.dryRun(ctx, pod)
		if err != nil || cause.Reason != "" {
			return cause, err
		}
	}
	cause, err := r.accountCause(ctx, p, driver)
	refused, _ := errors.AsType[*submit.Error](unmade)
	if err == nil && cause.Reason == "" && unmade != nil && (refused == nil || !refused.NotNative) {
		cause = lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: unmade.Error()}
	}
	return cause, err
}

// accountCause is which right the driver's account lacks, or nothing. A right that is lacking is asked for each time, so that it is known soon that it
// was given.
func (r *Reconciler) accountCause(ctx context.Context, p *pass, driver *lifecycle.Driver) (lifecycle.Cause, error) {
	asked := question{identity.Key(p.stored), partAllowed}
	if _, fresh := r.answers.last(asked, types.UID(driver.UID), driver.Attempt, p.now); fresh {
		return lifecycle.Cause{}, nil
	}
	namespace, account := p.stored.GetNamespace(), serviceAccountOf(p.children.drivers, driver.UID)
	missing, err := r.missingRight(ctx, namespace, account)
	switch {
	case err != nil:
		return lifecycle.Cause{}, err
	case missing == "":
		r.answers.set(asked, reply{uid: types.UID(driver.UID), attempt: driver.Attempt, until: p.now.Add(allowedHolds)})
		return lifecycle.Cause{}, nil
	}
	return lifecycle.Cause{Reason: apianswer.ReasonForbidden, Message: lacks(account, missing, namespace)}, nil
}

// dryRun asks the API server to create a pod and to store nothing.
func (r *Reconciler) dryRun(ctx context.Context, pod *corev1.Pod) (lifecycle.Cause, error) {
	return apianswer.OfDryRun(pod, r.client.Create(ctx, pod, client.DryRunAll))
}

// nextExecutor is an id that no executor of an attempt has.
func nextExecutor(executors []lifecycle.Executor, attempt int32) int {
	last := 0
	for i := range executors {
		if id, err := strconv.Atoi(executors[i].ID); err == nil && executors[i].Attempt == attempt {
			last = max(last, id)
		}
	}
	return last + 1
}
