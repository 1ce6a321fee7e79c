package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// explainExecutor does for executors what explainPending does for drivers, for the one that waits for longest: what keeps it mostly keeps all of
// them. Its Events are read at most every few seconds, however often the application is looked at, and not at all while another says by its
// status what it waits for.
func (r *Reconciler) explainExecutor(ctx context.Context, p *pass) {
	pod, facts := p.waitingExecutor()
	if pod == nil {
		return
	}
	facts.Why = r.waitsOf(ctx, p, waitingPod(pod, facts.Attempt, facts.Silent))
}

// waitingPod asks about an executor, or a pod of a cluster.
func waitingPod(pod *corev1.Pod, attempt int32, silent string) pendingPod {
	return pendingPod{name: pod.Name, uid: pod.UID, attempt: attempt, created: pod.CreationTimestamp.Time, grace: submittedGrace, silent: silent}
}

// waitingExecutor is the oldest executor of a running driver that waits and does not say for what; nil where there is none, or another says it.
func (p *pass) waitingExecutor() (oldest *corev1.Pod, facts *lifecycle.Executor) {
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
