package main

import (
	"runtime"
	"syscall"
	"time"
)

// mostHogs is the largest number by which spread increases GOMAXPROCS.
const mostHogs = 16

// cores increases GOMAXPROCS as long as goroutines of the operator keep a CPU core busy.
type cores struct {
	// usual is the value of GOMAXPROCS before spread raised it, or 0 if it is not raised.
	usual int
}

// spread sets GOMAXPROCS to its usual value plus the argument `hogs`, which is the number of goroutines that keep a CPU
// core busy. If `hogs` is 0, spread restores the usual value. Calls must not overlap.
//
// Go's scheduler preempts a goroutine that never waits only after 10 ms, so each step of a request could wait that
// long. With one additional thread per such goroutine, the kernel decides which thread runs. The kernel prefers threads
// that have slept to threads that are always busy.
//
// If the environment does not set GOMAXPROCS, Go adapts it to changes of the container's CPU limit. Go stops doing so
// at the first call of spread.
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
