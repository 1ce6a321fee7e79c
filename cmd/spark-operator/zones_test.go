package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestZonesAreInTheBinary checks that the binary contains the database of time zones, so that the time zones of
// schedules do not depend on the operator's image. The test does not look up a time zone, because the machine that runs
// the test has a database of its own.
func TestZonesAreInTheBinary(t *testing.T) {
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Contains(strings.Fields(string(packages)), "time/tzdata") {
		t.Error("time/tzdata is not linked in")
	}
}
