package explain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// silentGrace is how long a scheduler may report nothing about a pod before the wait reason says that it may not
	// exist.
	silentGrace = 10 * time.Second
	// maxEventsRead bounds one read of Events about one pod.
	maxEventsRead = 100
)

// Pod finds the wait reason of a pod whose status has none. Only Kubernetes Events report a missing volume, Secret or
// ConfigMap, or a sandbox that cannot be created.
//
// The Events of the pod's UID are read on demand and never cached, because a cluster has more Events than all other
// objects that the operator watches. They are not read before the pod's grace period is over. After that they are read
// at most every few seconds, and less often if the API server is busy (Allowance).
func (e *Explainer) Pod(ctx context.Context, owner types.NamespacedName, pod PendingPod, now time.Time) Answer {
	age := now.Sub(pod.created)
	if age < pod.grace {
		return Answer{QueryAfter: pod.grace - max(age, 0)}
	}

	asked := apianswer.Question{Key: owner, Part: partWarnings}

	last, known := e.replies.About(asked, pod.uid, pod.attempt)

	cause := last.Cause
	if !now.Before(last.Until) {
		asks := func() {
			if message, read := e.warningCause(ctx, owner.Namespace, pod.name, pod.uid); read {
				cause = message
			}
		}
		if !e.allowed.try(owner.Namespace, !known, asks) {
			return skipped(cause)
		}

		e.replies.Set(asked, apianswer.Reply{UID: pod.uid, Attempt: pod.attempt, Until: now.Add(lifecycle.QueryInterval(age)), Cause: cause})
	}
	return Answer{Cause: unlessUnresponsive(cause, pod.name, pod.silent, age), QueryAfter: e.replies.RetryAfter(asked, now)}
}

// unlessUnresponsive returns the given cause if it is not empty. Otherwise, if the pod's scheduler has reported nothing
// for too long, it returns a cause that says that the scheduler does not respond. Kubernetes itself never reports that
// a scheduler does not exist.
func unlessUnresponsive(cause lifecycle.Cause, pod, scheduler string, age time.Duration) lifecycle.Cause {
	if cause.Reason == "" && scheduler != "" && age >= silentGrace {
		return lifecycle.UnresponsiveSchedulerCause(pod, scheduler)
	}
	return cause
}

// warningCause returns the latest warning in the Events about a pod, and whether the Events could be read.
func (e *Explainer) warningCause(ctx context.Context, namespace, name string, uid types.UID) (cause lifecycle.Cause, read bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var events corev1.EventList

	err := e.live.List(ctx, &events, client.InNamespace(namespace), client.Limit(maxEventsRead), client.MatchingFields{"involvedObject.uid": string(uid)})
	if err != nil {
		e.logUnreadable(ctx, name, err)
		return lifecycle.Cause{}, false
	}

	e.eventsUnreadable.Store(false)
	return latestWarning(events.Items, uid), true
}

// logUnreadable logs a failed read of Events: the first failure at info level, and later failures at debug level until
// a read succeeds.
func (e *Explainer) logUnreadable(ctx context.Context, pod string, err error) {
	logger := log.FromContext(ctx)
	if e.eventsUnreadable.Swap(true) {
		logger = logger.V(1)
	}

	logger.Info("Could not read the events of a pending pod, so its wait reason is unknown", "pod", pod, "cause", err.Error())
}

// latestWarning returns the cause in the newest Event about the pod if that Event is a warning. A normal Event that is
// newer than a warning (scheduled, pulled) means that the problem is over.
func latestWarning(events []corev1.Event, uid types.UID) lifecycle.Cause {
	var newest *corev1.Event
	for i := range events {
		event := &events[i]
		if event.InvolvedObject.UID != uid {
			continue
		}

		if newest == nil || eventTime(event).After(eventTime(newest)) ||
			eventTime(event).Equal(eventTime(newest)) && event.Type == corev1.EventTypeWarning {
			newest = event
		}
	}

	if newest == nil || newest.Type != corev1.EventTypeWarning {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: newest.Reason, Message: newest.Message}
}

// eventTime returns when an Event was last observed, to the second, because the two APIs for Events store this time in
// different fields and with different precision.
func eventTime(e *corev1.Event) time.Time {
	latest := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(latest) {
			latest = t
		}
	}

	if e.Series != nil && e.Series.LastObservedTime.After(latest) {
		latest = e.Series.LastObservedTime.Time
	}
	return latest.Truncate(time.Second)
}
