package worst

import (
	"testing"
	"time"
)

// TestCompareFindsQuadraticWork checks that compare accepts linear work, also with a fixed cost, and rejects quadratic
// work. The test computes the costs instead of measuring them, because measurements on a busy machine would make it
// flaky.
func TestCompareFindsQuadraticWork(t *testing.T) {
	const item = 100 * time.Microsecond
	for name, test := range map[string]struct {
		cost   func(n int) time.Duration
		linear bool
	}{
		"linear": {func(n int) time.Duration { return time.Duration(n) * item }, true},
		"linear plus a fixed cost": {func(n int) time.Duration {
			return time.Duration(n+
				few) * item
		}, true},
		"quadratic": {func(n int) time.Duration { return time.Duration(n*n/few) * item },
			false},
		"half quadratic at 250 items": {func(n int) time.Duration { return time.Duration(n+n*n/250) * item },
			false},
		"half quadratic at 400 items": {func(n int) time.Duration { return time.Duration(n+n*n/400) * item },
			false},
		"half quadratic at 500 items": {func(n int) time.Duration {
			return time.Duration(n+
				n*n/500) * item
		}, true},
		"quadratic, but too cheap to matter": {func(n int) time.Duration { return time.Duration(n*n) * 10 * time.Nanosecond }, true},
		"linear, slower in its first run":    {slowAtFirst(func(n int) time.Duration { return time.Duration(n) * item }), true},
		"half quadratic at 250, slow at first": {slowAtFirst(func(n int) time.Duration {
			return time.Duration(n+
				n*n/250) * item
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			small, large, linear := compare(func() time.Duration { return test.cost(few * factor) },
				func(int) time.Duration { return test.cost(few) })
			if linear != test.linear {
				t.Errorf("linear = %v, want %v (%v for %d items, %v for %d)", linear, test.linear, small, few, large,
					few*factor)
			}
		})
	}
}

// slowAtFirst returns a cost function whose first result is doubled, as if the garbage collector ran during it. The
// first result is the one for the large object, because compare measures that object first.
func slowAtFirst(cost func(n int) time.Duration) func(n int) time.Duration {
	measured := false
	return func(n int) time.Duration {
		if !measured {
			measured = true
			return 2 * cost(n)
		}
		return cost(n)
	}
}

// fails is a testing.TB that records whether the code under test failed it.
type fails struct {
	testing.TB
	failed bool
}

func (f *fails) Errorf(string, ...any) { f.failed = true }

// TestLinearMeasuresItsWork checks that Linear measures the real cost of work and rejects a steep growth. The cost of
// this work grows with the fourth power of the number of items, so it is 625 times as high for five times as many
// items. A busy machine adds far less to a measurement.
func TestLinearMeasuresItsWork(t *testing.T) {
	t.Setenv("LIVES", "1") // Linear skips tests without it
	f := &fails{TB: t}
	text := make([]byte, 64)
	Linear(f, "fourth power", func(n int) func() {
		return func() {
			for i := range 100 * n * n / few * n / few * n / few {
				for at := range text {
					text[at] += byte(i)
				}
			}
		}
	})

	if !f.failed {
		t.Error("Linear accepted a cost that grows with the fourth power of its input")
	}
}
