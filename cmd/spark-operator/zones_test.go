package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestZonesAreInTheBinary: the time zones of schedules do not depend on the operator's image. The test does not look
// one up, because the machine that runs it has a database of its own.
func TestZonesAreInTheBinary(t *testing.T) {
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(packages)), "time/tzdata") {
		t.Error("time/tzdata is not linked in")
	}
}
