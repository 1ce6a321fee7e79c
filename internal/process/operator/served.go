package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
)

// servedInterval is the time between two checks whether a kind is served.
const servedInterval = time.Second

// waitServed waits until the API server serves a kind with a definition that keeps the given fields, but no longer than
// controller.cacheSyncTimeout. The wait is necessary because an installation creates the definitions and the operator
// at the same time. The API server needs a moment until it serves a new definition, or one that replaces another
// operator's.
func (op *Operator) waitServed(ctx context.Context, gvk schema.GroupVersionKind, fields []string) error {
	ctx, cancel := context.WithTimeout(ctx, op.config.Controller.CacheSyncTimeout.Duration)
	defer cancel()

	logged := false
	for {
		why, err := op.unserved(gvk, fields)
		if err != nil || why == nil {
			return err
		}

		if !logged {
			logged = true

			op.GetLogger().Info("Waiting until the API server serves a kind", "kind", gvk.Kind, "group", gvk.Group, "why", why.Error())
		}

		select {
		case <-ctx.Done():
			return why
		case <-time.After(servedInterval):
		}
	}
}

// unserved returns why the operator cannot serve a kind now, or no reason if it can. It can serve the kind if the API
// server serves it with a definition that keeps the given fields. A schema that cannot be read is a reason too, with
// one exception: if the operator has no right to read the schema, unserved assumes that the fields are kept. unserved
// returns an error if it cannot find out whether the API server serves the kind.
func (op *Operator) unserved(gvk schema.GroupVersionKind, fields []string) (reason, err error) {
	_, err = op.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the API server does not serve %s: install its CustomResourceDefinition: %w", gvk, err), nil
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", gvk.Kind, err)
	case len(fields) == 0:
		return nil, nil
	}

	dropped, err := pruned(op.GetConfig(), op.GetHTTPClient(), gvk, fields)
	switch {
	case apierrors.IsForbidden(err):
		op.GetLogger().Info("Could not read the schema of the installed CustomResourceDefinition; assuming that it is this operator's", "kind", gvk.Kind, "error", err.Error())
		return nil, nil
	case err != nil:
		return err, nil
	case len(dropped) > 0:
		return fmt.Errorf("the installed CustomResourceDefinition of %s belongs to another operator: the API server would drop %s, which this operator must store so that no application runs twice; "+
			"install this operator's definition (chart value crds.install, or config/crd)", gvk, strings.Join(dropped, ", ")), nil
	}
	return nil, nil
}

// AddWhenServed adds a kind that a cluster may lack. It must be called before the operator starts. If the kind cannot
// be served yet, the operator logs the reason, serves all other kinds, and begins to serve this kind without a restart
// when it can. A kind cannot be served if its definition is missing or is another operator's, or if the operator has no
// right to list the kind. It also cannot be served while the API server does not serve another kind that it needs, such
// as the kind of its runs.
func AddWhenServed(ctx context.Context, op *Operator, kind contract.Kind, clock controller.Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}

	begin := indexOnce(op, kind, func(ctx context.Context) error { return attach(ctx, op, kind, gvk, clock) })

	later := &servedWatcher{op: op, kind: gvk, needs: kind.Traits().RequiredKinds, fields: kind.Traits().RequiredFields, begin: begin}
	if kind, hasRuns := kind.(runs.Kind); hasRuns {
		run, err := apiutil.GVKForObject(kind.NewRun(), op.GetScheme())
		if err != nil {
			return err
		}

		later.needs = append(slices.Clone(later.needs), run)
	}

	if later.obstacle(ctx) == nil {
		return begin(ctx)
	}

	later.begin = func(ctx context.Context) error {
		if err := op.fillCache(ctx, kind.New()); err != nil {
			return err
		}
		return begin(ctx)
	}
	return op.Add(later)
}

