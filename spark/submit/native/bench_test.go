package native_test

import (
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// BenchmarkBuild measures the cost of one submission, for a plain application and for one that uses nearly every step.
// The plain application should take at most 150 microseconds.
func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct {
		name    string
		request submit.Request
	}{{"plain", kit.Minimal()}, {"heavy", kit.HeavyRequest()}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				if _, err := native.Build(c.request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations limits the number of allocations of a submission, to detect regressions. Unlike times, the number of
// allocations does not depend on the machine.
func TestAllocations(t *testing.T) {
	for what, c := range map[string]struct {
		request submit.Request
		most    float64
	}{"plain": {kit.Minimal(), 300}, "heavy": {kit.HeavyRequest(), 1000}} {
		got := testing.AllocsPerRun(20, func() {
			if _, err := native.Build(c.request); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.most {
			t.Errorf("Build of the %s application allocates %.0f times, want %.0f at most", what, got, c.most)
		}
	}
}
