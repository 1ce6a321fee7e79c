package scenario

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/bench/loads"
)

// TestUnlike: that the machine was another is told of both sides, and of no less than what a quiet machine differs by.
func TestUnlike(t *testing.T) {
	for name, c := range map[string]struct {
		operator, raw time.Duration
		want          string
	}{
		"the same":             {time.Millisecond, time.Millisecond, ""},
		"nearly the same":      {1100 * time.Microsecond, time.Millisecond, ""},
		"slower for one":       {1300 * time.Microsecond, time.Millisecond, "took 1.30 ms of CPU while the operator was at work and 1.00 ms during the raw limit"},
		"slower for the other": {time.Millisecond, 1300 * time.Microsecond, "took 1.00 ms of CPU while the operator was at work and 1.30 ms during the raw limit"},
		"not known of one":     {0, time.Millisecond, ""},
		"nor of the other":     {time.Millisecond, 0, ""},
	} {
		if got := unlike(c.operator, c.raw); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSated(t *testing.T) {
	for _, tc := range []struct {
		carried, offered float64
		fails            bool
	}{{5, 20, false}, {17.9, 20, false}, {18.1, 20, true}, {20, 20, true}, {50, 0, false}} { // 0 is all at once
		if err := sated(tc.carried, tc.offered); (err != nil) != tc.fails {
			t.Errorf("%v carried of %v: %v", tc.carried, tc.offered, err)
		}
	}
}

// TestPerApplication has an operator begin all its applications before it goes on with any, and one that does one after the other: with as many writes a second both
// carry as many.
func TestPerApplication(t *testing.T) {
	var answered []time.Time
	for i := range 1000 {
		answered = append(answered, time.Unix(0, 0).Add(time.Duration(i)*10*time.Millisecond))
	}
	if got := perApplication(answered, 20); math.Abs(got-2) > 0.01 {
		t.Errorf("%v applications of 50 writes each a second at 100 writes a second", got)
	}
	if got := perApplication(nil, 20); !math.IsNaN(got) {
		t.Errorf("of no writes: %v", got)
	}
}

// TestLivesOfThePlans holds the loads of the plans to what is said of them: more is offered than two cores carry, and some drivers run longer than the operator puts off.
func TestLivesOfThePlans(t *testing.T) {
	whole := described(loads.Lives)
	if whole.Rate() != 20 || whole.Count() != 800 {
		t.Errorf("%d applications at %v a second", whole.Count(), whole.Rate())
	}
	for _, n := range []int{10, 400, 800} {
		spec := lives(n)
		if spec.Count() != n || spec.Classes[1].Run.From <= calm {
			t.Errorf("%d of %d lives, the long ones %s", spec.Count(), n, spec.Classes[1].Run)
		}
	}
}

// TestOfTry holds that each worker of a try has some applications, and no try more than the part.
func TestOfTry(t *testing.T) {
	for _, c := range [...]struct{ workers, part, want int }{{4, 320, 80}, {16, 320, 80}, {64, 320, 192}, {128, 320, 320}, {4, 10, 10}} {
		if got := ofTry(c.workers, c.part); got != c.want {
			t.Errorf("%d workers replay %d of %d applications, want %d", c.workers, got, c.part, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	if got, want := counts(map[string]int{"update leases": 2, "create pods": 1}), "create pods 1 times, update leases 2 times"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBesides(t *testing.T) {
	cpu := map[string]time.Duration{"etcd": 1}
	if diff := cmp.Diff(map[string]time.Duration{"etcd": 1, "a": 2}, besides(cpu, "a", 2)); diff != "" || len(cpu) != 1 {
		t.Error(diff, cpu)
	}
}
