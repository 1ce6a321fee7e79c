package figure

import (
	"math"
	"slices"
	"time"
)

// Sustained is how many a second ended, of which these are the ends in any order: between the tenth and the ninetieth in a hundred, so that neither how it began
// nor what was left for last is in it. It is no number, which no run keeps (Run.Add), of fewer than two.
func Sustained(ends []time.Time) float64 {
	at := slices.SortedFunc(slices.Values(ends), time.Time.Compare)
	if len(at) == 0 {
		return math.NaN()
	}
	from, to := len(at)/10, len(at)-1-len(at)/10
	return float64(to-from) / at[to].Sub(at[from]).Seconds()
}
