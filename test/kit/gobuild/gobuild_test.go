package gobuild_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// TestProgramIsLinkedOnce checks that a program that is up to date is not written again.
func TestProgramIsLinkedOnce(t *testing.T) {
	t.Parallel()

	first, err := os.Stat(gobuild.Must(t, "tools", "./testrun"))
	if err != nil {
		t.Fatal(err)
	}

	again, err := os.Stat(gobuild.Must(t, "tools", "./testrun"))
	if err != nil {
		t.Fatal(err)
	}

	if !os.SameFile(first, again) {
		t.Error("the program is written again")
	}
}

// TestCleanupGetsAProgram checks that a program is built after the end of a test, when its context is canceled.
func TestCleanupGetsAProgram(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { gobuild.Must(t, "tools", "./testrun") })
}

// TestErrorNamesThePackage checks the error for a program that cannot be built.
func TestErrorNamesThePackage(t *testing.T) {
	t.Parallel()

	if _, err := gobuild.Program(t.Context(), "tools", "./absent"); err == nil || !strings.Contains(err.Error(), "build ./absent: ") {
		t.Errorf("the error is %v", err)
	}
}
