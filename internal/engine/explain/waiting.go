package explain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// pendingGrace is how long a driver may be pending before the operator looks for the wait reason. Most drivers
	// start sooner.
	pendingGrace = 2 * time.Second
	// submittedGrace is the corresponding time for executors and for a driver that spark-submit created. The ConfigMap
	// that these pods mount is created after the pod (for executors until Spark 4.2), so the kubelet usually warns once
	// and retries.
	submittedGrace = 10 * time.Second
)

// PendingPod is a pending pod whose status has no wait reason.
type PendingPod struct {
	Why *lifecycle.Cause // where the wait reason is stored once it is found

	name    string
	uid     types.UID
	attempt int32
	created time.Time
	grace   time.Duration
	silent  string // the name of the pod's scheduler, if the scheduler has reported nothing
}

// Pods returns the pending pods without a wait reason: drivers, pods that submit drivers, at most one executor, and at
// most one pod of a standalone cluster. The arguments executors and members contain the pods that seen.Executors and
// seen.Members describe, in the same order.
func Pods(seen *lifecycle.Observed, executors, members []corev1.Pod) []PendingPod {
	pods := drivers(seen)
	if pod, facts := waitingExecutor(seen, executors); pod != nil {
		pods = append(pods, waiting(pod, facts.Attempt, facts.UnresponsiveScheduler, &facts.Why))
	}

	if pod, facts := waitingMember(seen, members); pod != nil {
		pods = append(pods, waiting(pod, 0, lifecycle.UnresponsiveScheduler(pod), &facts.Why))
	}
	return pods
}

// drivers returns the pending drivers and the pending submitter pods that have no wait reason.
func drivers(seen *lifecycle.Observed) []PendingPod {
	var pods []PendingPod
	for i := range seen.Drivers {
		d := &seen.Drivers[i]
		if d.Phase == lifecycle.DriverPending && !d.Deleting && d.Why.Reason == "" {
			grace := pendingGrace
			if d.Submitter != "" {
				grace = submittedGrace
			}

			pods = append(pods, PendingPod{&d.Why, d.Name, types.UID(d.UID), d.Attempt, d.CreatedAt, grace, d.UnresponsiveScheduler})
		}
	}

	for i := range seen.Submitters {
		s := &seen.Submitters[i]
		if s.Phase == lifecycle.DriverPending && !s.Deleting && s.Why.Reason == "" {
			pods = append(pods, PendingPod{&s.Why, s.Name, types.UID(s.UID), s.Attempt, s.CreatedAt, pendingGrace, ""})
		}
	}
	return pods
}

// waiting returns the PendingPod of an executor or of a pod of a standalone cluster.
func waiting(pod *corev1.Pod, attempt int32, silent string, why *lifecycle.Cause) PendingPod {
	return PendingPod{Why: why, name: pod.Name, uid: pod.UID, attempt: attempt, created: pod.CreationTimestamp.Time, grace: submittedGrace, silent: silent}
}

// waitingExecutor returns the oldest pending executor of a running driver. It returns nil if no executor is pending, or
// if a pending executor already has a wait reason, because executors mostly wait for the same reason.
func waitingExecutor(seen *lifecycle.Observed, pods []corev1.Pod) (oldest *corev1.Pod, facts *lifecycle.Executor) {
	for i := range seen.Executors {
		e, pod := &seen.Executors[i], &pods[i]
		if d := seen.Driver(e.Attempt); d == nil || d.Phase != lifecycle.DriverRunning || e.Phase != lifecycle.DriverPending || pod.DeletionTimestamp != nil {
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

// waitingMember returns the oldest pending pod of a standalone cluster. It returns nil if no pod is pending, or if a
// pending pod already has a wait reason.
func waitingMember(seen *lifecycle.Observed, pods []corev1.Pod) (oldest *corev1.Pod, facts *lifecycle.Member) {
	for i := range seen.Members {
		m, pod := &seen.Members[i], &pods[i]
		if m.Phase != lifecycle.DriverPending || m.Deleting {
			continue
		}

		if m.Why.Reason != "" {
			return nil, nil
		}

		if oldest == nil || pod.CreationTimestamp.Before(&oldest.CreationTimestamp) {
			oldest, facts = pod, m
		}
	}
	return oldest, facts
}
