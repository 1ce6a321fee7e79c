// Package goruntime sets Go's runtime for a process that handles many small events. The chart sets the same values by
// variables of the environment, which take precedence.
package goruntime

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

// ReserveVariable is the environment variable with the size of the reserve in MiB. The chart sets it
// (controller.go.heapReserveMiB).
const ReserveVariable = "HEAP_RESERVE_MIB"

// Default has the values of variables that are not set. docs/decisions/0026-go-runtime.md says why.
var Default = Settings{MaxProcs: 1, GCPercent: 25, HeapReserveMiB: 64}

// mostReserve is the largest size of the reserve in MiB.
const mostReserve = 4096

// reserve keeps the reserve alive.
var reserve []byte

// Settings are the settings of Go's runtime that are in effect.
type Settings struct {
	MaxProcs       int // GOMAXPROCS
	GCPercent      int // GOGC; negative: off
	HeapReserveMiB int
}

// Set applies Default where the environment has no variable: GOMAXPROCS, GOGC, ReserveVariable. An empty variable
// counts as none. Set returns what is in effect. It must be called at most once, and before other work: only memory
// that is new from the kernel stays untouched.
//
// The reserve is memory in the heap that the process never uses. The garbage collector counts it as live, but it takes
// no resident memory. Between two collections the heap then grows by GOGC percent of what is live and of the reserve.
// Go has no variable for such a minimum. Set raises a memory limit (GOMEMLIMIT) by the size of the reserve.
func Set() (Settings, error) {
	mib, err := reserveSize(os.Getenv(ReserveVariable))
	if err != nil {
		return Settings{}, err
	}

	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(Default.MaxProcs)
	}

	percent := Default.GCPercent
	if os.Getenv("GOGC") != "" {
		// Go has read the variable. The only way to learn its value is to set another one.
		percent = debug.SetGCPercent(percent)
	}

	debug.SetGCPercent(percent)

	reserve = make([]byte, mib<<20)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64-int64(len(reserve)) {
		debug.SetMemoryLimit(limit + int64(len(reserve)))
	}
	return Settings{MaxProcs: runtime.GOMAXPROCS(0), GCPercent: percent, HeapReserveMiB: mib}, nil
}

// reserveSize returns the size in MiB that a value of ReserveVariable requests.
func reserveSize(text string) (int, error) {
	if text == "" {
		return Default.HeapReserveMiB, nil
	}

	mib, err := strconv.Atoi(text)
	if err != nil || mib < 0 || mib > mostReserve {
		return 0, fmt.Errorf("environment variable %s: %q is no number of MiB between 0 and %d", ReserveVariable, text, mostReserve)
	}
	return mib, nil
}
