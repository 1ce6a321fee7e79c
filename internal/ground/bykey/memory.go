// Package bykey provides a concurrent map for values that a process remembers by key.
package bykey

import "sync"

// ByKey is a map that workers may use concurrently. It is meant for small values that a process may lose in a restart.
// The zero value is an empty map.
type ByKey[K comparable, V any] struct {
	mu   sync.Mutex
	keys map[K]V
}

// Get returns the value of a key, and whether the map has a value for the key.
func (m *ByKey[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	value, known := m.keys[key]
	return value, known
}

// Set stores the value of a key. It replaces an earlier value.
func (m *ByKey[K, V]) Set(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Update calls the function change with the value of a key, and stores the value that the function returns. If the
// function returns keep=false, Update drops the key instead. The map is locked during the call.
func (m *ByKey[K, V]) Update(key K, change func(value V, known bool) (next V, keep bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()

	value, known := m.keys[key]

	next, keep := change(value, known)
	if !keep {
		delete(m.keys, key)
		return
	}

	if m.keys == nil {
		m.keys = map[K]V{}
	}

	m.keys[key] = next
}

// Forget drops a key.
func (m *ByKey[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()

	delete(m.keys, key)
}

// Len returns the number of keys.
func (m *ByKey[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.keys)
}
