package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/controller"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/runs"
)

// lookAgain is how long the operator waits before it looks again whether a kind is served.
const lookAgain = time.Second

// waitServed waits until the API server serves a kind, by a definition that keeps the fields that are given: an installation creates the definitions
// and the operator in one go, and a definition takes a moment to be served, or to take another's place.
func (op *Operator) waitServed(ctx context.Context, gvk schema.GroupVersionKind, fields []string) error {
	ctx, cancel := context.WithTimeout(ctx, op.config.Controller.CacheSyncTimeout.Duration)
	defer cancel()
	told := false
	for {
		why, err := op.unserved(gvk, fields)
		if err != nil || why == nil {
			return err
		}
		if !told {
			told = true
			op.GetLogger().Info("waiting for a kind to be served", "kind", gvk.Kind, "group", gvk.Group, "why", why.Error())
		}
		select {
		case <-ctx.Done():
			return why
		case <-time.After(lookAgain):
		}
	}
}

// unserved says why a kind is not served as it must be; an error is not about that.
func (op *Operator) unserved(gvk schema.GroupVersionKind, fields []string) (why, err error) {
	_, err = op.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%s is not served: install its CustomResourceDefinition: %w", gvk, err), nil
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", gvk.Kind, err)
	case len(fields) == 0:
		return nil, nil
	}
	dropped, err := pruned(op.GetConfig(), op.GetHTTPClient(), gvk, fields)
	switch {
	case apierrors.IsForbidden(err):
		op.GetLogger().Info("the definition cannot be looked at; it is taken to be this operator's", "kind", gvk.Kind, "error", err.Error())
		return nil, nil
	case err != nil:
		return err, nil
	case len(dropped) > 0:
		return fmt.Errorf("the installed CustomResourceDefinition of %s is another operator's: it drops %s, and applications could be run twice; "+
			"install this operator's (chart value crds.install, or config/crd)", gvk, strings.Join(dropped, ", ")), nil
	}
	return nil, nil
}

// AddWhenServed gives the operator a kind that a cluster need not have. Where its definition, or that of its runs or of another kind that it needs, is
// missing, is another operator's, or may not be listed, that is told in the log, everything else is served meanwhile, and the kind begins without a restart
// once it can. It is called before the operator starts.
func AddWhenServed(ctx context.Context, op *Operator, kind controller.Kind, clock controller.Clock) error {
	gvk, err := apiutil.GVKForObject(kind.New(), op.GetScheme())
	if err != nil {
		return err
	}
	begin := indexOnce(op, kind, func(ctx context.Context) error { return attach(ctx, op, kind, gvk, clock) })
	later := &whenServed{op: op, kind: gvk, needs: kind.Definition.Needs, fields: kind.Definition.Keeps, begin: begin}
	if kind.Runs != nil {
		run, err := apiutil.GVKForObject(kind.Runs.New(), op.GetScheme())
		if err != nil {
			return err
		}
		later.needs = append(slices.Clone(later.needs), run)
	}
	if later.hindrance(ctx) == nil {
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

// indexOnce is what begins a kind, with the index of its runs before it. That can be made once, however often the rest is tried.
func indexOnce(op *Operator, kind controller.Kind, begin func(context.Context) error) func(context.Context) error {
	indexed := false
	return func(ctx context.Context) error {
		if !indexed && kind.Runs != nil {
			if err := runs.Index(ctx, kind.Runs, op.GetFieldIndexer()); err != nil {
				return err
			}
			indexed = true
		}
		return begin(ctx)
	}
}

// whenServed waits for a kind for as long as the operator runs.
type whenServed struct {
	op     *Operator
	kind   schema.GroupVersionKind
	needs  []schema.GroupVersionKind // other kinds without which it cannot begin
	fields []string
	begin  func(context.Context) error
}

// hindrance says why the kind cannot begin now; nil where it can.
func (s *whenServed) hindrance(ctx context.Context) error {
	for _, other := range s.needs {
		if err := s.op.hindrance(ctx, other, nil); err != nil {
			return fmt.Errorf("%s is needed: %w", other.Kind, err)
		}
	}
	return s.op.hindrance(ctx, s.kind, s.fields)
}

var _ manager.LeaderElectionRunnable = &whenServed{}

// NeedLeaderElection says no: one that stands by has its caches full when it takes over.
func (*whenServed) NeedLeaderElection() bool { return false }

// Start waits and begins. Nothing that goes wrong ends it, since its end with an error would be the operator's.
func (s *whenServed) Start(ctx context.Context) error {
	log := s.op.GetLogger().WithValues("kind", s.kind.Kind, "group", s.kind.Group, "version", s.kind.Version)
	told := ""
	// An installation creates the definitions and the operator in one go: they come within seconds, or hardly ever.
	after := min(lookAgain, s.op.optional.Interval)
	for {
		why := s.hindrance(ctx)
		if why == nil {
			if why = s.begin(ctx); why == nil {
				log.Info("a kind is served from now on")
				return nil
			}
		}
		if what := why.Error(); what != told && ctx.Err() == nil {
			told = what
			log.Info("a kind is not served yet; everything else is, and it begins without a restart once it can", "why", told)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(after):
			after = min(2*after, s.op.optional.Interval)
		}
	}
}

// hindrance says why a kind cannot be served now, and what to do about it; nil where it can.
func (op *Operator) hindrance(ctx context.Context, gvk schema.GroupVersionKind, fields []string) error {
	why, err := op.unserved(gvk, fields)
	if err != nil || why != nil {
		return errors.Join(why, err)
	}
	// A cache that may not be filled would hold up the operator's readiness, and its controller would end the operator.
	namespaces := op.config.Namespaces.Names
	if op.config.WatchesAll() {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		switch err := op.GetAPIReader().List(ctx, list, client.InNamespace(namespace), client.Limit(1)); {
		case apierrors.IsForbidden(err):
			return fmt.Errorf("the operator's role does not let it list %s: update the role (the chart's does), or switch the kind off: %w", gvk.Kind, err)
		case err != nil:
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
	}
	return nil
}

// fillCache watches a kind and waits until the cache has all of it. One that cannot be filled is given up, so that readiness does not wait for it.
func (op *Operator) fillCache(ctx context.Context, object client.Object) error {
	limited, cancel := context.WithTimeout(ctx, op.config.Controller.CacheSyncTimeout.Duration)
	defer cancel()
	if _, err := op.GetCache().GetInformer(limited, object); err != nil {
		return errors.Join(fmt.Errorf("watch %T: %w", object, err), op.GetCache().RemoveInformer(ctx, object))
	}
	return nil
}
