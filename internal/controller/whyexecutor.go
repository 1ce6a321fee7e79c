package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// explainExecutor does for executors what explainPending does for drivers, for the one that waits for longest: what keeps it mostly keeps all of
// them. Its Events are read at most every few seconds, however often the application is looked at, and not at all while another says by its
// status what it waits for.
func (r *Reconciler[T]) explainExecutor(ctx context.Context, p *pass[T]) {
	pod, facts := p.waitingExecutor()
	if pod == nil {
		return
	}
	facts.Why = r.waitsOf(ctx, p, pod, facts.Attempt, facts.Silent)
}

// waitsOf is what Events say a pod waits for. They are read every few seconds at most, and not before it has waited for a while.
func (r *Reconciler[T]) waitsOf(ctx context.Context, p *pass[T], pod *corev1.Pod, attempt int32, silent string) lifecycle.Cause {
	age := p.now.Sub(pod.CreationTimestamp.Time)
	if age < submittedGrace {
		p.check = soonest(p.check, submittedGrace-max(age, 0))
		return lifecycle.Cause{}
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	asked := question{keyOf(p.stored), partWarnings}
	cause, fresh := r.answers.last(asked, pod.UID, attempt, p.now)
	again := lifecycle.AskAgain(age)
	if !fresh {
		if now, read := r.warned(ctx, pod.Namespace, pod.Name, pod.UID); read {
			cause = now
		}
		r.answers.set(asked, reply{pod.UID, attempt, p.now.Add(again), cause})
	}
	p.check = soonest(p.check, again)
	return unlessSilent(cause, pod.Name, silent, age)
}

// waitingExecutor is the oldest executor of a running driver that waits and does not say for what; nil where there is none, or another says it.
func (p *pass[T]) waitingExecutor() (oldest *corev1.Pod, facts *lifecycle.Executor) {
	for i := range p.seen.Executors {
		e, pod := &p.seen.Executors[i], &p.children.executors[i]
		if d := p.seen.Driver(e.Attempt); d == nil || d.Phase != lifecycle.DriverRunning || e.Phase != lifecycle.DriverPending || pod.DeletionTimestamp != nil {
			continue
		}
		if e.Why.Reason != "" {
			return nil, nil
		}
		if oldest == nil || pod.CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest, facts = pod, e
		}
	}
	return oldest, facts
}
