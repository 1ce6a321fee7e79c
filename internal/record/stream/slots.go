package stream

import "sync"

// Slots bounds how many tasks do something at the same time, by the names of what they use. The zero Slots is empty.
type Slots struct {
	mu   sync.Mutex
	busy map[string]int
}

// Slot is the use of something of which there is a number.
type Slot struct {
	Name string
	Of   int
}

// Take takes all the slots, or none and reports false.
func (s *Slots) Take(all ...Slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, slot := range all {
		if s.busy[slot.Name] >= slot.Of {
			return false
		}
	}

	if s.busy == nil {
		s.busy = map[string]int{}
	}

	for _, slot := range all {
		s.busy[slot.Name]++
	}
	return true
}

// Full reports whether a slot is not free.
func (s *Slots) Full(slot Slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[slot.Name] >= slot.Of
}

// Give returns slots.
func (s *Slots) Give(all ...Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, slot := range all {
		if s.busy[slot.Name]--; s.busy[slot.Name] == 0 {
			delete(s.busy, slot.Name)
		}
	}
}
