// Package effort determines how much of a long test a run includes: a little in a developer's run, more in `make test`,
// and most in `make soak`.
package effort

import (
	"iter"
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that multiplies the number of lives. The Makefile's targets test and soak set
// it.
const variable = "LIVES"

// Count returns the number of lives to simulate: the parameter sample, multiplied by the environment variable LIVES if
// it is set. The seeds of the lives are 0, 1, 2 and so on. The number of a life is therefore enough to reproduce its
// failure.
func Count(t testing.TB, sample int) int {
	t.Helper()

	text := os.Getenv(variable)
	if text == "" {
		return sample
	}

	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s is %q; set it to a whole number of at least 1, by which the number of lives is multiplied", variable, text)
	}
	return sample * times
}

// Long skips a test unless the environment variable LIVES is set, as in `make test`. It is for tests that take much CPU
// time and rarely find a fault, such as measurements of costs.
func Long(t testing.TB) {
	t.Helper()

	if os.Getenv(variable) == "" {
		t.Skipf("takes much CPU time: set %s=1", variable)
	}
}

// Share returns which share of the cases of an exhaustive test a run includes: every fifth case, or all cases if the
// environment variable LIVES is set, as in `make test`. It returns 5 or 1.
func Share(t testing.TB) int {
	t.Helper()

	if os.Getenv(variable) == "" {
		return 5
	}
	return 1
}

// Some returns the share of the cases of an exhaustive test that a run includes.
func Some[K, V any](t testing.TB, cases iter.Seq2[K, V]) iter.Seq2[K, V] {
	t.Helper()

	share := Share(t)
	return func(yield func(K, V) bool) {
		n := 0
		for k, v := range cases {
			if n++; n%share == 0 && !yield(k, v) {
				return
			}
		}
	}
}
