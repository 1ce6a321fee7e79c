package main

import (
	"runtime"
	"testing"
)

// TestSpreadAddsACoreForEachHog checks that spread adds the number of hogs to GOMAXPROCS, up to mostHogs. Without hogs,
// spread must restore the value that GOMAXPROCS had before the increase. This value may differ from the value at the
// previous increase.
func TestSpreadAddsACoreForEachHog(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	var c cores
	for _, test := range []struct{ usual, hogs, want int }{
		{1, 1, 2}, {1, 8, 9}, {1, 1000, 1 + mostHogs}, {1, 0, 1}, // raised once, then raised further, then restored
		{3, 2, 5}, {3, 0, 3}, // set by somebody else meanwhile
		{2, 0, 2},
	} {
		if c.usual == 0 {
			runtime.GOMAXPROCS(test.usual)
		}
		c.spread(test.hogs)
		if got := runtime.GOMAXPROCS(0); got != test.want {
			t.Errorf("GOMAXPROCS is %d beside %d hogs, want %d", got, test.hogs, test.want)
		}
	}
}

func TestUsedCPU(t *testing.T) {
	before := usedCPU()
	now := before
	for now == before {
		now = usedCPU() // the call itself uses CPU time
	}
	if now < before {
		t.Error("it went back")
	}
}
