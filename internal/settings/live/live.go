// Package live holds the operator's current configuration. Some of its fields change while the operator runs,
// because the operator follows a file or ConfigMaps with dynamic settings (docs/configuration.md).
package live

import (
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Live holds the current configuration.
type Live struct {
	initial config.Configuration
	current atomic.Pointer[config.Configuration]

	mu    sync.Mutex // guards wakes
	wakes []func(namespace string)
}

// New returns settings whose current configuration is the configuration with which the operator starts.
func New(initial config.Configuration) *Live {
	s := &Live{initial: initial}
	s.current.Store(&initial)
	return s
}

// Now returns the current configuration. Each pass must call Now again, because the configuration may change between
// passes.
func (s *Live) Now() config.Configuration { return *s.current.Load() }

// OnNamespaceChange registers a function that Update calls with each namespace that becomes served or is no longer
// served. Update passes metav1.NamespaceAll if any namespace may be affected.
func (s *Live) OnNamespaceChange(wake func(namespace string)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.wakes = append(s.wakes, wake)
}

// Update replaces the configuration, and calls the functions of OnNamespaceChange for each namespace that is newly
// served or no longer served. If the rules of the platform changed, it calls them for all namespaces.
func (s *Live) Update(next config.Configuration) {
	previous := s.current.Swap(&next)
	s.mu.Lock()
	wakes := slices.Clone(s.wakes)
	s.mu.Unlock()

	changed := changedNamespaces(previous.Namespaces, next.Namespaces)
	if !previous.Policy.Equal(next.Policy) {
		changed = []string{metav1.NamespaceAll}
	}

	for _, namespace := range changed {
		for _, wake := range wakes {
			wake(namespace)
		}
	}
}

// changedNamespaces returns the namespaces that only one of the two lists names. If exactly one of the two lists means
// all namespaces, it returns only metav1.NamespaceAll.
func changedNamespaces(before, after config.Namespaces) (changed []string) {
	if before.All() != after.All() {
		return []string{metav1.NamespaceAll}
	}

	for _, name := range slices.Concat(before.Names, after.Names) {
		if slices.Contains(before.Names, name) != slices.Contains(after.Names, name) {
			changed = append(changed, name)
		}
	}
	return changed
}
