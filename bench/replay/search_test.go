package replay

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at is a result of a rate.
func at(workers int, rate float64) Result {
	begin := time.Unix(0, 0)
	return Result{Workers: workers, Applications: 2, Answered: []time.Time{begin, begin.Add(time.Duration(float64(time.Second) / rate))}}
}

func TestSearch(t *testing.T) {
	bad := errors.New("bad")
	for name, tc := range map[string]struct {
		least int
		most  int
		rates []float64 // with 2, 4, 8, 16 and 32 workers, but the most; 0 fails
		tried []int
		found bool
		best  int
		err   error
	}{
		"more workers do not help":                {0, 32, []float64{5, 5.1, 5.2, 9, 9}, []int{2, 4, 8}, true, 8, nil},
		"more workers are slower":                 {0, 32, []float64{5, 4, 3, 9, 9}, []int{2, 4, 8}, true, 2, nil},
		"few are not the end":                     {16, 32, []float64{5, 5, 5, 9, 9}, []int{2, 4, 8, 16, 32}, false, 16, nil},
		"nor are they where they are not fast":    {16, 32, []float64{5, 4, 3, 5, 9}, []int{2, 4, 8, 16}, true, 2, nil},
		"one try is slow by chance":               {0, 32, []float64{5, 4, 7, 6, 7}, []int{2, 4, 8, 16, 32}, true, 8, nil},
		"they help for a while":                   {0, 32, []float64{5, 6, 6.2, 6.1, 9}, []int{2, 4, 8, 16}, true, 8, nil},
		"there is no limit before the last":       {0, 32, []float64{5, 6, 7, 8, 9}, []int{2, 4, 8, 16, 32}, false, 32, nil},
		"the last is no proof":                    {0, 32, []float64{5, 6, 7, 8, 7.9}, []int{2, 4, 8, 16, 32}, false, 16, nil},
		"the last has as many as there may be":    {0, 12, []float64{5, 6, 7, 8}, []int{2, 4, 8, 12}, false, 12, nil},
		"where that is few, it is the only one":   {0, 1, []float64{5}, []int{1}, false, 1, nil},
		"a replay that fails ends it, with those": {0, 32, []float64{5, 0, 7, 7, 7}, []int{2}, false, 2, bad},
	} {
		t.Run(name, func(t *testing.T) {
			next := 0
			results, found, err := Search(2, tc.least, tc.most, func(workers int) (Result, error) {
				rate := tc.rates[next]
				next++
				if rate == 0 {
					return Result{}, bad
				}
				return at(workers, rate), nil
			})
			var tried []int
			for _, r := range results {
				tried = append(tried, r.Workers)
			}
			if diff := cmp.Diff(tc.tried, tried); diff != "" {
				t.Error(diff)
			}
			if got := Fastest(results).Workers; found != tc.found || !errors.Is(err, tc.err) || got != tc.best {
				t.Errorf("found: %t, %v; the fastest has %d workers", found, err, got)
			}
		})
	}
}

func TestErr(t *testing.T) {
	first := errors.New("the first")
	for _, tc := range []struct {
		writes, failed int
		fails          bool
	}{{1000, 0, false}, {9_999, 10, false}, {9_000, 10, true}, {0, 1, true}, {0, 0, false}} {
		err := Result{Writes: tc.writes, Failed: tc.failed, First: first}.Err()
		if (err != nil) != tc.fails || tc.fails && !errors.Is(err, first) {
			t.Errorf("%d writes, %d failed: %v", tc.writes, tc.failed, err)
		}
	}
}

func TestFirst(t *testing.T) {
	p := &Plan{Applications: []*Application{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Bound: true}
	for n, want := range map[int]int{0: 0, 2: 2, 3: 3, 9: 3} {
		if got := p.First(n); len(got.Applications) != want || !got.Bound || len(p.Applications) != 3 {
			t.Errorf("the first %d are %d", n, len(got.Applications))
		}
	}
}
