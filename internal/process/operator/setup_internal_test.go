package operator

import (
	"testing"
)

// TestFirstPasses checks that first passes over new objects may occupy at most three quarters of the workers. The other
// workers are reserved for objects that are already running. Of fewer than four workers, it reserves no worker.
func TestFirstPasses(t *testing.T) {
	t.Parallel()

	for workers, want := range map[int]int{1: 1, 3: 3, 4: 3, 16: 12, 1024: 768} {
		if got := firstPasses(workers); got != want {
			t.Errorf("firstPasses returns %d of %d workers, want %d", got, workers, want)
		}
	}
}
