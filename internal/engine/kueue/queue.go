package kueue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// pendingInterval is the time after which a waiting request is read again, in case the watch has missed a
	// change.
	pendingInterval = 2 * time.Minute
	// failedInterval is the time after which a failed request is repeated.
	failedInterval = 30 * time.Second
	// maxName is the longest name of a Workload.
	maxName = 253
)

// Queue requests quota for the custom resources of one kind.
//
// +kubebuilder:object:generate=false
type Queue struct {
	Client client.Client // writes
	Live   client.Reader // reads from the API server
	// Cached returns the cache of the Workloads in a namespace, or nil if there is none, because the API server does not
	// serve Workloads or the operator may not read them.
	Cached func(namespace string) client.Reader
	Kind   schema.GroupVersionKind
	// NameLabel is the label of a Workload that names its custom resource. The operator of spark.apache.org sets it too.
	NameLabel string

	writes statuswrite.OwnWrites
	sought bykey.ByKey[types.NamespacedName, types.UID] // custom resources for which seek has read
}

// Forget drops what the queue remembers about a custom resource.
func (q *Queue) Forget(key types.NamespacedName) {
	q.sought.Forget(key)
	q.writes.Forget(types.NamespacedName{Namespace: key.Namespace, Name: q.workloadName(key.Name)})
}

// workloadName returns the name of the Workload of a custom resource.
func (q *Queue) workloadName(owner string) string {
	name := strings.ToLower(q.Kind.Kind) + "-" + owner
	if len(name) <= maxName {
		return name
	}

	sum := sha256.Sum256([]byte(name))
	return name[:maxName-9] + "-" + hex.EncodeToString(sum[:4])
}

func (q *Queue) key(owner client.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: owner.GetNamespace(), Name: q.workloadName(owner.GetName())}
}

// read returns the Workload of a custom resource, or nil if there is none or the API server does not serve Workloads.
func (q *Queue) read(ctx context.Context, from client.Reader, owner client.Object) (*Workload, error) {
	var w Workload
	switch err := from.Get(ctx, q.key(owner), &w); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &w, nil
}

// current returns the Workload from the cache or, if the cache is missing or lacks the operator's last write, from the
// API server.
func (q *Queue) current(ctx context.Context, owner client.Object, now time.Time) (*Workload, error) {
	cached := q.Cached(owner.GetNamespace())
	if cached == nil {
		return q.read(ctx, q.Live, owner)
	}

	w, err := q.read(ctx, cached, owner)
	if err != nil || w == nil {
		return w, err
	}

	if behind, _ := q.writes.CacheIsStale(w, now); behind {
		return q.read(ctx, q.Live, owner)
	}
	return w, nil
}

// Observe returns what the queue reports about a custom resource, or nil if the custom resource is in no queue and has
// no Workload. The argument holder is the pod whose end the Workload has to await (Hold). The argument begun is true if
// the custom resource has a status and has not ended.
func (q *Queue) Observe(ctx context.Context, owner client.Object, holder *corev1.Pod, begun bool, now time.Time) *lifecycle.Quota {
	queued := owner.GetLabels()[QueueLabel] != ""
	if !queued && q.Cached(owner.GetNamespace()) == nil {
		return nil
	}

	w, err := q.current(ctx, owner, now)
	if err == nil && w == nil && queued && begun {
		w, err = q.seek(ctx, owner)
	}

	switch {
	case err != nil && !queued:
		return nil
	case err != nil:
		log.FromContext(ctx).V(1).Info("Could not read the Workload of a custom resource; assuming that it holds quota", "cause", err.Error())
		return &lifecycle.Quota{Name: q.key(owner).Name, Requested: true, Unread: true}
	case w != nil && metav1.IsControlledBy(w, owner):
		seen := See(w)
		seen.Unheld = holder != nil && seen.Reserved && !identity.OwnedBy(w, holder.UID)
		return &seen
	case !queued:
		return nil
	}
	return &lifecycle.Quota{Name: q.key(owner).Name}
}

