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
