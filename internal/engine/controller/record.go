package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/engine/statuswrite"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
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

// metadataOf returns an object that has only the metadata of a custom resource. If this object is the target of a
// patch, the API server's response contains only metadata. To encode and decode the whole custom resource would be more
// work than the write itself.
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
