package dependents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// DeletedOwners remembers the UIDs of deleted custom resources by their names, from the watch event of the deletion
// until Sweep has deleted their orphans.
//
// If a custom resource is deleted in the background, which is kubectl's default, Kubernetes' garbage collector deletes
// its dependents. But the collector sends two requests for each object, and a controller manager with default settings
// deletes about twenty objects a second. For the dependents of a thousand applications the collector would take
// minutes, and the drivers would keep running in that time.
//
// So the operator itself immediately deletes the orphans that its caches show. It uses the collector's rule: an object
// is an orphan if none of its owners exists any more. The collector deletes all other orphans, and all orphans if the
// operator stops earlier.
type DeletedOwners struct {
	bykey.ByKey[types.NamespacedName, []types.UID]
}

// Note remembers a deleted custom resource, unless its dependents are to stay (kubectl delete --cascade=orphan).
func (d *DeletedOwners) Note(object client.Object) {
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

// DropUID forgets a custom resource that has no orphans any more.
func (d *DeletedOwners) DropUID(key types.NamespacedName, uid types.UID) {
	d.Update(key, func(uids []types.UID, _ bool) ([]types.UID, bool) {
		left := slices.DeleteFunc(slices.Clone(uids), func(other types.UID) bool { return other == uid })
		return left, len(left) > 0
	})
}

// Sweep deletes the orphans of deleted custom resources with this name. It reports whether it has to run again because
// an object changed in the meantime. A new custom resource with the same name is safe, because it has another UID.
func (c Client) Sweep(ctx context.Context, deleted *DeletedOwners, key types.NamespacedName) (again bool, err error) {
	uids, _ := deleted.Get(key)
	for _, uid := range uids {
		orphans, ownedByDrivers, err := c.orphansOf(ctx, key, uid)
		if err != nil {
			return false, err
		}

		changed, err := c.deleteOrphans(ctx, key, orphans, ownedByDrivers)
		switch cause, _ := apianswer.Rejection(err); {
		case err != nil && cause.Reason == "":
			return false, err
		case changed:
			again = true
			continue
		}

		deleted.DropUID(key, uid) // also after a rejected deletion, because the garbage collector has the right
	}
	return again, nil
}

// orphansOf finds in the caches the orphans of a deleted custom resource. A driver is an orphan if the custom resource
// is its only owner. Another object is an orphan if each of its owners is the custom resource or an orphaned driver.
// Orphans that only drivers own are returned separately.
func (c Client) orphansOf(ctx context.Context, key types.NamespacedName, uid types.UID) (orphans, ownedByDrivers []client.Object, err error) {
	pods, others, err := c.Labelled(ctx, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid}})
	if err != nil {
		return nil, nil, err
	}

	set := SortPods(pods, uid)
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
			ownedByDrivers = append(ownedByDrivers, object)
		default:
			orphans = append(orphans, object)
		}
	}
	return orphans, ownedByDrivers, nil
}

// deleteOrphans deletes the orphans, and then the objects that only drivers own. If a user has released a driver from
// its owner in the meantime (kubectl delete --cascade=orphan), the driver and its objects must stay. The objects
// themselves do not show the release, so deleteOrphans deletes them only after it has deleted their driver.
//
// An orphan whose log is not kept yet counts as changed.
func (c Client) deleteOrphans(ctx context.Context, key types.NamespacedName, orphans, ownedByDrivers []client.Object) (changed bool, err error) {
	changed, kept, err := deleteEach(orphans, func(object client.Object) error {
		if c.HoldFor(key, object) > 0 {
			return apierrors.NewConflict(corev1.Resource("pods"), object.GetName(), errors.New("its log is not kept yet"))
		}
		return c.deleteUnchanged(ctx, object)
	})
	ownedByDrivers = slices.DeleteFunc(ownedByDrivers, func(object client.Object) bool {
		return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return kept[ref.UID] })
	})
	more, _, errMore := deleteEach(ownedByDrivers, func(object client.Object) error { return c.deleteUnlessReleased(ctx, object) })
	return changed || more, errors.Join(err, errMore)
}

// deleteUnchanged deletes an object only if it has not changed since it was read. A changed object may have been
// released from its owner, and has to stay in that case.
func (c Client) deleteUnchanged(ctx context.Context, object client.Object) error {
	return c.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())})
}

// deleteUnlessReleased deletes an object that only a driver owns, unless the object's owners have changed. It also
// deletes an object that has changed in another way since it was read. Such changes are likely, because executors that
// wait for a node change often. A later sweep would miss the object: it finds such objects through their driver, which
// is deleted by then.
func (c Client) deleteUnlessReleased(ctx context.Context, object client.Object) error {
	conflict := c.deleteUnchanged(ctx, object)
	if !apierrors.IsConflict(conflict) {
		return conflict
	}

	live, err := c.ReadLiveMetadata(ctx, object)
	if err != nil {
		return err
	}

	if live.UID != object.GetUID() || !equality.Semantic.DeepEqual(live.OwnerReferences, object.GetOwnerReferences()) {
		return conflict
	}
	return c.deleteUnchanged(ctx, live)
}

// deleteEach deletes objects concurrently. It reports whether one of the objects has changed since it was read, and
// which objects still exist.
func deleteEach(objects []client.Object, del func(client.Object) error) (changed bool, kept map[types.UID]bool, err error) {
	kept = map[types.UID]bool{}

	errs := ForEach(objects, del)
	for i, err := range errs {
		kept[objects[i].GetUID()] = err != nil && !apierrors.IsNotFound(err)
		switch {
		case apierrors.IsConflict(err):
			changed = true
			errs[i] = nil
		case apierrors.IsNotFound(err):
			errs[i] = nil
		case err != nil:
			errs[i] = fmt.Errorf("delete %s, whose owner is gone: %w", objects[i].GetName(), err)
		}
	}
	return changed, kept, errors.Join(errs...)
}
