package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/memory"
)

// What a custom resource leaves that is deleted in the background, as kubectl does it, Kubernetes' garbage collector deletes: all of it, and in the end, but with
// two requests for each object, and not more than some twenty objects a second by the defaults of a controller manager. A thousand applications would take
// minutes, in which their drivers run on. So the operator deletes at once what it finds in its caches, by the collector's own rule: all owners are gone. What it
// does not find is left to the collector, and so is everything when an operator ends before it came to it.

// departed remembers the UIDs of custom resources that were deleted, by their name, from the watch event that tells so until a pass has deleted what they left.
type departed struct {
	memory.ByKey[types.NamespacedName, []types.UID]
}

// note remembers a custom resource, unless its children are to stay (kubectl delete --cascade=orphan).
func (d *departed) note(object client.Object) {
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

// swept forgets a custom resource of which nothing is left.
func (d *departed) swept(key types.NamespacedName, uid types.UID) {
	d.Update(key, func(uids []types.UID, _ bool) ([]types.UID, bool) {
		left := slices.DeleteFunc(slices.Clone(uids), func(one types.UID) bool { return one == uid })
		return left, len(left) > 0
	})
}

// Deletions lets the events of a kind's own objects through, and notes the deletions among them before they come to the queue; once leads is closed, that is:
// while this process stands by, another deletes what is left. Of one that was only found to be missing nobody knows how it was deleted: its children may be to stay.
func (r *Reconciler) Deletions(leads <-chan struct{}) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		object := e.Object
		if e.DeleteStateUnknown || r.kind.Runs != nil || r.kind.Served.Selects != nil && !r.kind.Served.Selects(object) {
			return true
		}
		select {
		case <-leads:
			r.departed.note(object)
		default:
		}
		return true
	}}
}

// sweep deletes what custom resources of a name have left that are gone, and returns when to look again; 0 = not. Another of that name that is there now is none
// of these: its UID differs.
func (r *Reconciler) sweep(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	uids, _ := r.departed.Get(key)
	for _, uid := range uids {
		left, err := r.leftBy(ctx, key, uid)
		if err != nil {
			return 0, err
		}
		changed, err := r.deleteLeft(ctx, left)
		switch cause, _ := apianswer.Rejection(err); {
		case err != nil && cause.Reason == "":
			return 0, err
		case changed:
			again = lookAgain
			continue
		}
		r.departed.swept(key, uid) // also where a deletion is refused for good: the garbage collector has the right
	}
	return again, nil
}

// leftBy finds in the caches what is left of a custom resource that is gone: what has no owner but it, or one of its drivers that go as well.
func (r *Reconciler) leftBy(ctx context.Context, key types.NamespacedName, uid types.UID) ([]client.Object, error) {
	was := r.kind.New()
	was.SetNamespace(key.Namespace)
	was.SetName(key.Name)
	was.SetUID(uid)
	p := &pass{stored: was}
	if err := r.observeLabelled(ctx, p); err != nil {
		return nil, err
	}
	owners := map[types.UID]bool{uid: true}
	stays := func(object client.Object) bool {
		return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return !owners[ref.UID] })
	}
	for i := range p.children.drivers {
		if driver := &p.children.drivers[i]; !stays(driver) {
			owners[driver.UID] = true
		}
	}
	return slices.DeleteFunc(p.having(), func(object client.Object) bool { return object.GetDeletionTimestamp() != nil || stays(object) }), nil
}

// observeLabelled finds the children of a custom resource that are labelled as such.
func (r *Reconciler) observeLabelled(ctx context.Context, p *pass) error {
	of := labelledAs(p.stored)
	pods, err := r.listPods(ctx, of)
	if err != nil {
		return err
	}
	p.children = sortPods(pods, p.stored.GetUID())
	return r.observeKinds(ctx, p, of)
}

// deleteLeft deletes objects exactly as they were seen, side by side: one that has changed since may have lost its owner, and is to stay then. It reports whether
// one has.
func (r *Reconciler) deleteLeft(ctx context.Context, objects []client.Object) (changed bool, err error) {
	errs := deleteAll(objects, func(object client.Object) error {
		return r.client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())})
	})
	for i, one := range errs {
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
	return changed, errors.Join(errs...)
}
