package main

import (
	"math"
	"runtime/debug"
)

// The Go runtime collects garbage whenever the heap has grown by a share of what is live, as much again by default. What is live of an operator without
// applications is 5 MB: a burst was collected every few megabytes, an eighth of all its CPU. With 10,000 applications it is hundreds of megabytes, and as much
// again would be idle. So the heap grows by a quarter of what is live and a quarter of a reserve, which counts as live, is never touched, and therefore takes
// no room.
const (
	heapGrowth  = 25       // percent
	heapReserve = 96 << 20 // bytes
)

// reserve is what the runtime takes for live.
var reserve []byte

// sizeHeap says when garbage is collected, unless somebody who runs the operator has said so by GOGC.
func sizeHeap(environment func(string) (string, bool)) {
	if value, found := environment("GOGC"); found && value != "" {
		return
	}
	reserve = make([]byte, heapReserve)
	debug.SetGCPercent(heapGrowth)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64-heapReserve { // GOMEMLIMIT, of which the reserve would be a part
		debug.SetMemoryLimit(limit + heapReserve)
	}
}
