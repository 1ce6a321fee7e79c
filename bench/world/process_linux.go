package world

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent ends a child when the bench is killed and cannot end it.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// threadCPU is what the calling thread took so far, and whether that is known. It is the thread's clock: getrusage(2) lags by up to a tick.
func threadCPU() (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
