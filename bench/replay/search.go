package replay

import "slices"

// A search ends when twice the workers, and twice as many again, are not by this much faster than the fastest before. One try alone may be slow by chance.
const (
	rises = 1.05
	vain  = 2
)

// Search has a plan replayed by a number of workers, and then by twice as many as before, for as long as that is faster, up to a number; and up to least in any case, as
// a few tries of few workers may be alike by chance. The last of them has that number, twice or not. It returns the results in this order. Whether the last ones were not
// faster, so that there is a limit, is what found says.
func Search(first, least, most int, replay func(workers int) (Result, error)) (results []Result, found bool, err error) {
	fastest, tries := 0.0, 0
	for workers, last := min(first, most), false; !last; workers = min(2*workers, most) {
		last = workers == most
		r, err := replay(workers)
		if err != nil {
			return results, false, err
		}
		results = append(results, r)
		if r.Rate() >= rises*fastest {
			tries = 0
		} else if tries++; tries >= vain && workers >= least {
			return results, true, nil
		}
		fastest = max(fastest, r.Rate())
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
