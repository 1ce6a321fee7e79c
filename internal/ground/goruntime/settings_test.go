package goruntime

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	procs, percent, limit := runtime.GOMAXPROCS(0), debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)

		reserve = nil
	})

	// The runtime has read GOMAXPROCS and GOGC when a process starts, so a row states what it had made of them.
	for _, test := range []struct {
		name                         string
		maxProcs, gcPercent, reserve string // the environment
		procs, percent               int    // what the runtime read
		limit                        int64  // the memory limit before
		want                         Settings
		wantLimit                    int64
	}{
		{
			"a bare start", "", "", "", 2, 100, math.MaxInt64, Default, math.MaxInt64,
		},
		{
			"a memory limit", "", "", "", 2, 100, 1 << 30, Default, 1<<30 + 64<<20,
		},
		{
			"all set", "3", "75", "0", 3, 75, 1 << 30, Settings{MaxProcs: 3, GCPercent: 75}, 1 << 30,
		},
		{
			"no collection", "", "off", "", 2, -1, math.MaxInt64,
			Settings{MaxProcs: Default.MaxProcs, GCPercent: -1, HeapReserveMiB: Default.HeapReserveMiB}, math.MaxInt64,
		},
		{
			"the largest reserve", "", "", "4096", 2, 100, 1 << 30,
			Settings{MaxProcs: Default.MaxProcs, GCPercent: Default.GCPercent, HeapReserveMiB: 4096}, 5 << 30,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			reserve = nil

			t.Setenv("GOMAXPROCS", test.maxProcs)
			t.Setenv("GOGC", test.gcPercent)
			t.Setenv(ReserveVariable, test.reserve)
			runtime.GOMAXPROCS(test.procs)
			debug.SetGCPercent(test.percent)
			debug.SetMemoryLimit(test.limit)

			got, err := Set()
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}

			effective := Settings{MaxProcs: runtime.GOMAXPROCS(0), GCPercent: debug.SetGCPercent(100), HeapReserveMiB: len(reserve) >> 20}
			if diff := cmp.Diff(test.want, effective); diff != "" {
				t.Error("in effect:", diff)
			}

			if got := debug.SetMemoryLimit(-1); got != test.wantLimit {
				t.Errorf("a limit of %d bytes becomes %d, want %d", test.limit, got, test.wantLimit)
			}
		})
	}
}

func TestSetRefusesSizes(t *testing.T) {
	for _, size := range []string{"64Mi", "-1", "4097", "1.5", " 1"} {
		t.Setenv(ReserveVariable, size)

		if _, err := Set(); err == nil || !strings.Contains(err.Error(), ReserveVariable) || !strings.Contains(err.Error(), size) {
			t.Errorf("%q: %v", size, err)
		}
	}
}
