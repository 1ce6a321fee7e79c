package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
)

// record writes the status if it changed, and reports whether it did; what is of the crowd alone may have to rest first, for as long as it returns. The patch carries
// the resourceVersion that the decision was made from: a change by anybody meanwhile is a conflict, which ends the pass.
func (r *Reconciler) record(ctx context.Context, o outcome) (written bool, rest time.Duration, _ error) {
	key := identity.Key(o.Owner)
	patch, err := statuswrite.Patch(o.Owner, o.object, r.kind.Status)
	if err != nil {
		return false, 0, err
	}
	if patch == nil {
		r.paces.Over(key)
		return false, 0, nil
	}
	crowd := !o.acted() && statuswrite.OfTheCrowd(r.kind.Crowd, o.plan, patch)
	switch {
	case crowd && len(o.plan.Tell) > 0:
		rest = r.paces.NewsRest(key, o.Now)
	case crowd:
		rest = r.paces.Rest(key, o.Now, statuswrite.PauseOf(o.plan, o.Seen.Executors), len(o.Seen.Executors), patch)
	}
	if rest > 0 {
		r.paces.Rests(key, o.plan.Next.ShortSince)
		return false, rest, nil
	}
	target, err := r.metadataOf(o.Owner)
	if err != nil {
		return false, 0, err
	}
	err = r.dependents.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	r.metrics.StatusWrite(r.kind.Name, writeResult(err))
	if err != nil {
		return false, 0, err
	}
	r.writes.Wrote(target)
	r.paces.Wrote(key, o.Now, crowd && r.kind.Crowd.News)
	return true, 0, nil
}

// acted reports whether the pass did something that is stored or told at once. That takes along whatever rests.
func (o outcome) acted() bool {
	return len(o.told)+len(o.acts.Warnings)+len(o.Made) > 0 || o.acts.Hindered != nil
}

// metadataOf names an object for a request of which nothing but metadata is to come back: the whole object, as JSON, would cost the API server and the operator
// more than the write of a status itself.
func (r *Reconciler) metadataOf(stored client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(stored, r.dependents.Client.Scheme())
	if err != nil {
		return nil, err
	}
	target := identity.MetadataOnly(gvk)
	target.SetNamespace(stored.GetNamespace())
	target.SetName(stored.GetName())
	return target, nil
}

func writeResult(err error) string {
	switch {
	case err == nil:
		return telemetry.WriteStored
	case apierrors.IsConflict(err):
		return telemetry.WriteConflict
	}
	return telemetry.WriteFailed
}

// NoEchoes leaves out the event that brings back a status of ours, which would be a look of which nothing follows after each write. What is sent again with
// nothing changed is let through.
func (r *Reconciler) NoEchoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !r.kind.Progress.Concludes || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || !r.writes.Echo(e.ObjectNew)
	}}
}

// stale reports whether a read from the cache is older than what we wrote ourselves, which is on its way here. Where it has been for long, the API server is
// asked: after a restore of its store it will not come, and the application would never be looked at again.
func (r *Reconciler) stale(ctx context.Context, stored client.Object) (bool, error) {
	ahead, doubted := r.writes.Ahead(stored, r.clock())
	if !ahead {
		return false, nil
	}
	key := client.ObjectKeyFromObject(stored)
	if !doubted {
		// It may have come between the read and the look at what was written, and its event may have been left out as an echo. From now on it is none.
		if err := r.read(ctx, key, stored); err != nil {
			return true, client.IgnoreNotFound(err)
		}
		ahead, _ = r.writes.Ahead(stored, r.clock())
		return ahead, nil
	}
	live := r.kind.New()
	if err := r.dependents.Live.Get(ctx, key, live); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	if !r.writes.After(live) {
		return true, nil
	}
	log.FromContext(ctx).Info("the API server has an older status than the one that was written to it, as after a restore; going on from that")
	r.writes.Forget(key)
	return false, nil
}
