package main

import (
	"runtime/debug"
	"testing"
)

func TestSizeHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before); reserve = nil })

	sizeHeap(func(name string) (string, bool) { return "200", name == "GOGC" })
	if reserve != nil || debug.SetGCPercent(100) != 100 {
		t.Error("GOGC was not heard")
	}
	sizeHeap(func(string) (string, bool) { return "", false })
	if len(reserve) != heapReserve {
		t.Errorf("the reserve has %d bytes", len(reserve))
	}
	if got := debug.SetGCPercent(100); got != heapGrowth {
		t.Errorf("the heap grows by %d %%", got)
	}
}
