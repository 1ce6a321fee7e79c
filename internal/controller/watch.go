package controller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/queue"
)

// Add gives the operator a kind to reconcile.
//
// The queue is fed by every event of the custom resource and of its pods, and by the coming and going of its other children; what nobody waits for may wait
// for more of the same (gather). But for a status of ours that comes back (noEchoes) there is no predicate that drops an update, since every update may hold the
// fact that a decision waits for.
func Add(ctx context.Context, op *Operator, kind Kind, clock Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}
	if err := op.waitServed(ctx, gvk, kind.Definition.Keeps); err != nil {
		return err
	}
	return indexOnce(op, kind, func(ctx context.Context) error { return attach(ctx, op, kind, gvk, clock) })(ctx)
}

// attach begins to reconcile a kind that is served, whether the operator runs already or not.
func attach(ctx context.Context, op *Operator, kind Kind, gvk schema.GroupVersionKind, clock Clock) error {
	scope, err := newScope(op.config.Namespaces, op.GetClient())
	if err != nil {
		return err
	}
	if op.config.DynamicConfig.Enabled {
		scope.live = op.settings
	}
	r := &Reconciler{
		kind: kind, client: op.GetClient(), live: op.GetAPIReader(),
		explains: explain.New(op.GetAPIReader(), op.GetClient(), &op.allowed),
		events:   op.recorder, metrics: op.metrics, traces: op.traces, clock: clock,
		scope:    scope,
		limit:    passLimit(op.config.Controller.ShutdownTimeout.Duration),
		optional: op.optional,
		rush:     &op.rush, asked: op.stopAsked, lock: op.lock, hangs: op.hangs,
	}
	if kind.Served.Sentinels {
		r.sentinels = op.sentinels.Of(kind.Name, kind.New, r.client, r.live)
	}
	owner := feed.OwnerOf(gvk.GroupKind(), kind.Inherited.NameLabel)
	toOwner := handler.EnqueueRequestsFromMapFunc(owner)
	options := controller.Options{
		// The queue hands out no more than Workers at a time, unless one namespace has more than half of them.
		MaxConcurrentReconciles: op.config.Controller.Workers + queue.Reserve(op.config.Controller.Workers),
		RateLimiter:             backoff[reconcile.Request](), NewQueue: queueOf(ctx, op, kind, &r.writes, &r.departed),
	}
	work := builder.ControllerManagedBy(op).Named(kind.Name).For(kind.New(), builder.WithPredicates(r.notesDeletions(op.Elected()), r.noEchoes())).WithOptions(options)
	if kind.Runs != nil {
		work = watchRuns(kind.Runs, work, gvk.GroupKind())
	} else {
		early := op.until.Load() == nil // all that are made before the operator starts are started with it
		work = work.WatchesRawSource(op.pods.Ear(early, feed.Pods{EventHandler: toOwner, Owner: owner, Ended: &r.ends, Leads: op.Elected(), Counts: kind.Executors.Remembers != nil}))
		for i, child := range childKinds {
			work = work.WatchesRawSource(op.others[i].Ear(early, feed.Arrivals{EventHandler: toOwner}, feed.ChangesOf(child.Kind, kind.Beside.Vital), r.unexpected(owner)))
		}
	}
	inside := inNamespace(op.GetClient(), op.GetScheme(), gvk)
	if scope.selector != nil {
		work = work.WatchesMetadata(metadataOnly(namespaceKind), handler.EnqueueRequestsFromMapFunc(inside), builder.WithPredicates(feed.Relabelled()))
	}
	if scope.live != nil {
		work = work.WatchesRawSource(wakesOf(scope.live, inside))
	}
	if kind.Runs != nil {
		op.metrics.ExpectRuns(kind.Name)
	}
	built, err := work.Build(r)
	if err != nil {
		return fmt.Errorf("controller %s: %w", kind.Name, err)
	}
	if kind.Runs == nil {
		if err := op.optional.feed(fed{built, toOwner}); err != nil {
			return fmt.Errorf("controller %s: %w", kind.Name, err)
		}
	}
	// Watch from the start, also where another replica leads: readiness then means that this one could take over.
	if _, err := op.GetCache().GetInformer(ctx, kind.New()); err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	return nil
}

// metadataOnly asks for objects of a kind without their content.
func metadataOnly(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// unexpected leaves out that an object went which stood beside a driver until a pass deleted it, that driver being over (clear). Its owner is at rest.
func (r *Reconciler) unexpected(owner handler.MapFunc) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if !r.kind.Progress.Concludes { // and may wait for what it had to be gone
			return true
		}
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(of reconcile.Request) bool { return r.around.went(of.NamespacedName, e.Object) })
	}}
}
