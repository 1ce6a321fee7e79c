package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// pendingGrace is how long a driver may be pending before anybody is asked why: most are not for that long.
	pendingGrace = 2 * time.Second
	// submittedGrace is the same for a driver that spark-submit made, and for executors: the ConfigMap that it mounts comes after it (that of
	// executors until Spark 4.2), so that the kubelet mostly complains once and tries again.
	submittedGrace = 10 * time.Second
	// silentGrace is how long a scheduler may say nothing about a pod before it is asked whether there is such a scheduler.
	silentGrace = 10 * time.Second
	// explainTimeout bounds the reads of a pass: a cause is nice to have, the rest of the pass is not.
	explainTimeout = 3 * time.Second
	// maxEventsRead bounds one read of Events about one pod.
	maxEventsRead = 100
)

// explainPending finds out what a pending driver, or a pod that submits one, waits for where its status does not say: a volume, a Secret or a ConfigMap that is
// missing, a sandbox that cannot be made, are told by Kubernetes Events alone. They are read on demand, by the pod's UID, and never
// cached: a cluster has more Events than all else that we watch. Where they cannot be read the pass goes on without a cause: nothing is
// decided by it, and an edit, a suspension or a deadline does not wait for an explanation.
func (r *Reconciler) explainPending(ctx context.Context, p *pass) {
	for _, pod := range pendingPods(&p.seen) {
		*pod.why = r.waitsOf(ctx, p, pod)
	}
}

// waitsOf is what Events say a pod waits for. They are read every few seconds at most, not before it has waited for a while, and less often where the API server is
// busy (allowance).
func (r *Reconciler) waitsOf(ctx context.Context, p *pass, pod pendingPod) lifecycle.Cause {
	age := p.now.Sub(pod.created)
	if age < pod.grace {
		p.check = soonest(p.check, pod.grace-max(age, 0))
		return lifecycle.Cause{}
	}
	asked := question{identity.Key(p.stored), partWarnings}
	cause, fresh := r.answers.last(asked, pod.uid, pod.attempt, p.now)
	if !fresh {
		asks := func() {
			if now, read := r.warned(ctx, p.stored.GetNamespace(), pod.name, pod.uid); read {
				cause = now
			}
		}
		if !r.allowed.ask(p.stored.GetNamespace(), asks) {
			return p.unasked(cause)
		}
		r.answers.set(asked, reply{pod.uid, pod.attempt, p.now.Add(lifecycle.AskAgain(age)), cause})
	}
	p.check = soonest(p.check, r.answers.rest(asked, p.now))
	return unlessSilent(cause, pod.name, pod.silent, age)
}

// unasked has the pass go on with what was said last, as nobody may be asked now. Where nothing was, because another process asked, the status has it.
func (p *pass) unasked(last lifecycle.Cause) lifecycle.Cause {
	p.check = soonest(p.check, lifecycle.AskAgain(0))
	p.seen.Unasked = p.seen.Unasked || last.Reason == ""
	return last
}

// unlessSilent is what a pod waits for where nobody says it and its scheduler is silent for too long: nobody else ever tells of a scheduler that does not
// exist.
func unlessSilent(cause lifecycle.Cause, pod, scheduler string, age time.Duration) lifecycle.Cause {
	if cause.Reason == "" && scheduler != "" && age >= silentGrace {
		return lifecycle.SilentCause(pod, scheduler)
	}
	return cause
}

// warned reads what Kubernetes warns of about a pod.
func (r *Reconciler) warned(ctx context.Context, namespace, name string, uid types.UID) (cause lifecycle.Cause, read bool) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var events corev1.EventList
	err := r.live.List(ctx, &events, client.InNamespace(namespace), client.Limit(maxEventsRead), client.MatchingFields{"involvedObject.uid": string(uid)})
	if err != nil {
		r.unexplained(ctx, name, err)
		return lifecycle.Cause{}, false
	}
	r.blind.Store(false)
	return latestWarning(events.Items, uid), true
}

// pendingPod is a pod that waits and does not say for what.
type pendingPod struct {
	name    string
	uid     types.UID
	attempt int32
	created time.Time
	grace   time.Duration
	silent  string           // its scheduler, where that said nothing
	why     *lifecycle.Cause // where the answer goes
}

// pendingPods are those drivers, and pods that submit them.
func pendingPods(seen *lifecycle.Observed) []pendingPod {
	var pods []pendingPod
	for i := range seen.Drivers {
		d := &seen.Drivers[i]
		if d.Phase == lifecycle.DriverPending && !d.Deleting && d.Why.Reason == "" {
			grace := pendingGrace
			if d.Submitter != "" {
				grace = submittedGrace
			}
			pods = append(pods, pendingPod{d.Name, types.UID(d.UID), d.Attempt, d.CreatedAt, grace, d.Silent, &d.Why})
		}
	}
	for i := range seen.Submitters {
		s := &seen.Submitters[i]
		if s.Phase == lifecycle.DriverPending && !s.Deleting && s.Why.Reason == "" {
			pods = append(pods, pendingPod{s.Name, types.UID(s.UID), s.Attempt, s.CreatedAt, pendingGrace, "", &s.Why})
		}
	}
	return pods
}

// unexplained logs a read of Events that failed: once for people, and then, until one succeeds, for those who look closer.
func (r *Reconciler) unexplained(ctx context.Context, pod string, err error) {
	logger := log.FromContext(ctx)
	if r.blind.Swap(true) {
		logger = logger.V(1)
	}
	logger.Info("the events of a pending pod cannot be read; what it waits for is not told", "pod", pod, "cause", err.Error())
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
