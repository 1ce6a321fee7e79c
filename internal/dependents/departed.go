package dependents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/memory"
)

// Departed remembers the UIDs of custom resources that were deleted, by their name, from the watch event that tells so
// until Sweep has deleted what they left.
//
// What a custom resource leaves that is deleted in the background, as kubectl does it, Kubernetes' garbage collector
// deletes in the end, but with two requests for each object, and not more than some twenty objects a second by the
// defaults of a controller manager. A thousand applications would take minutes, in which their drivers run on. So the
// operator deletes at once what it finds in its caches, by the collector's own rule: all owners are gone. What it does not
// find is left to the collector, and so is everything when an operator ends before it came to it.
type Departed struct {
	memory.ByKey[types.NamespacedName, []types.UID]
}

// Note remembers a custom resource, unless its dependents are to stay (kubectl delete --cascade=orphan).
func (d *Departed) Note(object client.Object) {
	if slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return
	}
	d.Update(identity.Key(object), func(uids []types.UID, _ bool) ([]types.UID, bool) {
		if slices.Contains(uids, object.GetUID()) {
			return uids, true
		}
		return append(slices.Clip(uids), object.GetUID()), true
	})
}

// Swept forgets a custom resource of which nothing is left.
func (d *Departed) Swept(key types.NamespacedName, uid types.UID) {
	d.Update(key, func(uids []types.UID, _ bool) ([]types.UID, bool) {
		left := slices.DeleteFunc(slices.Clone(uids), func(one types.UID) bool { return one == uid })
		return left, len(left) > 0
	})
}

// Sweep deletes what custom resources of a name have left that are gone, and reports whether it is to be tried again, as
// something changed meanwhile. Another custom resource of that name that exists now is not one of these: its UID differs.
func (c Client) Sweep(ctx context.Context, departed *Departed, key types.NamespacedName) (again bool, err error) {
	uids, _ := departed.Get(key)
	for _, uid := range uids {
		left, ofDrivers, err := c.leftBy(ctx, key, uid)
		if err != nil {
			return false, err
		}
		changed, err := c.deleteAllLeft(ctx, left, ofDrivers)
		switch cause, _ := apianswer.Rejection(err); {
		case err != nil && cause.Reason == "":
			return false, err
		case changed:
			again = true
			continue
		}
		departed.Swept(key, uid) // also where a deletion is refused for good: the garbage collector has the right
	}
	return again, nil
}

// leftBy finds in the caches what is left of a custom resource that is gone: what has no owner but it, or one of its
// drivers that go as well. What no one but drivers owns comes apart.
func (c Client) leftBy(ctx context.Context, key types.NamespacedName, uid types.UID) (left, ofDrivers []client.Object, err error) {
	pods, others, err := c.Labelled(ctx, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid}})
	if err != nil {
		return nil, nil, err
	}
	set := Sort(pods, uid)
	set.Others = others
	owners := map[types.UID]bool{uid: true}
	stays := func(object client.Object) bool {
		return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !owners[ref.UID] })
	}
	for i := range set.Drivers {
		if driver := &set.Drivers[i]; !stays(driver) {
			owners[driver.UID] = true
		}
	}
	for _, object := range set.Deletable() {
		switch refs := object.GetOwnerReferences(); {
		case object.GetDeletionTimestamp() != nil, stays(object):
		case len(refs) > 0 && !identity.OwnedBy(object, uid):
			ofDrivers = append(ofDrivers, object)
		default:
			left = append(left, object)
		}
	}
	return left, ofDrivers, nil
}

// deleteAllLeft deletes what is left, and then what the drivers own that were deleted. A driver that was let go meanwhile keeps what it has, which does not change
// when the driver does.
func (c Client) deleteAllLeft(ctx context.Context, left, ofDrivers []client.Object) (changed bool, err error) {
	changed, kept, err := deleteLeft(left, func(object client.Object) error { return c.deleteAsSeen(ctx, object) })
	ofDrivers = slices.DeleteFunc(ofDrivers, func(object client.Object) bool {
		return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return kept[ref.UID] })
	})
	more, _, errMore := deleteLeft(ofDrivers, func(object client.Object) error { return c.deleteUnlessLetGo(ctx, object) })
	return changed || more, errors.Join(err, errMore)
}

// deleteAsSeen deletes an object exactly as it was seen: one that has changed since may have lost its owner, and is to stay then.
func (c Client) deleteAsSeen(ctx context.Context, object client.Object) error {
	return c.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())})
}

// deleteUnlessLetGo also deletes an object that has changed since it was seen, unless its owners have changed. The next sweep would
// not find the object, since the caches do not show its driver any more; and executors that wait for a node change often.
func (c Client) deleteUnlessLetGo(ctx context.Context, object client.Object) error {
	conflict := c.deleteAsSeen(ctx, object)
	if !apierrors.IsConflict(conflict) {
		return conflict
	}
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return err
	}
	live := identity.MetadataOnly(gvk)
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return err
	}
	if live.UID != object.GetUID() || !equality.Semantic.DeepEqual(live.OwnerReferences, object.GetOwnerReferences()) {
		return conflict
	}
	return c.deleteAsSeen(ctx, live)
}

// deleteLeft deletes objects, side by side. It reports whether one has changed since it was seen, and which were not deleted.
func deleteLeft(objects []client.Object, del func(client.Object) error) (changed bool, kept map[types.UID]bool, err error) {
	kept = map[types.UID]bool{}
	errs := OnEach(objects, del)
	for i, one := range errs {
		kept[objects[i].GetUID()] = one != nil && !apierrors.IsNotFound(one)
		switch {
		case apierrors.IsConflict(one):
			changed = true
			errs[i] = nil
		case apierrors.IsNotFound(one):
			errs[i] = nil
		case one != nil:
			errs[i] = fmt.Errorf("delete %s, whose owner is gone: %w", objects[i].GetName(), one)
		}
	}
	return changed, kept, errors.Join(errs...)
}
