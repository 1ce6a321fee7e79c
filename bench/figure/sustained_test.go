package figure

import (
	"math"
	"testing"
	"time"
)

func TestSustained(t *testing.T) {
	at := func(seconds ...float64) (ends []time.Time) {
		for _, s := range seconds {
			ends = append(ends, time.Unix(0, 0).Add(time.Duration(s*float64(time.Second))))
		}
		return ends
	}
	var steady []time.Time // two a second, but for how it begins and ends
	for i := range 100 {
		steady = append(steady, at(float64(i)/2)...)
	}
	steady[0], steady[99] = at(-1000)[0], at(1000)[0]
	for name, tc := range map[string]struct {
		ends []time.Time
		want float64
	}{
		"steady, with a slow begin and end": {steady, 2},
		"in no order":                       {at(3, 1, 2), 1},
		"two":                               {at(1, 5), 0.25},
		"ten leave out one at each end":     {at(-9, 1, 2, 3, 4, 5, 6, 7, 8, 99), 1},
		"none":                              {nil, math.NaN()},
		"one":                               {at(1), math.NaN()},
		"all at once":                       {at(1, 1, 1), math.Inf(1)},
	} {
		if got := Sustained(tc.ends); got != tc.want && !(math.IsNaN(got) && math.IsNaN(tc.want)) {
			t.Errorf("%s: %v a second, want %v", name, got, tc.want)
		}
	}
}
