// Package memory keeps what a process remembers by key.
package memory

import "sync"

// ByKey is what is remembered by key, for workers side by side: a few words a key, and nothing that a new process would miss. The zero value is empty.
type ByKey[K comparable, V any] struct {
	mu   sync.Mutex
	keys map[K]V
}

// Get returns what is remembered of a key, and whether anything is.
func (m *ByKey[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, known := m.keys[key]
	return is, known
}

// Set remembers a value instead of what was there.
func (m *ByKey[K, V]) Set(key K, is V) {
	m.Update(key, func(V, bool) (V, bool) { return is, true })
}

// Update replaces what is remembered of a key by what becomes of it, or forgets it where that is not to be kept. Nobody else is at the memory meanwhile.
func (m *ByKey[K, V]) Update(key K, become func(is V, known bool) (next V, keep bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, known := m.keys[key]
	next, keep := become(is, known)
	if !keep {
		delete(m.keys, key)
		return
	}
	if m.keys == nil {
		m.keys = map[K]V{}
	}
	m.keys[key] = next
}

// Forget drops what is remembered of a key.
func (m *ByKey[K, V]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, key)
}

// Len is of how many keys something is remembered.
func (m *ByKey[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.keys)
}
