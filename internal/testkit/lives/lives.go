// Package lives has what the simulators of the state machines share: the number of lives to play, random choices, time,
// stories and crashes.
package lives

import (
	"os"
	"strconv"
	"testing"
)

// variable is the environment variable that multiplies the number of lives. The targets test and soak of the Makefile
// set it.
const variable = "LIVES"

// Count returns few, or LIVES times as many. Lives always use the first seeds, so that the number of a life reproduces
// a breach.
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
