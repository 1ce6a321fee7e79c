// Package lives says how many lives the simulators of the state machines play, and has what these simulators share: chance, time, stories and
// crashes.
package lives

import (
	"os"
	"strconv"
	"testing"
)

// variable is by how many times more lives are played than in a developer's loop: make test and make soak set it.
const variable = "LIVES"

// Count returns few, or LIVES times as many. The lives are always those of the first seeds, so that a breach is found
// again by the same number.
func Count(t testing.TB, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s is %q: it is by how many times more lives are played, a whole number from 1 on", variable, text)
	}
	return few * times
}
