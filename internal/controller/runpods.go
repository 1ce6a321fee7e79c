package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// A run's application can be gone while its driver still stops: a deletion in the background waits for no pod, and one in the foreground not for a driver that
// spark-submit made, whose owner reference does not block (that would take a right on finalizers that drivers' service accounts do not have). Such a run goes on
// until its pods have stopped, and these are all that tells of it.

// indexRunPods is the cache index of the pods that run a driver or submit one, by the owner of the run that they are labelled with.
const indexRunPods = "run-owner"

// indexPods lets the pods of runs be found by the label that names the owner of their run.
func indexPods(ctx context.Context, runs *Runs, indexer client.FieldIndexer) error {
	if runs.PodLabel == "" {
		return nil
	}
	err := indexer.IndexField(ctx, &corev1.Pod{}, indexRunPods, func(pod client.Object) []string {
		if name := pod.GetLabels()[runs.PodLabel]; name != "" && identity.IsLaunched(pod) {
			return []string{name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index pods of runs: %w", err)
	}
	return nil
}

// watchPods wakes the owner of a run when a pod of it stops, and by nothing else of the pod: for as long as the run's application is there, that tells the rest.
func watchPods(runs *Runs, work *builder.Builder) *builder.Builder {
	if runs.PodLabel == "" {
		return work
	}
	owner := func(_ context.Context, pod client.Object) []reconcile.Request {
		name := pod.GetLabels()[runs.PodLabel]
		if name == "" || !identity.IsLaunched(pod) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: namespaced(pod.GetNamespace(), name)}}
	}
	return work.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(owner), builder.WithPredicates(stops()))
}

// stops passes on that a pod has stopped, or went without having been seen to.
func stops() predicate.Predicate {
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

// hasStopped reports whether nothing of Spark runs in a pod any more, nor ever will: its container has ended, or it is deleted and never came to a node.
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

// observeStopping adds the runs whose applications are gone and of which a pod has not stopped yet. Anybody who may create pods can set a label. So a pod counts
// only where its one owner is an application that does not exist: Kubernetes' garbage collector deletes such a pod, and what it deletes comes to an end.
// What is older than the schedule is of another one that had its name.
func (r *Reconciler) observeStopping(ctx context.Context, p *pass) error {
	if r.kind.Runs.PodLabel == "" {
		return nil
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(p.stored.GetNamespace()), client.MatchingFields{indexRunPods: p.stored.GetName()},
		client.UnsafeDisableDeepCopy)
	if err != nil || len(pods.Items) == 0 {
		return err
	}
	gvk, err := r.client.GroupVersionKindFor(r.kind.Runs.New())
	if err != nil {
		return err
	}
	born := p.stored.GetCreationTimestamp()
	var stopping []lifecycle.Run
	for i := range pods.Items {
		pod := &pods.Items[i]
		ref := identity.SoleOwner(pod, gvk.GroupKind())
		if ref == nil || hasStopped(pod) || pod.CreationTimestamp.Before(&born) || slices.ContainsFunc(stopping, isRun(ref.UID)) ||
			slices.ContainsFunc(p.seen.Runs, isRun(ref.UID)) {
			continue
		}
		gone, err := r.runIsGone(ctx, p, *ref)
		if err != nil {
			return err
		}
		if gone {
			stopping = append(stopping, lifecycle.Run{Name: ref.Name, UID: string(ref.UID), CreatedAt: pod.CreationTimestamp.Time, Deleting: true, Gone: true})
		}
	}
	slices.SortFunc(stopping, func(a, b lifecycle.Run) int { return strings.Compare(a.Name+a.UID, b.Name+b.UID) })
	p.seen.Runs = append(p.seen.Runs, stopping...)
	return nil
}

// isRun tells the run of a UID.
func isRun(uid types.UID) func(lifecycle.Run) bool {
	return func(run lifecycle.Run) bool { return run.UID == string(uid) }
}

// runIsGone reports whether the cache shows no application of an owner reference any more. One that is there counts by itself, or is not the schedule's.
func (r *Reconciler) runIsGone(ctx context.Context, p *pass, ref metav1.OwnerReference) (bool, error) {
	run := r.kind.Runs.New()
	err := r.client.Get(ctx, namespaced(p.stored.GetNamespace(), ref.Name), run)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read run %s in the cache: %w", ref.Name, err)
	}
	return run.GetUID() != ref.UID, nil
}
