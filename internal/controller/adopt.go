package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// reasonNameTaken is the cause's reason when the name of an object of ours belongs to somebody else.
const reasonNameTaken = "NameTaken"

// adopt deals with a name that is taken, by a live read of who has it:
//
//	nobody any more       wait a moment, then create again
//	somebody else         refused for good, by name; theirs is never touched
//	  but it is going     wait until it is gone
//	one of this name      wait until it is gone: a custom resource of the name that was deleted before this one was made
//	a pod that goes       wait until it is gone: another operator lets the driver pod own what belongs to it
//	another operator      made again, where this custom resource is its controller
//	another operator      a PodGroup that one of this API left for the application: made again
//	another attempt       a fact: the decision did not know that it still exists
//	this very attempt     adopted: it was made by a pass that did not come to write it down
//	  but it is going     wait until it is gone
//	  but different       an immutable ConfigMap from an older spec: made again, unless a driver already uses it
//
// A Secret is not read: see remakeSecret.
func (r *Reconciler) adopt(ctx context.Context, p *pass, object client.Object, driver *corev1.Pod) (fact, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		return r.remakeSecret(ctx, p, secret, driver)
	}
	existing, gvk, err := r.readLive(ctx, object)
	if err == nil {
		existing = r.identifyOne(p, existing)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, &apianswer.Wait{Message: fmt.Sprintf("%s %s was deleted just now", gvk.Kind, object.GetName())}
	case err != nil:
		return nil, err
	case identity.Inherited(existing, p.stored):
		return r.remake(ctx, p, object, existing, driver)
	case !identity.BelongsTo(existing, p.stored):
		why := r.whyFreed(existing, gvk.Kind, p.stored)
		if why == "" {
			why, err = r.leftWithPod(ctx, existing, gvk.Kind, p.stored)
		}
		switch {
		case err != nil:
			return nil, err
		case why != "":
			return nil, &apianswer.Wait{Reason: reasonNameTaken, Message: why}
		}
		return refused(nameTaken(existing, gvk.Kind)), nil
	case isGroup(object) && identity.Attempt(existing) == 0:
		return r.remake(ctx, p, object, existing, driver) // another operator's, of an application that was taken over
	case identity.Attempt(existing) != identity.Attempt(object):
		return p.foundOlder(existing, gvk)
	case existing.GetDeletionTimestamp() != nil:
		return nil, &apianswer.Wait{Message: fmt.Sprintf("%s %s is being deleted", gvk.Kind, existing.GetName())}
	case sameContent(existing, object):
		return nil, nil
	}
	return r.remake(ctx, p, object, existing, driver)
}

func (r *Reconciler) readLive(ctx context.Context, object client.Object) (client.Object, schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(object, r.client.Scheme())
	if err != nil {
		return nil, gvk, err
	}
	var existing client.Object = metadataOnly(gvk) // of an optional kind
	if r.client.Scheme().Recognizes(gvk) {
		empty, err := r.client.Scheme().New(gvk)
		if err != nil {
			return nil, gvk, err
		}
		existing = empty.(client.Object)
	}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return nil, gvk, fmt.Errorf("read %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return existing, gvk, nil
}

// whyFreed returns why the name of an object of somebody else will become free; see identity.WhyFreed.
func (r *Reconciler) whyFreed(existing client.Object, kind string, owner client.Object) string {
	return identity.WhyFreed(existing, kind, owner, r.groupKind(owner))
}

// groupKind is the kind of a custom resource; empty if the scheme has no type of it.
func (r *Reconciler) groupKind(owner client.Object) schema.GroupKind {
	gvk, err := apiutil.GVKForObject(owner, r.client.Scheme())
	if err != nil {
		return schema.GroupKind{}
	}
	return gvk.GroupKind()
}

// leftWithPod says why a name of ours is going to be free that belongs to nobody but pods that are gone or going; nothing where it is not. Another operator
// lets the driver pod own what belongs to it, and the garbage collector comes to that some time after the pod.
func (r *Reconciler) leftWithPod(ctx context.Context, existing client.Object, kind string, owner client.Object) (string, error) {
	refs := existing.GetOwnerReferences()
	for _, ref := range refs {
		if !identity.OfKind(ref, schema.GroupKind{Kind: "Pod"}) {
			return "", nil
		}
		pod, _, err := r.readLive(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: existing.GetNamespace(), Name: ref.Name}})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return "", err
		case pod.GetUID() == ref.UID && r.whyFreed(pod, ref.Kind, owner) == "":
			return "", nil
		}
	}
	if len(refs) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s %q goes with pod %q, which is gone or on its way; nothing is launched before it is gone", kind, existing.GetName(), refs[0].Name), nil
}

// nameTaken says who has a name of ours.
func nameTaken(existing metav1.Object, kind string) lifecycle.Cause {
	return lifecycle.Cause{Reason: reasonNameTaken, Message: fmt.Sprintf(
		"%s %q already exists and does not belong to this resource (%s); delete it or choose another name", kind, existing.GetName(), identity.OwnerInWords(existing))}
}

// foundOlder takes an object of another attempt into the facts. When the decision knew it and wants to create nevertheless, all that is
// left is to wait for it to go.
func (p *pass) foundOlder(existing client.Object, gvk schema.GroupVersionKind) (fact, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.knows(existing) {
		return nil, &apianswer.Wait{Message: fmt.Sprintf("%s %s of attempt %d still exists",
			gvk.Kind, existing.GetName(), identity.Attempt(existing))}
	}
	if pod, isPod := existing.(*corev1.Pod); isPod {
		return p.foundPod(pod), nil
	}
	attempt := identity.Attempt(existing)
	meta := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: existing.GetNamespace(), Name: existing.GetName(), UID: existing.GetUID(),
		Labels: existing.GetLabels(), DeletionTimestamp: existing.GetDeletionTimestamp(),
	}}
	meta.SetGroupVersionKind(gvk)
	p.children.others = append(p.children.others, meta)
	return func(seen *lifecycle.Observed) { seen.Remains = append(seen.Remains, attempt) }, nil
}

// sameContent compares what cannot be changed in place. Whatever else exists under our identity is as good as new.
func sameContent(existing, wanted client.Object) bool {
	config, ok := wanted.(*corev1.ConfigMap)
	if !ok {
		return true
	}
	have := existing.(*corev1.ConfigMap)
	return equality.Semantic.DeepEqual(have.Data, config.Data) && equality.Semantic.DeepEqual(have.BinaryData, config.BinaryData)
}

// remake replaces an object whose content is of an older render, unless the attempt's driver pod exists: that one has mounted it.
func (r *Reconciler) remake(ctx context.Context, p *pass, object, existing client.Object, driver *corev1.Pod) (fact, error) {
	pod, _, err := r.readLive(ctx, driver)
	if err == nil && identity.BelongsTo(pod, p.stored) && identity.Attempt(pod) == identity.Attempt(object) {
		return nil, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err := r.deleteOne(ctx, existing); err != nil {
		if cause, permanent := apianswer.Rejection(err); permanent {
			return nil, &apianswer.Wait{Reason: cause.Reason, Message: err.Error()}
		}
		return nil, err
	}
	made := object.DeepCopyObject().(client.Object)
	if err := r.client.Create(ctx, made); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil, &apianswer.Wait{Message: fmt.Sprintf("%s is being replaced", object.GetName())}
		}
		return answer(object, err)
	}
	p.remember(made)
	return nil, nil
}
