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

// TestLinearFindsQuadraticWork holds Linear to telling work that grows with the square of its input from work that grows with it.
func TestLinearFindsQuadraticWork(t *testing.T) {
	for name, test := range map[string]struct {
		steps  func(n int) int
		failed bool
	}{
		"linear":    {func(n int) int { return n * few * factor }, false},
		"quadratic": {func(n int) int { return n * n }, true},
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
