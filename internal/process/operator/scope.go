package operator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/live"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// scope decides in which namespaces the operator acts on custom resources: in all namespaces, in named namespaces, or
// in those that are named or have selected labels (docs/decisions/0008-namespaces-by-label.md).
//
// If the names are fixed and there is no selector, the operator watches only the named namespaces. Otherwise it watches
// all namespaces, and the scope filters them. The reason is that a namespace may become served at any time, through its
// labels or through a change of the names (dynamic.go), and the cache must then already contain the objects of this
// namespace.
type scope struct {
	names    []string
	selector labels.Selector // nil if not configured
	cache    client.Reader
	// live has the names if they can change while the operator runs; otherwise it is nil.
	live *live.Live
	// labels is true if decisions need the labels of namespaces, because they select the platform's defaults.
	labels bool
	// refused returns why the caches lack objects of a namespace that passes need. It is nil in tests of the selection.
	refused func(namespace string) error
	// config returns the current configuration. Its rules of the platform may depend on the labels of namespaces.
	config func() config.Configuration
}

func newScope(cfg config.Namespaces, cache client.Reader) (*scope, error) {
	s := &scope{names: cfg.Names, cache: cache, config: config.Default}
	if cfg.Selector == "" {
		return s, nil
	}

	var err error
	if s.selector, err = labels.Parse(cfg.Selector); err != nil {
		return s, fmt.Errorf("namespaces.selector: %w", err)
	}
	return s, nil
}

// newScope returns the scope of the operator's configuration. If dynamic settings are enabled, the scope follows their
// changes.
func (op *Operator) newScope() (*scope, error) {
	s, err := newScope(op.config.Namespaces, op.GetClient())
	s.labels = platformdefaults.Selects(op.config.Defaults)

	s.config = op.Settings
	if err == nil && op.config.DynamicConfig.Enabled {
		s.live = op.Live
	}
	return s, err
}

// Watched returns the namespaces that the caches contain. An empty name stands for all namespaces.
func (s *scope) Watched() []string {
	if len(s.names) == 0 || s.selector != nil || s.live != nil {
		return []string{metav1.NamespaceAll}
	}
	return s.names
}

// namespaceKind is the kind Namespace. The operator watches it, as metadata, if a selector is configured.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Serves reports whether the operator acts on a namespace's custom resources now. It does not act if its caches lack
// objects of the namespace (access.Watches), because a running driver would look lost.
func (s *scope) Serves(ctx context.Context, name string) (bool, error) {
	selected, err := s.selects(ctx, name)
	return selected && (s.refused == nil || s.refused(name) == nil), err
}

// selects reports whether the configuration selects a namespace. If the scope depends on labels, a
// namespace that the cache does not contain yet is not served. When the cache receives the namespace, this event queues
// the custom resources in the namespace.
func (s *scope) selects(ctx context.Context, name string) (bool, error) {
	names, all := s.names, s.selector == nil
	if s.live != nil {
		now := s.live.Now().Namespaces
		names, all = now.Names, now.All()
	}

	named := all || slices.Contains(names, name)
	switch {
	case named && !s.labels:
		return true, nil
	case !named && s.selector == nil:
		return false, nil
	}

	found, err := readLabels(ctx, s.cache, name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && (named || s.selector.Matches(labels.Set(found))), err
}

// readLabels returns the labels of a namespace from the cache.
func readLabels(ctx context.Context, cache client.Reader, name string) (map[string]string, error) {
	namespace := identity.MetadataOnly(namespaceKind)
	if err := cache.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, fmt.Errorf("read namespace %s from the cache: %w", name, err)
	}
	return namespace.Labels, nil
}

// Labels returns the labels of a namespace, or nil if no rule of the platform depends on them. It returns an error if
// the cache does not contain the namespace yet, because a rule must not be skipped.
func (s *scope) Labels(ctx context.Context, name string) (map[string]string, error) {
	if !s.config().Policy.NeedsNamespaceLabels() {
		return nil, nil
	}

	found, err := readLabels(ctx, s.cache, name)
	if err == nil && found == nil {
		found = map[string]string{} // known, but empty
	}
	return found, err
}

// NamespaceLabels returns a function that reads the labels of a namespace from the cache. If the configuration needs no
// labels, NamespaceLabels returns nil, because the first read of labels would start a watch of all namespaces. If the
// cache does not contain a namespace, the function returns no labels for it. The operator makes no passes and no
// reviews in such a namespace (scope.Serves).
func (op *Operator) NamespaceLabels() configured.NamespaceLabels {
	if !platformdefaults.Selects(op.config.Defaults) {
		return nil
	}
	return op.namespaceLabels
}

// namespaceLabels returns the labels of a namespace in the cache.
func (op *Operator) namespaceLabels(name string) map[string]string {
	found, _ := readLabels(context.Background(), op.GetClient(), name)
	return found
}

// Reviews reports whether the webhook reviews a namespace's custom resources. It can be called for any namespace, while
// Serves is called only for namespaces that the operator watches. Reviews does not depend on the operator's rights, so
// that no tenant avoids the reviews by a change of these rights.
func (s *scope) Reviews(ctx context.Context, name string) (bool, error) {
	if watched := s.Watched(); watched[0] != metav1.NamespaceAll && !slices.Contains(watched, name) {
		return false, nil
	}
	return s.selects(ctx, name)
}

// watchedNamespaces returns the namespaces that the caches contain. An empty name stands for all namespaces.
func (op *Operator) watchedNamespaces() []string {
	if op.config.WatchesAll() {
		return []string{metav1.NamespaceAll}
	}
	return op.config.Namespaces.Names
}

// requiredKinds returns the kinds that the operator must be able to watch in a namespace to serve it, besides the
// custom resources.
func (op *Operator) requiredKinds() []schema.GroupKind {
	all := []schema.GroupKind{{Kind: "Pod"}}
	for _, kind := range dependents.Kinds {
		all = append(all, kind.GroupKind())
	}

	if op.config.WatchesNamespaces() {
		all = append(all, namespaceKind.GroupKind())
	}
	return all
}

// inNamespace returns a function that lists the keys of all custom resources of a kind in a namespace. The operator
// queues these keys when the namespace becomes served or unserved.
func inNamespace(cache client.Reader, scheme *runtime.Scheme, kind schema.GroupVersionKind) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) []reconcile.Request {
		empty, err := scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err != nil {
			return nil // Add could not have watched the kind without a type
		}

		list := empty.(client.ObjectList)
		if err := cache.List(ctx, list, client.InNamespace(namespace.GetName())); err != nil {
			return nil // the cache is stopping
		}
		var all []reconcile.Request
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, reconcile.Request{NamespacedName: identity.Key(item.(client.Object))})
			return nil
		})
		return all
	}
}
