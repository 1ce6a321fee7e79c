package main

import (
	"runtime"
	"syscall"
	"time"
)

// mostHogs is the maximum number of cores that spread adds to GOMAXPROCS.
const mostHogs = 16

// cores raises GOMAXPROCS while pieces of the operator's work occupy whole cores.
type cores struct {
	// usual is GOMAXPROCS before it was raised, set by the environment or by Go. Zero means that it is not raised.
	usual int
}

// spread sets GOMAXPROCS to the usual value plus one for each of the hogs, which are the pieces of work that occupy a
// whole core. A goroutine that never waits yields only every 10 ms, and each step of a request would wait for that.
// With an additional thread for each hog, the kernel decides which thread runs, and it prefers threads that have slept.
// If hogs is 0, spread restores the usual value. Calls must not overlap. If the environment does not set GOMAXPROCS, Go
// adapts GOMAXPROCS to changes of the container's CPU limit, but only before the first call of spread.
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
