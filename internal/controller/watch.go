package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Add gives the operator a kind to reconcile.
//
// The queue is fed at once by every event of the custom resource and of its pods, and by the coming and going of its other children.
// There is no predicate that drops an update, since every update may hold the fact that a decision waits for.
func Add[T client.Object](op *Operator, kind Kind[T], clock Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}
	r := &Reconciler[T]{
		kind: kind, client: op.GetClient(), live: op.GetAPIReader(),
		events: op.recorder, metrics: op.metrics, clock: clock,
	}
	toOwner := handler.EnqueueRequestsFromMapFunc(ownerOfKind(gvk.GroupKind()))
	work := builder.ControllerManagedBy(op).Named(kind.Name).
		For(kind.New()).
		Watches(&corev1.Pod{}, toOwner).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: op.config.Controller.Workers,
			RateLimiter:             backoff[reconcile.Request](),
		})
	for _, child := range childKinds {
		work = work.WatchesMetadata(metadataOnly(child), toOwner, builder.WithPredicates(comingAndGoing()))
	}
	if err := work.Complete(r); err != nil {
		return fmt.Errorf("controller %s: %w", kind.Name, err)
	}
	// Watch from the start, also where another replica leads: readiness then means that this one could take over.
	if _, err := op.GetCache().GetInformer(context.Background(), kind.New()); err != nil {
		return fmt.Errorf("watch %s (is its CustomResourceDefinition installed?): %w", gvk.Kind, err)
	}
	return nil
}

// metadataOnly asks for one of the core kinds without its content.
func metadataOnly(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}

// ownerOfKind maps a child to the custom resource that its label and its owner reference agree on.
func ownerOfKind(kind schema.GroupKind) handler.MapFunc {
	return func(_ context.Context, child client.Object) []reconcile.Request {
		uid := child.GetLabels()[labelAppUID]
		for _, ref := range child.GetOwnerReferences() {
			group, err := schema.ParseGroupVersion(ref.APIVersion)
			if err == nil && string(ref.UID) == uid && ref.Kind == kind.Kind && group.Group == kind.Group {
				return []reconcile.Request{{NamespacedName: namespaced(child.GetNamespace(), ref.Name)}}
			}
		}
		return nil
	}
}

// comingAndGoing passes on that an object appeared or went. Nothing is decided by what a ConfigMap or a Service holds.
func comingAndGoing() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}
