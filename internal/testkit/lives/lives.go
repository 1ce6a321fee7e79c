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

// Count returns the number of lives to play. It is the argument sample, multiplied by the environment variable LIVES
// if that is set. The seeds of the lives are 0, 1, 2 and so on, so that the number of a life is enough to reproduce a
// failure.
func Count(t testing.TB, sample int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return sample
	}
	times, err := strconv.Atoi(text)
	if err != nil || times < 1 {
		t.Fatalf("%s is %q: it is by how many times more lives are played, a whole number from 1 on", variable, text)
	}
	return sample * times
}
