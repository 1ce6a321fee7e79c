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

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/settings"
)

// scope says whose custom resources are acted on: those of all namespaces, of the namespaces that are named, or of those that are named or have
// the labels that are selected (docs/decisions/0008-namespaces-by-label.md).
//
// With names alone nothing else is ever watched. With a selector, or names that may change (dynamic.go), everything is, and what is outside is left alone here: a namespace may
// come in at any time, and what is in it is known then.
type scope struct {
	names    []string
	selector labels.Selector // nil where none is configured: what is watched is served
	cache    client.Reader
	// live has the names where they change while the operator runs; nil where they do not.
	live *settings.Live
}

func newScope(cfg config.Namespaces, cache client.Reader) (*scope, error) {
	s := &scope{names: cfg.Names, cache: cache}
	if cfg.Selector == "" {
		return s, nil
	}
	var err error
	if s.selector, err = labels.Parse(cfg.Selector); err != nil {
		return s, fmt.Errorf("namespaces.selector: %w", err)
	}
	return s, nil
}

// Watched are the namespaces that the caches hold; an empty name is all of them.
func (s *scope) Watched() []string {
	if len(s.names) == 0 || s.selector != nil || s.live != nil {
		return []string{metav1.NamespaceAll}
	}
	return s.names
}

// namespaceKind is watched, as metadata, where a selector is configured.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Serves reports whether a namespace's custom resources are to be acted on now. One that is not known yet is not served: its coming wakes them.
func (s *scope) Serves(ctx context.Context, name string) (bool, error) {
	names, all := s.names, s.selector == nil
	if s.live != nil {
		now := s.live.Now().Namespaces
		names, all = now.Names, now.All()
	}
	switch {
	case all || slices.Contains(names, name):
		return true, nil
	case s.selector == nil:
		return false, nil
	}
	namespace := identity.MetadataOnly(namespaceKind)
	if err := s.cache.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("read namespace %s from the cache: %w", name, err)
	}
	return s.selector.Matches(labels.Set(namespace.Labels)), nil
}

// inNamespace maps a namespace to its custom resources of a kind, so that each is looked at again where the scope changes.
func inNamespace(cache client.Reader, scheme *runtime.Scheme, kind schema.GroupVersionKind) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) []reconcile.Request {
		empty, err := scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err != nil {
			return nil // Add could not have watched the kind
		}
		list := empty.(client.ObjectList)
		if err := cache.List(ctx, list, client.InNamespace(namespace.GetName())); err != nil {
			return nil // the cache is being stopped
		}
		var all []reconcile.Request
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, reconcile.Request{NamespacedName: identity.Key(item.(client.Object))})
			return nil
		})
		return all
	}
}
