//go:build !linux

package isolate

// AdoptOrphans does nothing, because only Linux runs containers.
func AdoptOrphans() error { return nil }

// Reaper does nothing, because no process is adopted.
type Reaper struct{}

// Reap does nothing.
func (*Reaper) Reap() {}
