//go:build !linux

package isolate

// AdoptOrphans does nothing where there are no containers.
func AdoptOrphans() error { return nil }

// Reaper does nothing where nothing is adopted.
type Reaper struct{}

// Reap does nothing.
func (*Reaper) Reap() {}
