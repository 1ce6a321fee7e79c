package dependents

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

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ReasonNameTaken is the Cause.Reason if an object of another owner has the name that our object needs.
const ReasonNameTaken = "NameTaken"

// Creation is the result of creating an object. The zero value means that a suitable object already existed.
type Creation struct {
	Made    client.Object    // the created object; nil if none was created
	Refused *lifecycle.Cause // why the API server rejects it
	Older   client.Object    // an object of another attempt with the same name; its kind is set
	// Earlier is the pod of this very attempt if an earlier pass created it for another restart request.
	Earlier *corev1.Pod
}

// CreateOne creates an object of an attempt. It reads the existing object only if the API server answers AlreadyExists.
// The argument mount is the attempt's driver or submitter pod, which mounts the attempt's other objects. A returned
// error is transient, or a *apianswer.Wait.
func (c Client) CreateOne(ctx context.Context, kind contract.Kind, owner, object client.Object, mount *corev1.Pod) (Creation, error) {
	err := c.Create(ctx, object) // changes the object only if it was created
	switch {
	case err == nil:
		return Creation{Made: object}, nil
	case apierrors.IsAlreadyExists(err):
		return c.adopt(ctx, kind, owner, object, mount)
	}
	return creationRefused(object, err)
}

// creationRefused returns the result of a failed creation: a rejection as Creation.Refused, and any other failure as an
// error (apianswer.OfCreation).
func creationRefused(object client.Object, err error) (Creation, error) {
	cause, err := apianswer.OfCreation(object, err)
	return Creation{Refused: cause}, err
}

// adopt decides what happens if an object with the wanted name already exists. It reads that object live. The object
// may belong to:
//
//	nobody any more       wait a moment, then create again
//	somebody else         reject, and name that object; it is never changed
//	  but being deleted   wait until it is deleted
//	a deleted owner       wait until it is deleted: an earlier custom resource of the same name owns it
//	a pod that ends       wait until it is deleted: another operator makes the driver pod the owner of its objects
//	another operator      replace it, if this custom resource is its controller
//	an unlabelled object  replace it, if it belonged to this very attempt
//	another operator      replace it, if it is a PodGroup that the other operator created for this application
//	another attempt       return it as a fact: the decision did not know that it still exists
//	this very attempt     adopt it: an earlier pass created it, but did not record it in the status
//	  for another request return it as a fact: the decision assumed that this launch answers the restart request
//	  but being deleted   wait until it is deleted
//	  but different       replace an immutable ConfigMap of an older spec, unless a driver already uses it
//
// A Secret is not read: see recreateSecret.
func (c Client) adopt(ctx context.Context, kind contract.Kind, owner, object client.Object, mount *corev1.Pod) (Creation, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		return c.recreateSecret(ctx, owner, secret, mount)
	}

	existing, gvk, err := c.ReadLive(ctx, object)
	if err == nil {
		existing = withIdentity(kind, owner, existing)
	}

	switch {
	case apierrors.IsNotFound(err):
		return Creation{}, &apianswer.Wait{Message: fmt.Sprintf("%s %s existed and was deleted just now; the next pass creates it", gvk.Kind, object.GetName())}
	case err != nil:
		return Creation{}, err
	case identity.Inherited(existing, owner):
		return c.recreate(ctx, owner, object, existing, nil) // if this attempt's driver exists, somebody removed the labels
	case !identity.BelongsTo(existing, owner):
		return c.otherOwner(ctx, existing, gvk.Kind, owner)
	case isPodGroup(object) && identity.Attempt(existing) == 0:
		return c.recreate(ctx, owner, object, existing, mount) // another operator created it before the take-over
	case identity.Attempt(existing) != identity.Attempt(object):
		existing.GetObjectKind().SetGroupVersionKind(gvk)
		return Creation{Older: existing}, nil
	case existing.GetDeletionTimestamp() != nil:
		return Creation{}, &apianswer.Wait{Message: fmt.Sprintf("%s %s is being deleted", gvk.Kind, existing.GetName())}
	case sameContent(existing, object):
		return Creation{Earlier: otherRequest(existing, object)}, nil
	}
	return c.recreate(ctx, owner, object, existing, mount)
}

// otherRequest returns the existing object if it is a pod that was created for another restart request than the wanted
// pod. Otherwise it returns nil.
func otherRequest(existing, wanted client.Object) *corev1.Pod {
	pod, isPod := existing.(*corev1.Pod)
	if !isPod || pod.Annotations[lifecycle.RestartRequestAnnotation] == wanted.GetAnnotations()[lifecycle.RestartRequestAnnotation] {
		return nil
	}
	return pod
}

// otherOwner handles an existing object that has the wanted name and belongs to another owner. If the name will become
// free, otherOwner returns a *apianswer.Wait, and otherwise a Creation with a rejection.
func (c Client) otherOwner(ctx context.Context, existing client.Object, kind string, owner client.Object) (Creation, error) {
	why := c.WhyNameFrees(existing, kind, owner)
	if why == "" {
		var err error
		if why, err = c.WhyPodFreesName(ctx, existing, kind, owner); err != nil {
			return Creation{}, err
		}
	}

	if why != "" {
		return Creation{}, &apianswer.Wait{Reason: ReasonNameTaken, Message: why, Unwatched: true}
	}

	cause := NameTaken(existing, kind)
	return Creation{Refused: &cause}, nil
}

