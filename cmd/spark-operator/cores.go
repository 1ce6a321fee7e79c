package main

import (
	"runtime"
	"syscall"
	"time"
)

// mostHogs is the most cores that spread adds to GOMAXPROCS.
const mostHogs = 16

// cores raises GOMAXPROCS while some work of the operator occupies whole cores.
type cores struct {
	// usual is GOMAXPROCS before it was raised, set by the environment or by Go. Zero means that it is not raised.
	usual int
}

// spread adds one core to the usual ones for each of the hogs, the pieces of work that occupy a whole core. A goroutine
// that never waits yields only every 10 ms, and each step of a request would wait for that. The kernel schedules
// threads, and prefers those that have slept. Without hogs, the usual number is restored. Calls must not overlap. After
// the first call, Go no longer adapts GOMAXPROCS to changes of the container's CPU limit, which it does only if the
// environment does not set it.
func (c *cores) spread(hogs int) {
	if c.usual == 0 {
		c.usual = runtime.GOMAXPROCS(0)
	}
	runtime.GOMAXPROCS(c.usual + min(hogs, mostHogs))
	if hogs == 0 {
		c.usual = 0
	}
}

// usedCPU returns the CPU time that the process has used.
func usedCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
