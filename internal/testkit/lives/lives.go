// Package lives contains the parts that the simulators of the state machines share: the number of lives to play, random
// choices, time, stories and crashes. A life is one simulated life cycle of an object.
package lives

import (
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
