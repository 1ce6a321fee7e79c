// Package settings has the operator's configuration, with what of it changes while it runs (docs/configuration.md) as it is now.
package settings

import (
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/config"
)

// Live is what the operator goes by.
type Live struct {
	initial config.Configuration
	current atomic.Pointer[config.Configuration]

	mu    sync.Mutex // guards wakes
	wakes []func(namespace string)
}

// New returns settings that are as the operator was started with.
func New(initial config.Configuration) *Live {
	s := &Live{initial: initial}
	s.current.Store(&initial)
	return s
}

// Now returns the configuration as it is now. What a kind decides by is asked for in each pass, never kept.
func (s *Live) Now() config.Configuration { return *s.current.Load() }

// OnNamespaces has a function called with each namespace that is served from now on, or was until now; with metav1.NamespaceAll where that may be any.
func (s *Live) OnNamespaces(wake func(namespace string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes = append(s.wakes, wake)
}

// Become takes another configuration, and wakes what is in the namespaces that are served from now on or were until now.
func (s *Live) Become(next config.Configuration) {
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
