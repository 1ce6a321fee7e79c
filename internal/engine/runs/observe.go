package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Observe finds the runs of an owner in the cache and reads them into facts. The facts include deleted runs whose pods
// have not stopped. The runs are the cache's own objects, so the caller must not change them. Their order is fixed, so
// that the same objects lead to the same decision.
func Observe(ctx context.Context, cache client.Client, kind Kind, owner client.Object) (runs []client.Object, facts []lifecycle.Run, err error) {
	list := kind.NewRunList()

	err = cache.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{indexOwner: string(owner.GetUID())},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list runs in the cache: %w", err)
	}

	err = meta.EachListItem(list, func(item runtime.Object) error {
		runs = append(runs, item.(client.Object))
		return nil
	})
	if err != nil {
		return nil, nil, err
	}

	slices.SortFunc(runs, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })

	for _, run := range runs {
		facts = append(facts, kind.RunFacts(run))
	}

	stopping, err := stoppingRuns(ctx, cache, kind, owner, facts)
	return runs, append(facts, stopping...), err
}

// stoppingRuns returns the runs whose application no longer exists, but of which a pod has not stopped yet. Such a run
// counts until its pods have stopped. Only these pods show that the run exists, because its application is gone.
//
// Such a run exists after a deletion in the background, which waits for no pod. It may also exist after a deletion in
// the foreground, which does not wait for a driver that spark-submit created. The owner reference of such a driver does
// not block the deletion, because the service accounts of drivers lack the necessary right on finalizers.
//
// Labels alone do not suffice, because anybody who may create pods can set them. A pod counts only if it has exactly
// one owner and this owner is an application that does not exist. Kubernetes' garbage collector deletes such a pod, so
// that no pod can block a schedule for ever. A pod that is older than the argument owner belongs to an earlier schedule
// with the same name, and does not count.
func stoppingRuns(ctx context.Context, cache client.Client, kind Kind, owner client.Object, there []lifecycle.Run) ([]lifecycle.Run, error) {
	if kind.RunPodLabel() == "" {
		return nil, nil
	}
	var pods corev1.PodList

	err := cache.List(ctx, &pods, client.InNamespace(owner.GetNamespace()), client.MatchingFields{indexPods: owner.GetName()},
		client.UnsafeDisableDeepCopy)
	if err != nil || len(pods.Items) == 0 {
		return nil, err
	}

	gvk, err := cache.GroupVersionKindFor(kind.NewRun())
	if err != nil {
		return nil, err
	}

	born := owner.GetCreationTimestamp()

	var stopping []lifecycle.Run
	for i := range pods.Items {
		pod := &pods.Items[i]

		ref := identity.SoleOwner(pod, gvk.GroupKind())
		if ref == nil || hasStopped(pod) || pod.CreationTimestamp.Before(&born) || slices.ContainsFunc(stopping, hasUID(ref.UID)) ||
			slices.ContainsFunc(there, hasUID(ref.UID)) {
			continue
		}

		gone, err := isGone(ctx, cache, kind, owner.GetNamespace(), *ref)
		if err != nil {
			return nil, err
		}

		if gone {
			stopping = append(stopping, lifecycle.Run{
				Name: ref.Name, UID: string(ref.UID), CreatedAt: pod.CreationTimestamp.Time, Deleting: true, Deleted: true,
			})
		}
	}

	slices.SortFunc(stopping, func(a, b lifecycle.Run) int { return strings.Compare(a.Name+a.UID, b.Name+b.UID) })
	return stopping, nil
}

// hasUID returns a function that reports whether a run has the given UID.
func hasUID(uid types.UID) func(lifecycle.Run) bool {
	return func(run lifecycle.Run) bool { return run.UID == string(uid) }
}

// isGone reports whether the cache no longer has the application that an owner reference names. If the application
// exists, its pods need not be counted: the application is counted as a run itself, or does not belong to the schedule.
func isGone(ctx context.Context, cache client.Reader, kind Kind, namespace string, ref metav1.OwnerReference) (bool, error) {
	run := kind.NewRun()

	err := cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, run)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read run %s in the cache: %w", ref.Name, err)
	}
	return run.GetUID() != ref.UID, nil
}
