package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// confirm reads the driver and submitter pods of all attempts from the API server, and adds the pods that the cache did
// not show. The cache may be late.
//
// The pods are found by their labels and not by their names: an earlier pass may have launched a pod, failed to store
// the launch, and used another name than the current spec. To confirm a submission, confirm also reads the ConfigMap
// that the driver mounts. To confirm a whole attempt, it also reads the executor pods and the pods of a standalone
// cluster.
func (a Applier) confirm(ctx context.Context, view dependents.View, action lifecycle.Action) (Outcome, error) {
	owner, all := view.Owner, action.Part == lifecycle.Attempt

	pods, err := a.Dependents.LivePods(ctx, client.InNamespace(owner.GetNamespace()), client.MatchingLabelsSelector{Selector: dependents.Selector(a.Kind, owner, all)})
	if err != nil {
		return Outcome{}, fmt.Errorf("read the driver pods: %w", err)
	}

	if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return released(&pod, owner) }) {
		if err := a.stillExists(ctx, owner); err != nil {
			return Outcome{}, err
		}
	}

	live := dependents.SortPods(dependents.WithIdentities(a.Kind, owner, pods), owner.GetUID())
	var unseen Outcome

	var facts []Fact
	for _, pod := range append(live.Drivers, live.Submitters...) {
		if !view.Set.Has(&pod) {
			outcome := foundPod(&pod)
			unseen.Found, facts = unseen.Found.Add(outcome.Found), append(facts, outcome.Fact)
		}
	}

	switch {
	case len(facts) > 0:
		unseen.Fact = func(seen *lifecycle.Observed) {
			for _, fact := range facts {
				fact(seen)
			}
		}
		return unseen, nil
	case action.Part == lifecycle.Submission:
		fact, err := a.inspect(ctx, live.Drivers, action.Attempt)
		return Outcome{Fact: fact}, err
	}

	behind := view.Set.Behind(live, all) || all && view.Set.LacksMember(pods)
	return Outcome{Fact: func(seen *lifecycle.Observed) {
		seen.Confirmed, seen.PodsConfirmed, seen.CacheBehind = true, all, behind
	}}, nil
}

// released reports whether a pod was created for the owner but has no controller any more. If a custom resource is
// deleted with --cascade=orphan, the garbage collector first removes the owner references of all dependents.
func released(pod *corev1.Pod, owner client.Object) bool {
	return pod.Labels[identity.AppUIDLabel] == string(owner.GetUID()) && metav1.GetControllerOfNoCopy(pod) == nil
}

// stillExists returns an error if the owner is being deleted or no longer exists. The cache may still show an older
// state. Without this check, the operator would treat the driver of such an owner as lost, and would delete objects
// that the user wants to keep.
func (a Applier) stillExists(ctx context.Context, owner client.Object) error {
	live, err := a.Dependents.ReadLiveMetadata(ctx, owner)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read whether the owner of the pods is being deleted: %w", err)
	}

	if err != nil || live.UID != owner.GetUID() || live.DeletionTimestamp != nil {
		return &apianswer.Wait{Message: "the custom resource is being deleted"}
	}
	return nil
}

// inspect reads from the API server whether the ConfigMap that a driver mounts exists, and returns the result as a
// fact. spark-submit creates the ConfigMap after the driver. Therefore the submission is complete if the ConfigMap
// exists.
func (a Applier) inspect(ctx context.Context, drivers []corev1.Pod, attempt int32) (Fact, error) {
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

			err := a.Dependents.Live.Get(ctx, client.ObjectKey{Namespace: driver.Namespace, Name: volume.ConfigMap.Name}, object)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("read the ConfigMap of driver pod %s: %w", driver.Name, err)
			}

			torn = torn || apierrors.IsNotFound(err)
		}
		return func(seen *lifecycle.Observed) {
			seen.Confirmed, seen.Inspected = true, true
			if d := seen.Driver(attempt); d != nil {
				d.MissingConfigMap = torn
			}
		}, nil
	}
	return nil, &apianswer.Wait{Message: "the driver pod no longer exists; the next pass decides what to do"}
}

// foundPod returns an outcome that adds a driver or submitter pod to the observed state, because the cache did not show
// it.
func foundPod(pod *corev1.Pod) Outcome {
	if pod.Labels[identity.RoleLabel] == identity.RoleSubmitter {
		facts := lifecycle.SubmitterFacts(pod, submit.RunnerContainer)
		return Outcome{
			Found: dependents.Set{Submitters: []corev1.Pod{*pod}},
			Fact:  func(seen *lifecycle.Observed) { seen.Submitters = append(slices.Clip(seen.Submitters), facts) },
		}
	}

	facts := dependents.DriverFacts(pod)
	return Outcome{
		Found: dependents.Set{Drivers: []corev1.Pod{*pod}},
		Fact:  func(seen *lifecycle.Observed) { seen.Drivers = append(slices.Clip(seen.Drivers), facts) },
	}
}
