package worst

import (
	"testing"
)

// fails is a testing.TB that notes whether it failed.
type fails struct {
	testing.TB
	failed bool
}

func (f *fails) Errorf(string, ...any) { f.failed = true }

// TestLinearFindsQuadraticWork holds Linear to telling work that grows with the square of its input from work that grows with it, also if
// each item costs something besides.
func TestLinearFindsQuadraticWork(t *testing.T) {
	const each = 1500 // steps of an item
	for name, test := range map[string]struct {
		steps  func(n int) int
		failed bool
	}{
		"linear":                            {func(n int) int { return n * each }, false},
		"linear, and as much for the whole": {func(n int) int { return (n + few) * each }, false},
		"quadratic":                         {func(n int) int { return n * n * each / few }, true},
		"half quadratic at 250 items":       {func(n int) int { return n*each + n*n*each/250 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fails{TB: t}
			Linear(f, name, func(n int) func() {
				return func() {
					text := make([]byte, 64)
					for i := range test.steps(n) {
						for at := range text {
							text[at] += byte(i)
						}
					}
				}
			})
			if f.failed != test.failed {
				t.Errorf("failed = %v, want %v", f.failed, test.failed)
			}
		})
	}
}
