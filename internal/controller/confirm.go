package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// confirm reads live whether the application has a driver, or a pod that submits one, that was not seen, of whichever attempt: a cache that does
// not show one may only be late, and a launch that was not recorded may go by another name since the spec was edited. Of a submission it also
// looks at what the driver mounts, and of an attempt at all its pods.
func (r *Reconciler) confirm(ctx context.Context, p *pass, action lifecycle.Action) (fact, error) {
	uid, all := p.stored.GetUID(), action.Part == lifecycle.Attempt
	pods, err := r.dependents.LivePods(ctx, client.InNamespace(p.stored.GetNamespace()), client.MatchingLabelsSelector{Selector: dependents.Selector(r.kind.Inherited, p.stored, all)})
	if err != nil {
		return nil, fmt.Errorf("look for driver pods: %w", err)
	}
	var facts []fact
	found := dependents.Sort(dependents.Identify(r.kind.Inherited, p.stored, pods), uid)
	for _, pod := range append(found.Drivers, found.Submitters...) {
		if !p.children.Has(&pod) {
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
		return r.inspect(ctx, found.Drivers, action.Attempt)
	}
	behind := p.children.Behind(found, all)
	return func(seen *lifecycle.Observed) { seen.Confirmed, seen.Reread, seen.Behind = true, all, behind }, nil
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
			object := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			err := r.dependents.Live.Get(ctx, client.ObjectKey{Namespace: driver.Namespace, Name: volume.ConfigMap.Name}, object)
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
		p.children.Submitters = append(p.children.Submitters, *pod)
		facts := lifecycle.SubmitterFacts(pod, submit.RunnerContainer)
		return func(seen *lifecycle.Observed) { seen.Submitters = append(seen.Submitters, facts) }
	}
	p.children.Drivers = append(p.children.Drivers, *pod)
	facts := dependents.DriverFacts(pod)
	return func(seen *lifecycle.Observed) { seen.Drivers = append(seen.Drivers, facts) }
}