// seek looks once for a Workload that the operator of spark.apache.org created for a custom resource that runs. The
// cache lacks it, because it has no label of this operator. seek adds the label.
func (q *Queue) seek(ctx context.Context, owner client.Object) (*Workload, error) {
	if uid, _ := q.sought.Get(identity.Key(owner)); uid == owner.GetUID() {
		return nil, nil
	}

	w, err := q.read(ctx, q.Live, owner)
	if err == nil && w != nil && metav1.IsControlledBy(w, owner) && identity.Unlabelled(w) {
		err = q.patch(ctx, w, func() error { q.label(w, owner); return nil })
	}

	if err == nil {
		q.sought.Set(identity.Key(owner), owner.GetUID())
	}
	return w, err
}

// label gives a Workload the labels of its custom resource, and those by which the operator finds it.
func (q *Queue) label(w *Workload, owner client.Object) {
	labels := maps.Clone(owner.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}

	labels[q.NameLabel], labels[identity.AppUIDLabel], labels[identity.ManagedLabel] = owner.GetName(), string(owner.GetUID()), "true"
	if len(owner.GetName()) > 63 { // the UID is enough to find it
		delete(labels, q.NameLabel)
	}

	w.Labels = labels
}

// Request requests quota for the pods of an attempt, and returns the answer. If the second result is set, no repetition
// helps. A returned error is transient.
func (q *Queue) Request(ctx context.Context, owner client.Object, attempt int32, pods []dialect.Pods, now time.Time) (lifecycle.Quota, *lifecycle.Cause, error) {
	sets := PodSets(pods)

	hash, err := Hash(sets)
	if err != nil {
		return lifecycle.Quota{}, nil, lifecycle.Bugf("the pod sets cannot be encoded: %v", err)
	}

	want := Request{
		Name: q.key(owner).Name, Owner: owner, Kind: q.Kind.GroupKind(), Attempt: attempt,
		Queue: owner.GetLabels()[QueueLabel], Hash: hash, Class: classOf(owner, sets),
	}

	w, err := q.current(ctx, owner, now)
	if err == nil && w != nil && Judge(w, want, now).Step == Launch {
		w, err = q.read(ctx, q.Live, owner) // the cache may be late, and the pods cannot be taken back
	}

	verdict := Judge(w, want, now)
	if err == nil {
		w, err = q.carryOut(ctx, w, want, sets, &verdict, now)
	}

	if err != nil {
		verdict.Wait = lifecycle.Cause{Reason: lifecycle.ReasonQuotaRequestFailed}
		verdict.Wait.Message, err = q.refused(owner, err)
	}

	answer := lifecycle.Quota{Name: want.Name, Attempt: attempt, Asked: true, RequeueAfter: pendingInterval}
	if w != nil && metav1.IsControlledBy(w, owner) {
		answer.Requested, answer.Reserved = true, w.is(QuotaReserved)
	}

	if verdict.Wait.Reason == lifecycle.ReasonQuotaRequestFailed || verdict.Unwatched {
		answer.RequeueAfter = failedInterval
	}

	if verdict.Wait.Reason != "" || err != nil {
		answer.Wait = &verdict.Wait
		return answer, nil, err
	}

	answer.RequeueAfter = 0
	if verdict.Step == Discard || w == nil {
		return answer, nil, nil
	}
	return q.place(ctx, answer, w, pods)
}

