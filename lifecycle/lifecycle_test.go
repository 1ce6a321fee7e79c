package lifecycle

import (
	"testing"
	"time"
)

func TestSoonest(t *testing.T) {
	for _, test := range [][3]time.Duration{{0, 0, 0}, {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {1, 2, 1}, {-1, 5, 5}, {-1, 0, 0}} {
		if got := Soonest(test[0], test[1]); got != test[2] {
			t.Errorf("Soonest(%d, %d) = %d, want %d", test[0], test[1], got, test[2])
		}
	}
}
