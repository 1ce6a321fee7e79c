package operator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/queue"
)

// Add adds a kind that the operator reconciles. It waits until the API server serves the kind.
func Add(ctx context.Context, op *Operator, kind controller.Kind, clock controller.Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}

	if err := op.waitServed(ctx, gvk, kind.Definition.RequiredFields); err != nil {
		return err
	}
	return indexOnce(op, kind, func(ctx context.Context) error { return attach(ctx, op, kind, gvk, clock) })(ctx)
}

// attach starts to reconcile a kind that the API server serves. The operator may already be running.
//
// These events queue a custom resource:
//
//   - Events of the custom resource itself, except updates that contain only our own status write (NoEchoes). All other
//     updates may change a decision.
//   - All events of its pods. If the kind has runs: the events of its runs, and the ends of their pods (runs.Watch).
//   - Creations and deletions of its other dependents, and edits by others (feed.ChangesOf, feed.CreatedOrEdited). All
//     updates of auxiliary objects are included if their kind is vital. If a pass itself deletes auxiliary objects
//     after the end of the driver, the deletions are left out (Unexpected).
//   - Changes of its namespace's labels, and whether the namespace is served, if the configuration depends on them.
//
// An event that is unlikely to need a decision soon is queued with a delay, so that one pass handles several such
// events (feed.Pods, feed.Arrivals).
func attach(ctx context.Context, op *Operator, kind controller.Kind, gvk schema.GroupVersionKind, clock controller.Clock) error {
	r, scope, err := op.reconciler(kind, gvk, clock)
	if err != nil {
		return err
	}

	owner := handlers.OwnerOf(gvk.GroupKind(), kind.Inherited.NameLabel)
	toOwner := handler.EnqueueRequestsFromMapFunc(owner)
	options := ctrl.Options{
		// The queue hands out no more than Workers keys at a time, unless one namespace has more than half of them.
		MaxConcurrentReconciles: op.config.Controller.Workers + queue.Reserve(op.config.Controller.Workers),
		RateLimiter:             backoff[reconcile.Request](), NewQueue: op.queueOf(kind.Runs != nil, r.Class(ctx)),
	}

	work := builder.ControllerManagedBy(op).Named(kind.Name).For(kind.New(), builder.WithPredicates(r.Deletions(op.Elected()), r.NoEchoes())).WithOptions(options)
	if kind.Runs != nil {
		work = runs.Watch(kind.Runs, work, gvk.GroupKind())
	} else {
		early := op.until.Load() == nil // all sources that are created before the operator starts are started with it

		work = work.WatchesRawSource(op.pods.Source(early, handlers.Pods{EventHandler: toOwner, Owner: owner, Ended: r.Ended(), Leads: op.Elected(), Counts: kind.Executors.Remembers != nil}))
		for i, child := range dependents.Kinds {
			work = work.WatchesRawSource(op.others[i].Source(early, handlers.Arrivals{EventHandler: toOwner}, handlers.ChangesOf(child.Kind, kind.Auxiliary.Vital), r.NoteEdits(owner), r.Unexpected(owner)))
		}
	}

	inside := inNamespace(op.GetClient(), op.GetScheme(), gvk)
	if op.config.WatchesNamespaces() {
		work = work.WatchesMetadata(identity.MetadataOnly(namespaceKind), handler.EnqueueRequestsFromMapFunc(inside), builder.WithPredicates(handlers.Relabelled()))
	}

	work = work.WatchesRawSource(namespaceChanges(op.watches.OnChange, inside))
	if scope.live != nil {
		work = work.WatchesRawSource(namespaceChanges(scope.live.OnNamespaceChange, inside))
	}

	if kind.Runs != nil {
		op.metrics.ExpectRuns(kind.Name)
	}

	built, err := work.Build(r)
	if err != nil {
		return fmt.Errorf("create the controller of %s: %w", kind.Name, err)
	}

	if kind.Runs == nil {
		if err := op.optional.Feed(built, toOwner, r.NoteEdits(owner)); err != nil {
			return fmt.Errorf("create the controller of %s: %w", kind.Name, err)
		}
	}
	// The kind is watched from the start, also while another replica leads: readiness then means that this replica
	// could take over.
	if _, err := op.GetCache().GetInformer(ctx, kind.New()); err != nil {
		return fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	return nil
}

// reconciler returns the reconciler of a kind, and the namespaces that it serves.
func (op *Operator) reconciler(kind controller.Kind, gvk schema.GroupVersionKind, clock controller.Clock) (*controller.Reconciler, *scope, error) {
	scope, err := op.newScope()
	if err != nil {
		return nil, nil, err
	}

	needed := append(op.requiredKinds(), gvk.GroupKind())
	if kind.Runs != nil {
		run, err := apiutil.GVKForObject(kind.Runs.New(), op.GetScheme())
		if err != nil {
			return nil, nil, err
		}

		needed = append(needed, run.GroupKind())
	}

	scope.refused = func(namespace string) error { return op.watches.Refused(namespace, needed...) }
	return controller.New(controller.Options{
		Kind: kind, Client: op.GetClient(), Live: op.GetAPIReader(), Clock: clock, Scope: scope, NamespaceLabels: scope.Labels,
		Events: op.recorder, Metrics: op.metrics, Traces: op.traces,
		Explainer: explain.New(op.GetAPIReader(), op.GetClient(), &op.allowed),
		Optional:  op.optional, Sentinels: op.sentinelsOf(kind), Rush: op.rush.on,
		Lead: op.lock.terms(), StopAsked: op.stopAsked, Watchdog: op.hangs, ShutdownTimeout: op.config.Controller.ShutdownTimeout.Duration,
	}), scope, nil
}

// sentinelsOf returns the sentinels of a kind, or nil if the kind has none.
func (op *Operator) sentinelsOf(kind controller.Kind) *sentinel.Kind {
	if !kind.Served.Sentinels {
		return nil
	}
	return op.sentinels.Of(kind.Name, kind.New, op.GetClient(), op.GetAPIReader())
}
