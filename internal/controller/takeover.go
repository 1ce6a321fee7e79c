package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Another operator of the same API leaves pods without our labels, and other objects that only their owner reference tells. The pods are cached
// with ours, indexed by the label that names their custom resource, and given an identity by the dialect (Kind.Inherited.Adopt). The others are met by
// their names: what the custom resource controls is replaced by what has the name now; the rest goes with the custom resource.

// adopted lists the pods in the cache that another operator made for the custom resource, as the dialect reads them.
func (r *Reconciler) adopted(ctx context.Context, p *pass) ([]corev1.Pod, error) {
	if r.kind.Inherited.Adopt == nil {
		return nil, nil
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(p.stored.GetNamespace()),
		client.MatchingFields{identity.CacheIndex: identity.NameKey(r.kind.Inherited.NameLabel, p.stored.GetName())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of another operator in the cache: %w", err)
	}
	return r.kind.Inherited.Adopt(p.stored, pods.Items), nil
}

// lookTimeout bounds a read that the rest of a pass does not need.
const lookTimeout = 3 * time.Second

// adoptGroup finds what another operator let a batch scheduler know the attempt by, when its end has come: nothing else would delete it before the
// custom resource goes, and until then it may keep room that nobody uses. It is in no cache, for want of our labels. Where it cannot be read the pass
// goes on without it.
func (r *Reconciler) adoptGroup(ctx context.Context, p *pass) {
	if r.kind.Inherited.GroupLeft == nil || p.stored.GetDeletionTimestamp() != nil {
		return
	}
	group := r.kind.Inherited.GroupLeft(p.stored, p.seen)
	if group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	existing := metadataOnly(group.GroupVersionKind())
	err := r.live.Get(ctx, client.ObjectKeyFromObject(group), existing)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return
	case err != nil:
		log.FromContext(ctx).V(1).Info("it cannot be found out whether another operator left a pod group", "cause", err.Error())
		p.check = soonest(p.check, maxLookAgain)
		return
	case !identity.Unlabelled(existing) || !identity.OwnedBy(existing, p.stored.GetUID()):
		return
	}
	existing.Labels = group.Labels
	existing.SetGroupVersionKind(group.GroupVersionKind())
	p.children.others = append(p.children.others, *existing)
	p.seen = p.children.facts()
}

// identify gives those of the pods, read live, that carry no labels of ours their identity; what is nobody's is left as it is.
func (r *Reconciler) identify(p *pass, pods []corev1.Pod) []corev1.Pod {
	if r.kind.Inherited.Adopt == nil {
		return pods
	}
	theirs := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return !identity.Unlabelled(&pod) || pod.Labels[r.kind.Inherited.NameLabel] != p.stored.GetName()
	})
	for _, adopted := range r.kind.Inherited.Adopt(p.stored, theirs) {
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == adopted.UID })
		pods[at] = adopted
	}
	return pods
}

// identifyOne is identify for one object that is there already.
func (r *Reconciler) identifyOne(p *pass, object client.Object) client.Object {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || !identity.Unlabelled(pod) {
		return object
	}
	return &r.identify(p, []corev1.Pod{*pod})[0]
}

// podSelector selects, live, the drivers of a custom resource and the pods that submit them, or all pods that may be ours.
func (r *Reconciler) podSelector(p *pass, all bool) labels.Selector {
	key, value := r.kind.Inherited.NameLabel, p.stored.GetName()
	if r.kind.Inherited.Adopt == nil {
		key, value = identity.AppUIDLabel, string(p.stored.GetUID())
	}
	if all {
		return identity.PodsNamed(key, value)
	}
	return identity.LaunchedPodsNamed(key, value)
}

// driverFacts reads a driver. The version on one that another operator made is that of the Spark which submitted it, in that operator's own image, and
// tells nothing of the driver's.
func driverFacts(pod *corev1.Pod) lifecycle.Driver {
	d := lifecycle.DriverFacts(pod, trim.SparkContainer(pod))
	if d.AttemptID != "" {
		d.SparkVersion = ""
	}
	return d
}