// Compare returns what the queue reports about pods that exist, and changes nothing. If they have quota for other pods,
// it counts as evicted. The Workload of another operator has no hash, so its pod sets are compared.
func (q *Queue) Compare(ctx context.Context, owner client.Object, pods []dialect.Pods) (lifecycle.Quota, *lifecycle.Cause, error) {
	sets := PodSets(pods)

	hash, err := Hash(sets)
	if err != nil {
		return lifecycle.Quota{}, nil, lifecycle.Bugf("the pod sets cannot be encoded: %v", err)
	}

	w, err := q.own(ctx, owner)
	if err != nil || w == nil {
		gone := lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending, Message: "Workload " + q.key(owner).Name + " was deleted; a new one is created"}
		return lifecycle.Quota{Name: q.key(owner).Name, Asked: true, Wait: &gone, RequeueAfter: failedInterval}, nil, err
	}

	answer := See(w)

	answer.Asked = true

	same := w.Annotations[HashAnnotation] == hash
	if answer.Attempt == 0 {
		same = covers(w.Spec.PodSets, sets)
	}

	if answer.Evicted == nil && !same {
		answer.Evicted = &lifecycle.Cause{Reason: lifecycle.ReasonOtherPods, Message: "Workload " + w.Name + " has quota for other pods than those of the present spec"}
	}

	if answer.Evicted != nil {
		return answer, nil, nil
	}
	return q.place(ctx, answer, w, pods)
}

// place adds to an answer what the admission adds to the pods.
func (q *Queue) place(ctx context.Context, answer lifecycle.Quota, w *Workload, pods []dialect.Pods) (lifecycle.Quota, *lifecycle.Cause, error) {
	placement, contradiction, err := placements(ctx, q.Live, w, pods)
	if err == nil {
		answer.Placement = placement
		return answer, contradiction, nil
	}

	cause, _ := apianswer.Rejection(err)
	if cause.Reason == "" {
		return answer, nil, err
	}

	message := err.Error()
	if cause.Reason == apianswer.ReasonOperatorForbidden {
		message += "; the operator needs a ClusterRole with the right to get resourceflavors"
	}

	answer.Wait, answer.RequeueAfter = &lifecycle.Cause{Reason: lifecycle.ReasonFlavorUnreadable, Message: message}, failedInterval
	return answer, nil, nil
}

// refused returns the message of a request that the API server refuses. If the request failed with a transient error,
// it returns the error.
func (q *Queue) refused(owner client.Object, err error) (string, error) {
	w := &Workload{ObjectMeta: metav1.ObjectMeta{Name: q.key(owner).Name}}
	w.SetGroupVersionKind(WorkloadKind)

	if apianswer.NamespaceTerminating(err) {
		return "", err
	}

	if _, missing := apianswer.NotServed(w, err); missing {
		return "the cluster does not serve Workloads of " + groupVersion.String() + ": install Kueue 0.15 or later, or remove the label " + QueueLabel, nil
	}

	if cause, _ := apianswer.Rejection(err); cause.Reason != "" {
		return "Workload " + w.Name + " cannot be requested: " + err.Error(), nil
	}
	return "", err
}

// carryOut does what a verdict says, and returns the Workload afterwards. If a Workload exists although the cache has
// none, carryOut judges again.
func (q *Queue) carryOut(ctx context.Context, w *Workload, want Request, sets []PodSet, verdict *Verdict, now time.Time) (*Workload, error) {
	switch verdict.Step {
	case Create:
		made, err := q.create(ctx, want, sets)
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}

		if w, err = q.read(ctx, q.Live, want.Owner); err != nil || w == nil {
			return w, err
		}

		if *verdict = Judge(w, want, now); verdict.Step != Create {
			return q.carryOut(ctx, w, want, sets, verdict, now)
		}
	case Update:
		return w, client.IgnoreNotFound(q.update(ctx, w, want, sets))
	case GiveBack:
		return w, q.giveBack(ctx, w, want.Attempt, now)
	case Replace, Discard:
		return w, q.remove(ctx, w)
	}
	return w, nil
}

func (q *Queue) create(ctx context.Context, want Request, sets []PodSet) (*Workload, error) {
	w := &Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: want.Name, Namespace: want.Owner.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(want.Owner, q.Kind)},
		},
		Spec: WorkloadSpec{QueueName: want.Queue, PodSets: sets, Active: new(true)},
	}
	q.label(w, want.Owner)
	w.annotate(want.Attempt, want.Hash)

	if err := prioritize(ctx, q.Live, w, want.Class); err != nil {
		return nil, err
	}

	if err := q.Client.Create(ctx, w); err != nil {
		return nil, err
	}

	q.writes.Wrote(w)
	return w, nil
}