// WhyNameFrees returns why the name of another owner's object will become free, or "" if it will not. It takes the kind
// of the custom resource from the scheme.
func (c Client) WhyNameFrees(existing client.Object, kind string, owner client.Object) string {
	return identity.WhyNameFrees(existing, kind, owner, c.GroupKind(owner))
}

// GroupKind returns the group and kind of a custom resource, or the empty value if the scheme has no type for the
// custom resource.
func (c Client) GroupKind(owner client.Object) schema.GroupKind {
	gvk, err := apiutil.GVKForObject(owner, c.Scheme())
	if err != nil {
		return schema.GroupKind{}
	}
	return gvk.GroupKind()
}

// WhyPodFreesName returns why the name of an existing object will become free, or "" if it will not. The name becomes
// free if all owners of the object are pods that are deleted or being deleted. This happens after a take-over: another
// operator makes the driver pod the owner of the driver's objects, and the garbage collector deletes these objects some
// time after the pod.
func (c Client) WhyPodFreesName(ctx context.Context, existing client.Object, kind string, owner client.Object) (string, error) {
	refs := existing.GetOwnerReferences()
	for _, ref := range refs {
		if !identity.OfKind(ref, schema.GroupKind{Kind: "Pod"}) {
			return "", nil
		}

		pod, _, err := c.ReadLive(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: existing.GetNamespace(), Name: ref.Name}})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return "", err
		case pod.GetUID() == ref.UID && c.WhyNameFrees(pod, ref.Kind, owner) == "":
			return "", nil
		}
	}

	if len(refs) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s %q still exists; Kubernetes deletes it after pod %q, which is gone or being deleted; the operator waits until then",
		kind, existing.GetName(), refs[0].Name), nil
}

// NameTaken returns a cause that says that an existing object has the wanted name. The cause names that object's owner.
func NameTaken(existing metav1.Object, kind string) lifecycle.Cause {
	return lifecycle.Cause{Reason: ReasonNameTaken, Message: fmt.Sprintf(
		"%s %q already exists and does not belong to this resource (%s); delete it or choose another name",
		kind, existing.GetName(), identity.DescribeOwner(existing))}
}

// sameContent reports whether the existing object has the content of the wanted one. It compares only ConfigMaps, and
// returns true for all other kinds. The operator's ConfigMaps are immutable, so a ConfigMap with other content has to
// be replaced.
func sameContent(existing, wanted client.Object) bool {
	config, ok := wanted.(*corev1.ConfigMap)
	if !ok {
		return true
	}

	have := existing.(*corev1.ConfigMap)
	return equality.Semantic.DeepEqual(have.Data, config.Data) && equality.Semantic.DeepEqual(have.BinaryData, config.BinaryData)
}

// mounted reports whether the pod in the argument `mount` exists and belongs to the same owner and attempt as the
// object. The operator must not change an object that an existing pod mounts.
func (c Client) mounted(ctx context.Context, owner, object client.Object, mount *corev1.Pod) (bool, error) {
	pod, _, err := c.ReadLive(ctx, mount)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return identity.BelongsTo(pod, owner) && identity.Attempt(pod) == identity.Attempt(object), nil
}

// recreate replaces an object whose content an older pass rendered. It keeps the object if the attempt's driver pod
// exists, because the driver pod has mounted it. If mount is nil, recreate replaces the object in any case.
func (c Client) recreate(ctx context.Context, owner, object, existing client.Object, mount *corev1.Pod) (Creation, error) {
	if mount != nil {
		if mounted, err := c.mounted(ctx, owner, object, mount); mounted || err != nil {
			return Creation{}, err
		}
	}

	if err := c.DeleteOne(ctx, existing); err != nil {
		if cause, permanent := apianswer.Rejection(err); permanent {
			return Creation{}, &apianswer.Wait{Reason: cause.Reason, Message: err.Error()}
		}
		return Creation{}, err
	}

	made := object.DeepCopyObject().(client.Object)
	if err := c.Create(ctx, made); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return Creation{}, &apianswer.Wait{Message: fmt.Sprintf("%s is being replaced", object.GetName())}
		}
		return creationRefused(object, err)
	}
	return Creation{Made: made}, nil
}

// recreateSecret handles an existing Secret that has the wanted name. If the pod that mounts the Secret exists, an
// earlier pass created both, and the Secret stays because the pod may be reading it. Otherwise recreateSecret deletes
// the Secrets of this application's attempt and creates the wanted Secret again. If the name is still taken after that,
// the existing Secret belongs to somebody else.
func (c Client) recreateSecret(ctx context.Context, owner client.Object, secret *corev1.Secret, mount *corev1.Pod) (Creation, error) {
	if mounted, err := c.mounted(ctx, owner, secret, mount); mounted || err != nil {
		return Creation{}, err
	}

	if err := c.DeleteSecrets(ctx, owner, identity.Attempt(secret)); err != nil {
		return Creation{}, err
	}

	made := secret.DeepCopy()

	err := c.Create(ctx, made)
	switch {
	case err == nil:
		return Creation{Made: made}, nil
	case apierrors.IsAlreadyExists(err):
		return Creation{Refused: &lifecycle.Cause{Reason: ReasonNameTaken, Message: fmt.Sprintf(
			"Secret %q already exists and does not belong to this application; delete it or choose another name for the application", secret.Name)}}, nil
	}
	return creationRefused(secret, err)
}
