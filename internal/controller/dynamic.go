package controller

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sparkoperator/spark-operator/internal/config"
)

// settings are what the operator goes by: its configuration, with what of it changes while it runs (docs/configuration.md) as it is now.
type settings struct {
	initial config.Configuration
	current atomic.Pointer[config.Configuration]

	mu    sync.Mutex // guards wakes
	wakes []func(namespace string)
}

func newSettings(initial config.Configuration) *settings {
	s := &settings{initial: initial}
	s.current.Store(&initial)
	return s
}

// now returns the configuration as it is now. What a kind decides by is asked for in each pass, never kept.
func (s *settings) now() config.Configuration { return *s.current.Load() }

// Settings returns the configuration as it is now. It is meant for kinds, which ask anew in each pass.
func (op *Operator) Settings() config.Configuration { return op.settings.now() }

// become takes another configuration, and wakes what is in the namespaces that are served from now on or were until now.
func (s *settings) become(next config.Configuration) {
	was := s.current.Swap(&next)
	s.mu.Lock()
	wakes := slices.Clone(s.wakes)
	s.mu.Unlock()
	for _, namespace := range changedNamespaces(was.Namespaces, next.Namespaces) {
		for _, wake := range wakes {
			wake(namespace)
		}
	}
}

// changedNamespaces are those that are named in one and not in the other; metav1.NamespaceAll where either means all of them.
func changedNamespaces(was, is config.Namespaces) (changed []string) {
	if was.All() != is.All() {
		return []string{metav1.NamespaceAll}
	}
	for _, name := range slices.Concat(was.Names, is.Names) {
		if slices.Contains(was.Names, name) != slices.Contains(is.Names, name) {
			changed = append(changed, name)
		}
	}
	return changed
}

// wakesOf is a source that feeds a kind's queue with what is in namespaces whose turn comes or is over. It has to be heard of before the first pass, as every
// source has: a change before that needs no wake, since each object is looked at once anyway.
func (s *settings) wakesOf(inside handler.MapFunc) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wakes = append(s.wakes, func(name string) {
			namespace := metadataOnly(namespaceKind)
			namespace.SetName(name)
			for _, request := range inside(ctx, namespace) {
				queue.Add(request)
			}
		})
		return nil
	})
}
