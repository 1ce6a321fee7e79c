package main

import (
	"runtime"
	"testing"
)

func TestSizeCores(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })

	for _, test := range []struct {
		name, value string
		found       bool
		want        int
	}{
		{"GOMAXPROCS is heard", "3", true, 3},
		{"empty", "", true, cores},
		{"not there", "", false, cores},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtime.GOMAXPROCS(3)
			sizeCores(func(name string) (string, bool) { return test.value, test.found && name == "GOMAXPROCS" })
			if got := runtime.GOMAXPROCS(0); got != test.want {
				t.Errorf("%d cores are used, want %d", got, test.want)
			}
		})
	}
}

func TestSpreadCores(t *testing.T) {
	before := runtime.GOMAXPROCS(cores)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	spreadCores(func(string) (string, bool) { return "1", true })(3)
	if got := runtime.GOMAXPROCS(0); got != cores {
		t.Errorf("%d cores are used, though GOMAXPROCS says how many", got)
	}
	spread := spreadCores(func(string) (string, bool) { return "", false })
	for _, test := range []struct{ hogs, want int }{{1, 2}, {8, 9}, {1000, mostCores}, {0, cores}} {
		spread(test.hogs)
		if got := runtime.GOMAXPROCS(0); got != test.want {
			t.Errorf("%d cores are used beside %d, want %d", got, test.hogs, test.want)
		}
	}
}

func TestUsedCPU(t *testing.T) {
	before := usedCPU()
	now := before
	for now == before {
		now = usedCPU() // which uses some
	}
	if now < before {
		t.Error("it went back")
	}
}