// update changes a Workload without quota to what is wanted now.
func (q *Queue) update(ctx context.Context, w *Workload, want Request, sets []PodSet) error {
	return q.patch(ctx, w, func() error {
		q.label(w, want.Owner)
		w.annotate(want.Attempt, want.Hash)

		w.Spec.QueueName, w.Spec.PodSets = want.Queue, sets
		if ref := w.Spec.PriorityClassRef; want.Class.Name != "" && (ref == nil || *ref != want.Class) {
			return prioritize(ctx, q.Live, w, want.Class)
		}
		return nil
	})
}

func (q *Queue) patch(ctx context.Context, w *Workload, change func() error) error {
	return q.send(w, change, func(p client.Patch) error { return q.Client.Patch(ctx, w, p) })
}

func (q *Queue) patchStatus(ctx context.Context, w *Workload, change func()) error {
	return q.send(w, func() error { change(); return nil }, func(p client.Patch) error { return q.Client.Status().Patch(ctx, w, p) })
}

// send changes a Workload and sends the difference, which the API server refuses if somebody else has written
// meanwhile.
func (q *Queue) send(w *Workload, change func() error, patch func(client.Patch) error) error {
	before := w.DeepCopy()

	if err := change(); err != nil {
		return err
	}

	if err := patch(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}

	q.writes.Wrote(w)
	return nil
}

// remove deletes exactly this Workload.
func (q *Queue) remove(ctx context.Context, w *Workload) error {
	if w.DeletionTimestamp != nil {
		return nil
	}

	err := q.Client.Delete(ctx, w, client.Preconditions{UID: new(w.UID)})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// own reads the Workload of a custom resource from the API server. It returns nil if the Workload does not exist,
// belongs to somebody else, or is being deleted.
func (q *Queue) own(ctx context.Context, owner client.Object) (*Workload, error) {
	w, err := q.read(ctx, q.Live, owner)
	if err != nil || w == nil || w.DeletionTimestamp != nil || !metav1.IsControlledBy(w, owner) {
		return nil, err
	}
	return w, nil
}

// Release deletes the Workload of a custom resource.
func (q *Queue) Release(ctx context.Context, owner client.Object) error {
	w, err := q.own(ctx, owner)
	if err != nil || w == nil {
		return err
	}
	return q.remove(ctx, w)
}

// GiveBack clears the reservation of an evicted Workload, as Kueue's own integrations do when no pod is left. The
// Workload then belongs to the given attempt.
func (q *Queue) GiveBack(ctx context.Context, owner client.Object, attempt int32, now time.Time) error {
	w, err := q.own(ctx, owner)
	if err != nil || w == nil || !w.is(QuotaReserved) || !w.is(Evicted) {
		return err
	}
	return q.giveBack(ctx, w, attempt, now)
}

// Hold makes a pod the second owner of a Workload. If the custom resource is deleted, the garbage collector then
// deletes the Workload after the pod, so that Kueue does not grant the quota again while the pod still stops.
func (q *Queue) Hold(ctx context.Context, owner client.Object, pod *corev1.Pod) error {
	w, err := q.own(ctx, owner)
	if err != nil || w == nil || pod == nil {
		return err
	}
	return client.IgnoreNotFound(q.patch(ctx, w, func() error {
		w.OwnerReferences = append(slices.DeleteFunc(w.OwnerReferences, isPod), metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID})
		return nil
	}))
}

func isPod(ref metav1.OwnerReference) bool {
	return identity.OfKind(ref, schema.GroupKind{Kind: "Pod"})
}

func (q *Queue) giveBack(ctx context.Context, w *Workload, attempt int32, now time.Time) error {
	if w.attempt() != attempt {
		if err := q.patch(ctx, w, func() error { w.annotate(attempt, w.Annotations[HashAnnotation]); return nil }); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return client.IgnoreNotFound(q.patchStatus(ctx, w, func() { giveBack(w, now) }))
}
