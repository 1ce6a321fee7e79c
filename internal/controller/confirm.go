package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// confirm reads live whether the application has a driver, or a pod that submits one, that was not seen, of whichever attempt: a cache that does
// not show one may only be late, and a launch that was not recorded may go by another name since the spec was edited. Of a submission it also
// looks at what the driver mounts, and of an attempt at all its pods.
func (r *Reconciler) confirm(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	uid, all := p.stored.GetUID(), action.Part == lifecycle.Attempt
	pods, err := r.livePods(ctx, client.InNamespace(p.stored.GetNamespace()), client.MatchingLabelsSelector{Selector: r.podSelector(p, all)})
	if err != nil {
		return nil, fmt.Errorf("look for driver pods: %w", err)
	}
	var facts []fact
	found := sortPods(r.identify(p, pods), uid)
	for _, pod := range append(found.drivers, found.submitters...) {
		if !p.knows(&pod) {
			facts = append(facts, p.foundPod(&pod))
		}
	}
	switch {
	case len(facts) > 0:
		return func(seen *lifecycle.Observed) {
			for _, found := range facts {
				found(seen)
			}
		}, nil
	case action.Part == lifecycle.Submission:
		return r.inspect(ctx, found.drivers, action.Attempt)
	}
	behind := p.behind(found, all)
	return func(seen *lifecycle.Observed) { seen.Confirmed, seen.Reread, seen.Behind = true, all, behind }, nil
}

// behind reports whether pods, read live, are further than the cache shows them: one has started, is ready or over, or an executor is not there.
func (p *pass) behind(live children, executors bool) bool {
	type state struct {
		phase lifecycle.DriverPhase
		ready bool
	}
	seen := map[types.UID]state{}
	for i := range p.children.drivers {
		d := driverFacts(&p.children.drivers[i])
		seen[p.children.drivers[i].UID] = state{d.Phase, d.Ready}
	}
	for i := range live.drivers {
		if d := driverFacts(&live.drivers[i]); seen[live.drivers[i].UID] != (state{d.Phase, d.Ready}) {
			return true
		}
	}
	if !executors {
		return false
	}
	for i := range p.children.executors {
		seen[p.children.executors[i].UID] = state{phase: lifecycle.ExecutorFacts(&p.children.executors[i], overlay.ExecutorContainer).Phase}
	}
	return slices.ContainsFunc(live.executors, func(pod corev1.Pod) bool {
		return seen[pod.UID] != state{phase: lifecycle.ExecutorFacts(&pod, overlay.ExecutorContainer).Phase}
	})
}

// inspect looks live whether the ConfigMap exists that a driver mounts: spark-submit makes it last, so nothing is missing where it is there.
func (r *Reconciler) inspect(ctx context.Context, drivers []corev1.Pod, attempt int32) (fact, error) {
	for i := range drivers {
		driver := &drivers[i]
		if identity.Attempt(driver) != attempt {
			continue
		}
		torn := false
		for _, volume := range driver.Spec.Volumes {
			if volume.Name != trim.ConfVolume || volume.ConfigMap == nil {
				continue
			}
			object := metadataOnly(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			err := r.live.Get(ctx, client.ObjectKey{Namespace: driver.Namespace, Name: volume.ConfigMap.Name}, object)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("look for the ConfigMap of driver pod %s: %w", driver.Name, err)
			}
			torn = torn || apierrors.IsNotFound(err)
		}
		return func(seen *lifecycle.Observed) {
			seen.Confirmed, seen.Inspected = true, true
			if d := seen.Driver(attempt); d != nil {
				d.Torn = torn
			}
		}, nil
	}
	return nil, &apianswer.Wait{Message: "the driver pod was deleted just now"}
}

// foundPod takes a driver pod, or one that submits it, among the children where the cache did not show it.
func (p *pass) foundPod(pod *corev1.Pod) fact {
	if pod.Labels[identity.RoleLabel] == identity.RoleSubmitter {
		p.children.submitters = append(p.children.submitters, *pod)
		facts := lifecycle.SubmitterFacts(pod, submit.RunnerContainer)
		return func(seen *lifecycle.Observed) { seen.Submitters = append(seen.Submitters, facts) }
	}
	p.children.drivers = append(p.children.drivers, *pod)
	facts := driverFacts(pod)
	return func(seen *lifecycle.Observed) { seen.Drivers = append(seen.Drivers, facts) }
}
