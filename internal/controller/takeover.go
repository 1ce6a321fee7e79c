package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Another operator of the same API leaves pods without our labels, and other objects that only their owner reference tells. The pods are cached
// with ours, indexed by the label that names their custom resource, and given an identity by the dialect (Kind.Adopt). The others are met by
// their names: what the custom resource controls is replaced by what has the name now; the rest goes with the custom resource.

// nameLabels are the labels by which other operators' pods name their custom resource, one a kind: kinds of the same name in two groups have two.
var nameLabels = []string{sparkoperator.LabelAppName, labelConnectName, labelApacheAppName, labelClusterName}

// byName is how a pod without our labels is indexed: by the custom resource that it names. One that names several, since a server passes its own labels
// on to its pods, is shown to each of them; whose it is, Kind.Adopt and its owners tell.
func byName(pod metav1.Object) []string {
	var keys []string
	for _, label := range nameLabels {
		if name := pod.GetLabels()[label]; name != "" {
			keys = append(keys, nameKey(label, name))
		}
	}
	return keys
}

// nameKey is no UID.
func nameKey(label, name string) string { return label + "=" + name }

// unlabelled reports whether an object carries no identity of ours.
func unlabelled(object metav1.Object) bool { return object.GetLabels()[labelAppUID] == "" }

// adopted lists the pods in the cache that another operator made for the custom resource, as the dialect reads them.
func (r *Reconciler[T]) adopted(ctx context.Context, p *pass[T]) ([]corev1.Pod, error) {
	if r.kind.Adopt == nil {
		return nil, nil
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(p.stored.GetNamespace()),
		client.MatchingFields{indexAppUID: nameKey(r.kind.NameLabel, p.stored.GetName())}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of another operator in the cache: %w", err)
	}
	return r.kind.Adopt(p.stored, pods.Items), nil
}

// adoptGroup finds what another operator let a batch scheduler know the attempt by, when its end has come: nothing else would delete it before the
// custom resource goes, and until then it may keep room that nobody uses. It is in no cache, for want of our labels. Where it cannot be read the pass
// goes on without it.
func (r *Reconciler[T]) adoptGroup(ctx context.Context, p *pass[T]) {
	if r.kind.GroupLeft == nil || p.stored.GetDeletionTimestamp() != nil {
		return
	}
	group := r.kind.GroupLeft(p.stored, p.seen)
	if group == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
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
	case !unlabelled(existing) || !owned(existing, p.stored.GetUID()):
		return
	}
	existing.Labels = group.Labels
	existing.SetGroupVersionKind(group.GroupVersionKind())
	p.children.others = append(p.children.others, *existing)
	p.seen = p.children.facts()
}

// identify gives those of the pods, read live, that carry no labels of ours their identity; what is nobody's is left as it is.
func (r *Reconciler[T]) identify(p *pass[T], pods []corev1.Pod) []corev1.Pod {
	if r.kind.Adopt == nil {
		return pods
	}
	theirs := slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return !unlabelled(&pod) || pod.Labels[r.kind.NameLabel] != p.stored.GetName()
	})
	for _, adopted := range r.kind.Adopt(p.stored, theirs) {
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.UID == adopted.UID })
		pods[at] = adopted
	}
	return pods
}

// identifyOne is identify for one object that is there already.
func (r *Reconciler[T]) identifyOne(p *pass[T], object client.Object) client.Object {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || !unlabelled(pod) {
		return object
	}
	return &r.identify(p, []corev1.Pod{*pod})[0]
}

// podSelector selects, live, the drivers of a custom resource and the pods that submit them, or all pods that may be ours.
func (r *Reconciler[T]) podSelector(p *pass[T], all bool) labels.Selector {
	key, value := r.kind.NameLabel, p.stored.GetName()
	if r.kind.Adopt == nil {
		key, value = labelAppUID, string(p.stored.GetUID())
	}
	selector := labels.NewSelector().Add(must(labels.NewRequirement(key, selection.Equals, []string{value})))
	if all {
		return selector
	}
	return selector.Add(launched())
}

// leftBehind reports whether an object that has a name of ours is what another operator made for the custom resource: it has that as its controller,
// and no identity of ours.
func leftBehind(existing client.Object, owner client.Object) bool {
	_, isPod := existing.(*corev1.Pod)
	return !isPod && unlabelled(existing) && metav1.IsControlledBy(existing, owner)
}

// driverFacts reads a driver. The version on one that another operator made is that of the Spark which submitted it, in that operator's own image, and
// tells nothing of the driver's.
func driverFacts(pod *corev1.Pod) lifecycle.Driver {
	d := lifecycle.DriverFacts(pod, sparkContainer(pod))
	if d.AttemptID != "" {
		d.SparkVersion = ""
	}
	return d
}
