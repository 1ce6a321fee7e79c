package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestSizeHeap(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit); reserve = nil })

	sizeHeap(func(name string) (string, bool) { return "200", name == "GOGC" })
	if reserve != nil || debug.SetGCPercent(100) != 100 {
		t.Error("GOGC was not heard")
	}
	unset := func(string) (string, bool) { return "", false }
	sizeHeap(unset)
	if len(reserve) != heapReserve {
		t.Errorf("the reserve has %d bytes", len(reserve))
	}
	if got := debug.SetGCPercent(100); got != heapGrowth {
		t.Errorf("the heap grows by %d %%", got)
	}
	if got := debug.SetMemoryLimit(1 << 30); got != math.MaxInt64 {
		t.Errorf("where there was no limit there is one of %d bytes", got)
	}
	sizeHeap(unset)
	if got := debug.SetMemoryLimit(-1); got != 1<<30+heapReserve {
		t.Errorf("a limit of 1 GiB became %d bytes, and the reserve takes no room", got)
	}
}
