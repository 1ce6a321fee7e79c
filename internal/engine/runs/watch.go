// Package runs handles the runs of a schedule, which are dependents that are applications themselves. Each run is a
// custom resource with its own reconciler, which decides about the run's life cycle.
package runs

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// These are the names of the indexes of the cache.
const (
	// indexOwner is the index that finds runs by the UIDs of their owners.
	indexOwner = "owner-uid"
	// indexPods is the index that finds the driver pods of runs, and the pods that submit them, by the name of the
	// run's owner. A label of the pods contains this name.
	indexPods = "run-owner"
)

// Index adds the indexes by which Observe finds runs and their pods in the cache. Objects that the cache already has
// are indexed too. Index must be called only once for each indexer.
func Index(ctx context.Context, kind Kind, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, kind.NewRun(), indexOwner, byOwners); err != nil {
		return fmt.Errorf("index runs: %w", err)
	}

	if kind.RunPodLabel() == "" {
		return nil
	}

	err := indexer.IndexField(ctx, &corev1.Pod{}, indexPods, func(pod client.Object) []string {
		if name := pod.GetLabels()[kind.RunPodLabel()]; name != "" && identity.IsLaunched(pod) {
			return []string{name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index pods of runs: %w", err)
	}
	return nil
}

func byOwners(object client.Object) []string {
	var owners []string
	for _, ref := range object.GetOwnerReferences() {
		owners = append(owners, string(ref.UID))
	}
	return owners
}

// Watch adds the watches of runs to a controller of the given kind. The controller queues a run's owners of this kind
// when the run is created, changed or deleted, and when one of its pods stops. Other events of pods need no pass over
// the owners: while the run exists, its own status shows what its pods do.
func Watch(kind Kind, work *builder.Builder, owner schema.GroupKind) *builder.Builder {
	if kind.RunPodLabel() != "" {
		work = work.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOfPod(kind)), builder.WithPredicates(podStopped()))
	}
	return work.Watches(kind.NewRun(), handler.EnqueueRequestsFromMapFunc(ownerOfRun(owner)), builder.WithPredicates(predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return kind.RunFacts(e.ObjectOld) != kind.RunFacts(e.ObjectNew) || !slices.Equal(byOwners(e.ObjectOld), byOwners(e.ObjectNew))
		},
	}))
}

// ownerOfRun returns a function that maps a run to those of its owners that are of the given kind. It finds them in the
// owner references of the run.
func ownerOfRun(kind schema.GroupKind) handler.MapFunc {
	return func(_ context.Context, run client.Object) []reconcile.Request {
		var owners []reconcile.Request
		for _, ref := range run.GetOwnerReferences() {
			if identity.OfKind(ref, kind) {
				owners = append(owners, request(run.GetNamespace(), ref.Name))
			}
		}
		return owners
	}
}

// ownerOfPod returns a function that maps a pod of a run to the schedule that owns the run. A label of the pod contains
// the name of the schedule.
func ownerOfPod(kind Kind) handler.MapFunc {
	return func(_ context.Context, pod client.Object) []reconcile.Request {
		name := pod.GetLabels()[kind.RunPodLabel()]
		if name == "" || !identity.IsLaunched(pod) {
			return nil
		}
		return []reconcile.Request{request(pod.GetNamespace(), name)}
	}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// podStopped returns a predicate that admits one event for each pod: the update that first shows that the pod has
// stopped, or the deletion of the pod if there was no such update.
func podStopped() predicate.Predicate {
	stopped := func(object client.Object) bool {
		pod, ok := object.(*corev1.Pod)
		return !ok || hasStopped(pod)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return identity.IsLaunched(e.ObjectNew) && !stopped(e.ObjectOld) && stopped(e.ObjectNew)
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return identity.IsLaunched(e.Object) && !stopped(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// hasStopped reports whether no Spark process runs in a pod and none will run in it: its container has ended, or the
// pod is being deleted and was never scheduled to a node.
func hasStopped(pod *corev1.Pod) bool {
	phase := lifecycle.DriverFacts(pod, trim.SparkContainer(pod)).Phase
	if pod.Labels[identity.RoleLabel] == identity.RoleSubmitter {
		phase = lifecycle.SubmitterFacts(pod, submit.RunnerContainer).Phase
	}

	switch phase {
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		return true
	}
	return pod.DeletionTimestamp != nil && pod.Spec.NodeName == ""
}
