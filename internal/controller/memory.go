package controller

import "sync"

// memory is what the operator remembers by key, for workers side by side: a few words a key, and nothing that a new process would miss. The zero value is
// empty.
type memory[K comparable, V any] struct {
	mu   sync.Mutex
	keys map[K]V
}

// get returns what is remembered of a key, and whether anything is.
func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is, known := m.keys[key]
	return is, known
}

// set remembers a value instead of what was there.
func (m *memory[K, V]) set(key K, is V) {
	m.update(key, func(V, bool) (V, bool) { return is, true })
}

// update replaces what is remembered of a key by what becomes of it, or forgets it where that is not to be kept. Nobody else is at the memory meanwhile.
func (m *memory[K, V]) update(key K, become func(is V, known bool) (next V, keep bool)) {
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

// forget drops what is remembered of a key.
func (m *memory[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.keys, key)
}
