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

// record writes the status if it changed, and reports whether it wrote. A change that concerns only executors may be
// debounced: then record writes nothing and returns the delay of the write. The patch carries the resourceVersion from
// which the decision was made. Any later change of the object therefore leads to a conflict, which ends the pass.
func (r *Reconciler) record(ctx context.Context, o outcome) (written bool, delay time.Duration, _ error) {
	key := identity.Key(o.Owner)
	patch, err := statuswrite.Patch(o.Owner, o.object, r.kind.Status)
	if err != nil {
		return false, 0, err
	}
	if patch == nil {
		r.debouncer.Reset(key)
		return false, 0, nil
	}
	crowd := !o.acted() && statuswrite.OnlyExecutorChurn(r.kind.ExecutorChurn, o.plan, patch)
	switch {
	case crowd && len(o.plan.Notices) > 0:
		delay = r.debouncer.EventDelay(key, o.Now)
	case crowd:
		delay = r.debouncer.Delay(key, o.Now, statuswrite.WindowOf(o.plan, o.Seen.Executors), len(o.Seen.Executors), patch)
	}
	if delay > 0 {
		r.debouncer.SetShortSince(key, o.plan.Next.ShortSince)
		return false, delay, nil
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
	r.debouncer.Wrote(key, o.Now, crowd && r.kind.ExecutorChurn.DebounceEvents)
	return true, 0, nil
}

// acted reports whether the pass created objects, received a rejection, or has events or warnings to emit. After such a
// pass the status is written at once, together with the changes that were debounced.
func (o outcome) acted() bool {
	return len(o.events)+len(o.applied.Warnings)+len(o.Created) > 0 || o.applied.Rejected != nil
}

// metadataOf returns an object that has only the metadata of a custom resource. If this object is the target of the
// status patch, the API server's response contains only metadata. To encode and decode the whole custom resource would
// be more work than the status write itself.
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

// NoEchoes returns a predicate that drops the event of the operator's own status write, because this event would cause
// a useless pass. It keeps the event in two cases:
//
//   - The kind does not set Progress.Concludes: the event may lead to a further decision.
//   - The old and the new object of the event have the same resourceVersion: the informer has sent an old event again.
func (r *Reconciler) NoEchoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !r.kind.Progress.Concludes || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || !r.writes.IsEcho(e.ObjectNew)
	}}
}

// stale reports whether an object that was read from the cache is older than our own last write. Usually the event of
// that write has not arrived yet. If the object in the cache stays older for long, stale reads the object from the API
// server, because the event may never arrive: after a restore of the API server's store, the write no longer exists.
// Without the read, the application would never get another pass.
func (r *Reconciler) stale(ctx context.Context, stored client.Object) (bool, error) {
	ahead, doubted := r.writes.CacheIsStale(stored, r.clock())
	if !ahead {
		return false, nil
	}
	key := client.ObjectKeyFromObject(stored)
	if !doubted {
		// The write may have reached the cache after the pass read the object. Its event may have been dropped as an
		// echo, so the pass must not wait for it. If the cache still lacks the write, its event is not dropped when it
		// arrives.
		if err := r.read(ctx, key, stored); err != nil {
			return true, client.IgnoreNotFound(err)
		}
		ahead, _ = r.writes.CacheIsStale(stored, r.clock())
		return ahead, nil
	}
	live := r.kind.New()
	if err := r.dependents.Live.Get(ctx, key, live); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	if !r.writes.NewerThan(live) {
		return true, nil
	}
	log.FromContext(ctx).Info("The API server returned a status that is older than the last written status, as after a restore; continuing from the older status")
	r.writes.Forget(key)
	return false, nil
}
