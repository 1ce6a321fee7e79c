package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// confirm reads live whether the application has a driver, or a pod that submits one, that was not seen, of whichever attempt: a cache that does
// not show one may only be late, and a launch that was not recorded may go by another name since the spec was edited. Of a submission it also
// looks at what the driver mounts.
func (r *Reconciler[T]) confirm(ctx context.Context, p *pass[T], action lifecycle.Action) (fact, error) {
	var pods corev1.PodList
	uid := p.stored.GetUID()
	err := r.live.List(ctx, &pods, client.InNamespace(p.stored.GetNamespace()), client.MatchingLabelsSelector{Selector: r.driverSelector(p)})
	if err != nil {
		return nil, fmt.Errorf("look for driver pods: %w", err)
	}
	var facts []fact
	found := sortPods(r.identify(p, pods.Items), uid)
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
	return func(seen *lifecycle.Observed) { seen.Confirmed = true }, nil
}

// inspect looks live whether the ConfigMap exists that a driver mounts: spark-submit makes it last, so nothing is missing where it is there.
func (r *Reconciler[T]) inspect(ctx context.Context, drivers []corev1.Pod, attempt int32) (fact, error) {
	for i := range drivers {
		driver := &drivers[i]
		if attemptOf(driver) != attempt {
			continue
		}
		torn := false
		for _, volume := range driver.Spec.Volumes {
			if volume.Name != confVolume || volume.ConfigMap == nil {
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
	return nil, &waitError{after: lookAgain, why: "the driver pod was deleted just now"}
}

// foundPod takes a driver pod, or one that submits it, among the children where the cache did not show it.
func (p *pass[T]) foundPod(pod *corev1.Pod) fact {
	if pod.Labels[labelRole] == roleSubmitter {
		p.children.submitters = append(p.children.submitters, *pod)
		facts := lifecycle.SubmitterFacts(pod, submit.RunnerContainer)
		return func(seen *lifecycle.Observed) { seen.Submitters = append(seen.Submitters, facts) }
	}
	p.children.drivers = append(p.children.drivers, *pod)
	facts := driverFacts(pod)
	return func(seen *lifecycle.Observed) { seen.Drivers = append(seen.Drivers, facts) }
}
