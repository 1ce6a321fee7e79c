package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestZonesAreInTheBinary: the zones that schedules name do not depend on the image that the operator runs in. A test's own machine has them, so that
// looking one up would show nothing.
func TestZonesAreInTheBinary(t *testing.T) {
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(packages)), "time/tzdata") {
		t.Error("time/tzdata is not linked in")
	}
}
