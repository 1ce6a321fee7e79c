package replay

import "slices"

// rises is by how much the rate has to rise with twice the workers for twice as many to be tried again.
const rises = 1.05

// Search has a plan replayed by a number of workers, and then by twice as many as before, for as long as that is faster by a twentieth at least, up to a number.
// It returns the results in this order. Whether the last was not faster, so that there is a limit, is what found says.
func Search(first, most int, replay func(workers int) (Result, error)) (results []Result, found bool, err error) {
	for workers := first; workers <= most; workers *= 2 {
		r, err := replay(workers)
		if err != nil {
			return results, false, err
		}
		results = append(results, r)
		if n := len(results); n > 1 && results[n-1].Rate() < rises*results[n-2].Rate() {
			return results, true, nil
		}
	}
	return results, false, nil
}

// Fastest is the fastest of some results.
func Fastest(results []Result) Result {
	return slices.MaxFunc(results, func(a, b Result) int {
		if a.Rate() > b.Rate() {
			return 1
		}
		return -1
	})
}
