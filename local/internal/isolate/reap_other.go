//go:build !linux

package isolate

// AdoptOrphans does nothing, because only Linux runs containers.
func AdoptOrphans() error { return nil }

// Reaper has no task, because no process is adopted on this system.
type Reaper struct{}

// Reap does nothing.
func (*Reaper) Reap() {}
