package main

import (
	"runtime"
	"syscall"
	"time"
)

// cores is how many goroutines run at a time. Each event of a watch goes through several goroutines, each of which has some microseconds of work. While a second
// core may take them, Go wakes a thread for every one, which looks for work and sleeps again: that was a fifth of all CPU. One core carries tens of applications
// a second, several times what an API server does on two.
const cores = 1

// mostCores is how many are used at most while work takes a core for itself.
const mostCores = 17

// sizeCores says how many cores are used, unless somebody who runs the operator has said so by GOMAXPROCS.
func sizeCores(environment func(string) (string, bool)) {
	if value, found := environment("GOMAXPROCS"); found && value != "" {
		return
	}
	runtime.GOMAXPROCS(cores)
}

// spreadCores returns what is called when so many pieces of work of the operator's own take a core each for seconds. Each
// has one then, and all else has one. A goroutine that never waits gives way every 10 ms only, and each step of a request
// would wait for that. The kernel schedules threads, and those that have slept go first. Nothing is done if whoever runs the
// operator has set GOMAXPROCS.
func spreadCores(environment func(string) (string, bool)) func(hogs int) {
	if value, found := environment("GOMAXPROCS"); found && value != "" {
		return func(int) {}
	}
	return func(hogs int) { runtime.GOMAXPROCS(min(cores+hogs, mostCores)) }
}

// usedCPU is how much CPU the process has used.
func usedCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
