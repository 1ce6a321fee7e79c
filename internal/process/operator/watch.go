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

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/engine/observe"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/queue"
)

// Add adds a kind that the operator reconciles. It waits until the API server serves the kind.
func Add(ctx context.Context, op *Operator, kind contract.Kind, clock controller.Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}

	if err := op.waitServed(ctx, gvk, kind.Traits().RequiredFields); err != nil {
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
//   - Creations and deletions of its other dependents, and edits by others (handlers.ChangesOf,
//     handlers.CreatedOrEdited). All updates of auxiliary objects are included if their kind is vital. If a pass itself
//     deletes auxiliary objects after the end of the driver, the deletions are left out (Unexpected).
//   - Changes of its namespace's labels, and whether the namespace is served, if the configuration depends on them.
//
// An event that is unlikely to need a decision soon is queued with a delay, so that one pass handles several such
// events (handlers.Pods, handlers.Arrivals).
func attach(ctx context.Context, op *Operator, kind contract.Kind, gvk schema.GroupVersionKind, clock controller.Clock) error {
	r, scope, err := op.reconciler(kind, gvk, clock)
	if err != nil {
		return err
	}

	withRuns, hasRuns := kind.(runs.Kind)
	owner := handlers.OwnerOf(gvk.GroupKind(), kind.Traits().Inherited.NameLabel)
	toOwner := handler.EnqueueRequestsFromMapFunc(owner)
	options := ctrl.Options{
		// The queue hands out no more than Workers keys at a time, unless one namespace has more than half of them.
		MaxConcurrentReconciles: op.config.Controller.Workers + queue.Reserve(op.config.Controller.Workers),
		RateLimiter:             backoff[reconcile.Request](), NewQueue: op.queueOf(hasRuns, r.Class(ctx)),
	}

	work := builder.ControllerManagedBy(op).Named(kind.Traits().Name).For(kind.New(), builder.WithPredicates(r.Deletions(op.Elected()), r.NoEchoes())).WithOptions(options)
	if hasRuns {
		work = runs.Watch(withRuns, work, gvk.GroupKind())
	} else {
		_, counts := kind.(observe.ExecutorCounter)
		_, accounts := kind.(observe.Accountant)
		early := op.until.Load() == nil // all sources that are created before the operator starts are started with it

		work = work.WatchesRawSource(op.pods.Source(early, handlers.Pods{EventHandler: toOwner, Owner: owner, Ended: r.Ended(), Leads: op.Elected(), Counts: counts || accounts, Logs: op.logs.Pods(gvk, owner)}))
		for i, child := range dependents.Kinds {
			work = work.WatchesRawSource(op.others[i].Source(early, handlers.Arrivals{EventHandler: toOwner}, handlers.ChangesOf(child.Kind, kind.Traits().Auxiliary.Vital), r.NoteEdits(owner), r.Unexpected(owner)))
		}
	}

	inside := inNamespace(op.GetClient(), op.GetScheme(), gvk)
	if op.config.WatchesNamespaces() {
		work = work.WatchesMetadata(identity.MetadataOnly(namespaceKind), handler.EnqueueRequestsFromMapFunc(inside), builder.WithPredicates(handlers.Relabelled()))
	}

	work = work.WatchesRawSource(namespaceChanges(op.Watches.OnChange, inside))
	if scope.live != nil {
		work = work.WatchesRawSource(namespaceChanges(scope.live.OnNamespaceChange, inside))
	}

	if op.logs != nil && !hasRuns {
		work = work.WatchesRawSource(op.logs.Wakes(gvk))
	}

	if hasRuns {
		op.Metrics.ExpectRuns(kind.Traits().Name)
	}

	built, err := work.Build(r)
	if err != nil {
		return fmt.Errorf("create the controller of %s: %w", kind.Traits().Name, err)
	}

	if !hasRuns {
		if err := op.Optional.Feed(built, toOwner, r.NoteEdits(owner)); err != nil {
			return fmt.Errorf("create the controller of %s: %w", kind.Traits().Name, err)
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
func (op *Operator) reconciler(kind contract.Kind, gvk schema.GroupVersionKind, clock controller.Clock) (*controller.Reconciler, *scope, error) {
	scope, err := op.newScope()
	if err != nil {
		return nil, nil, err
	}

	logged := gvk // the kind whose pods have logs

	needed := append(op.requiredKinds(), gvk.GroupKind())
	if kind, hasRuns := kind.(runs.Kind); hasRuns {
		run, err := apiutil.GVKForObject(kind.NewRun(), op.GetScheme())
		if err != nil {
			return nil, nil, err
		}

		needed, logged = append(needed, run.GroupKind()), run
	}

	scope.refused = func(namespace string) error { return op.Watches.Refused(namespace, needed...) }
	return controller.New(controller.Options{
		Kind: kind, Client: op.GetClient(), Live: op.GetAPIReader(), Clock: clock, Scope: scope, NamespaceLabels: scope.Labels,
		Events: op.Recorder, Metrics: op.Metrics, Traces: op.Traces,
		Explainer: explain.New(op.GetAPIReader(), op.GetClient(), &op.allowed),
		Queue:     queueOfKind(op.config, op, op.Optional, kind, gvk),
		Price:     op.price, Samples: op.samples, RunEnded: op.records.Ended, RunDeleted: op.records.Deleted,
		Logs:     op.logs.Reconciler(logged),
		Optional: op.Optional, Sentinels: op.sentinelsOf(kind), Rush: op.rush.on,
		Lead: op.lock.terms(), StopAsked: op.stopAsked, Track: op.hangs.Pass, ShutdownTimeout: op.config.Controller.ShutdownTimeout.Duration,
	}), scope, nil
}

// sentinelsOf returns the sentinels of a kind, or nil if the kind has none.
func (op *Operator) sentinelsOf(kind contract.Kind) *sentinel.Kind {
	if !kind.Traits().Sentinels {
		return nil
	}
	return op.Sentinels.Of(kind.Traits().Name, kind.New, op.GetClient(), op.GetAPIReader())
}
