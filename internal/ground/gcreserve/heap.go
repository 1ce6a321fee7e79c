// Package gcreserve makes Go collect the garbage of a small heap less often.
package gcreserve

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
)

// Variable is the environment variable with the size of the reserve in MiB. The chart sets it
// (controller.go.heapReserveMiB).
const Variable = "HEAP_RESERVE_MIB"

// most is the largest size of the reserve in MiB.
const most = 4096

// reserve keeps the reserve alive.
var reserve []byte

// Reserve allocates a reserve in the heap: memory that the operator never uses. The garbage collector counts it as
// live, but it takes no resident memory. Between two collections the heap then grows by GOGC percent of what is live
// and of the reserve. Go has no variable for such a minimum.
//
// The argument is the size in MiB, as in Variable. With an empty text or 0 there is no reserve. Reserve raises a memory
// limit (GOMEMLIMIT) by the size of the reserve. It must be called at most once, and before other work: only memory
// that is new from the kernel stays untouched.
func Reserve(size string) error {
	if size == "" {
		return nil
	}

	mib, err := strconv.Atoi(size)
	if err != nil || mib < 0 || mib > most {
		return fmt.Errorf("environment variable %s: %q is no number of MiB between 0 and %d", Variable, size, most)
	}

	reserve = make([]byte, mib<<20)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64-int64(len(reserve)) {
		debug.SetMemoryLimit(limit + int64(len(reserve)))
	}
	return nil
}
