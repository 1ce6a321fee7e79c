package controller

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// explain has the facts say what nobody says by a status: what pods wait for, and that a driver which failed lacked a right.
func (r *Reconciler) explain(ctx context.Context, p *pass) {
	key := identity.Key(p.stored)
	for _, pod := range explain.Pods(&p.seen, p.children.Executors, p.children.Members) {
		*pod.Why = p.explained(r.explains.Pod(ctx, key, pod, p.now))
	}
	for i := range p.seen.Drivers {
		driver := &p.seen.Drivers[i]
		driver.Why = r.explains.FailedDriver(ctx, key, driver, serviceAccountOf(p.children.Drivers, driver.UID), p.now)
	}
}

// probe finds out why executors are wanted and not there.
func (r *Reconciler) probe(ctx context.Context, p *pass, action lifecycle.Action) fact {
	short := explain.Shortage{Of: identity.Key(p.stored), UID: p.stored.GetUID(), Attempt: action.Attempt, Since: p.plan.Next.ShortSince}
	if driver := p.seen.Driver(action.Attempt); driver != nil {
		short.Driver, short.Account = types.UID(driver.UID), serviceAccountOf(p.children.Drivers, driver.UID)
	}
	if r.kind.Executors.Render != nil {
		short.Executor = func() (*corev1.Pod, error) {
			return r.kind.Executors.Render(p.object, action.Attempt, nextExecutor(p.seen.Executors, action.Attempt), short.Driver, p.now)
		}
	}
	cause := p.explained(r.explains.Executors(ctx, short, p.now))
	return func(seen *lifecycle.Observed) { seen.Probed = &cause }
}

// explained takes an explanation, and asks for a look when it is worth while to ask again.
func (p *pass) explained(answer explain.Answer) lifecycle.Cause {
	p.check = lifecycle.Soonest(p.check, answer.Again)
	p.seen.Unasked = p.seen.Unasked || answer.Unasked
	return answer.Cause
}

func serviceAccountOf(pods []corev1.Pod, uid string) string {
	for i := range pods {
		if string(pods[i].UID) == uid && pods[i].Spec.ServiceAccountName != "" {
			return pods[i].Spec.ServiceAccountName
		}
	}
	return "default" // what Kubernetes gives a pod that names none
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
