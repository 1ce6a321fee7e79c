package controller

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
)

// TestAuxiliaryTimeout checks that the work on auxiliary objects may take as long as the pass took before it. It checks
// the lower and the upper bound of this limit, and that the limit is at most half of the remaining time.
func TestAuxiliaryTimeout(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ spent, left, want time.Duration }{
		{0, passTimeout, auxiliary.Timeout},
		{auxiliary.Timeout, passTimeout, auxiliary.Timeout},
		{auxiliary.Timeout + time.Second, passTimeout, auxiliary.Timeout + time.Second},
		{passTimeout / 2, passTimeout / 2, auxiliary.MaxTimeout},
		{10 * time.Second, 12 * time.Second, 6 * time.Second},
		{0, 4 * time.Second, 2 * time.Second},
		{0, 0, 0},
	} {
		if got := auxiliaryTimeout(test.spent, test.left); got != test.want {
			t.Errorf("after %s with %s left: %s, want %s", test.spent, test.left, got, test.want)
		}
	}
}