// indexOnce returns a function that indexes the runs of a kind (if it has runs) and then calls the function `begin`. If
// `begin` fails, the returned function can be called again. It then does not repeat the indexing.
func indexOnce(op *Operator, kind contract.Kind, begin func(context.Context) error) func(context.Context) error {
	withRuns, hasRuns := kind.(runs.Kind)
	indexed := !hasRuns
	return func(ctx context.Context) error {
		if !indexed {
			if err := runs.Index(ctx, withRuns, op.GetFieldIndexer()); err != nil {
				return err
			}

			indexed = true
		}
		return begin(ctx)
	}
}

// servedWatcher is a runnable that checks periodically whether a kind can be served. As soon as it can, the
// servedWatcher calls its function begin, and then stops.
type servedWatcher struct {
	op     *Operator
	kind   schema.GroupVersionKind
	needs  []schema.GroupVersionKind // other kinds that it needs to begin
	fields []string
	begin  func(context.Context) error
}

// obstacle returns the reason why the operator cannot begin to serve the kind now, or nil if it can.
func (s *servedWatcher) obstacle(ctx context.Context) error {
	for _, other := range s.needs {
		if err := s.op.obstacle(ctx, other, nil); err != nil {
			return fmt.Errorf("it needs %s: %w", other.Kind, err)
		}
	}
	return s.op.obstacle(ctx, s.kind, s.fields)
}

var _ manager.LeaderElectionRunnable = &servedWatcher{}

// NeedLeaderElection returns false, so that a standby replica fills its caches before it takes over.
func (*servedWatcher) NeedLeaderElection() bool { return false }

// Start waits until the kind can be served, and then begins to serve it. It never returns an error, since an error
// would end the operator.
func (s *servedWatcher) Start(ctx context.Context) error {
	log := s.op.GetLogger().WithValues("kind", s.kind.Kind, "group", s.kind.Group, "version", s.kind.Version)
	logged := ""
	// An installation creates the definitions and the operator together: the definitions come within seconds, or hardly
	// ever.
	after := min(servedInterval, s.op.Optional.Interval)
	for {
		why := s.obstacle(ctx)
		if why == nil {
			if why = s.begin(ctx); why == nil {
				log.Info("Started to serve a kind")
				return nil
			}
		}

		if what := why.Error(); what != logged && ctx.Err() == nil {
			logged = what
			log.Info("A kind is not served yet; the operator serves the other kinds now, and this kind as soon as the obstacle is gone", "why", logged)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(after):
			after = min(2*after, s.op.Optional.Interval)
		}
	}
}

// obstacle returns the reason why a kind cannot be served now, and what to do about it. It returns nil if the kind can
// be served.
func (op *Operator) obstacle(ctx context.Context, gvk schema.GroupVersionKind, fields []string) error {
	why, err := op.unserved(gvk, fields)
	if err != nil || why != nil {
		return errors.Join(why, err)
	}
	// If the right to list is missing in all namespaces, the operator's role is older than the kind. If it is missing in
	// some, the kind is served in the others (access.Watches).
	var obstacle error
	for _, namespace := range op.watchedNamespaces() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))

		switch err := op.GetAPIReader().List(ctx, list, client.InNamespace(namespace), client.Limit(1)); {
		case apierrors.IsForbidden(err):
			obstacle = fmt.Errorf("the operator has no right to list %s: update its role (the chart's role has the right), or disable the kind: %w", gvk.Kind, err)
		case err != nil:
			obstacle = fmt.Errorf("list %s: %w", gvk.Kind, err)
		default:
			return nil
		}
	}
	return obstacle
}

// fillCache starts to watch a kind, and waits until the cache has all its objects. If that fails, it removes the
// informer, so that the readiness probe does not wait for it.
func (op *Operator) fillCache(ctx context.Context, object client.Object) error {
	limited, cancel := context.WithTimeout(ctx, op.config.Controller.CacheSyncTimeout.Duration)
	defer cancel()

	if _, err := op.GetCache().GetInformer(limited, object); err != nil {
		return errors.Join(fmt.Errorf("watch %T: %w", object, err), op.GetCache().RemoveInformer(ctx, object))
	}
	return nil
}
