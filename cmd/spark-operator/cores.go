package main

import (
	"runtime"
	"syscall"
	"time"
)

// mostHogs is for how many pieces of work that take a core each GOMAXPROCS is raised at most.
const mostHogs = 16

// cores raises GOMAXPROCS while work of the operator's own takes a core for itself.
type cores struct {
	// usual is GOMAXPROCS as it was before it was raised, whoever set it: the environment or Go. Zero means that it is
	// not raised.
	usual int
}

// spread gives each of so many pieces of work a core beside the usual ones. A goroutine that never waits gives way every
// 10 ms only, and each step of a request would wait for that. The kernel schedules threads, and those that have slept
// go first. Without such work the usual number is restored. Calls must not overlap. After the first call Go no longer
// adapts GOMAXPROCS to changes of the container's CPU limit, which it does only if the environment does not set it.
func (c *cores) spread(hogs int) {
	if c.usual == 0 {
		c.usual = runtime.GOMAXPROCS(0)
	}
	runtime.GOMAXPROCS(c.usual + min(hogs, mostHogs))
	if hogs == 0 {
		c.usual = 0
	}
}

// usedCPU is how much CPU the process has used.
func usedCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
