package gcreserve

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

func TestReserve(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)

		reserve = nil
	})

	for _, test := range []struct {
		size        string
		limit, want int64 // the memory limit before and after
		reserve     int   // in MiB
	}{
		{"", 1 << 30, 1 << 30, 0},
		{"0", 1 << 30, 1 << 30, 0},
		{"64", math.MaxInt64, math.MaxInt64, 64},
		{"64", 1 << 30, 1<<30 + 64<<20, 64},
		{"4096", 1 << 30, 5 << 30, 4096},
	} {
		reserve = nil

		debug.SetMemoryLimit(test.limit)

		if err := Reserve(test.size); err != nil {
			t.Errorf("%q: %v", test.size, err)
		}

		if got := debug.SetMemoryLimit(-1); got != test.want || len(reserve) != test.reserve<<20 {
			t.Errorf("%q: a limit of %d bytes becomes %d, want %d; the reserve has %d bytes", test.size, test.limit,
				got, test.want, len(reserve))
		}
	}

	for _, size := range []string{"64Mi", "-1", "4097", "1.5", " 1"} {
		if err := Reserve(size); err == nil || !strings.Contains(err.Error(), Variable) ||
			!strings.Contains(err.Error(), size) {
			t.Errorf("%q: %v", size, err)
		}
	}
}
