package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// pendingGrace is how long a driver may be pending before anybody is asked why: most are not for that long.
	pendingGrace = 2 * time.Second
	// pendingInterval lies between two reads, so that a cause is known within 5 s of Kubernetes saying it.
	pendingInterval = 4 * time.Second
	// maxEventsRead bounds one read of Events about one pod.
	maxEventsRead = 100
)

// explainPending finds out what a pending driver waits for where its status does not say: a volume, a Secret or a ConfigMap that is
// missing, a sandbox that cannot be made, are told by Kubernetes Events alone. They are read on demand, by the pod's UID, and never
// cached: a cluster has more Events than all else that we watch.
func (r *Reconciler[T]) explainPending(ctx context.Context, p *pass[T]) error {
	for i := range p.seen.Drivers {
		driver := &p.seen.Drivers[i]
		if driver.Phase != lifecycle.DriverPending || driver.Deleting || driver.Why.Reason != "" {
			continue
		}
		if age := p.now.Sub(driver.CreatedAt); age < pendingGrace {
			p.check = soonest(p.check, pendingGrace-max(age, 0))
			continue
		}
		p.check = soonest(p.check, pendingInterval)
		var events corev1.EventList
		err := r.live.List(ctx, &events, client.InNamespace(p.stored.GetNamespace()), client.Limit(maxEventsRead),
			client.MatchingFields{"involvedObject.uid": driver.UID})
		if err != nil {
			return fmt.Errorf("read the events of pod %s: %w", driver.Name, err)
		}
		driver.Why = latestWarning(events.Items, types.UID(driver.UID))
	}
	return nil
}

// latestWarning returns the newest event about the pod when that is a warning. A newer normal event (scheduled, pulled) means that the
// trouble it warned of is over.
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

// eventTime is when an event was last seen, to the second: the two APIs by which events are written keep it in different fields and
// with different precision.
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
