package terminal

import (
	"regexp"
	"testing"
)

func TestScreensOfAPage(t *testing.T) {
	const page = "# Page\n\n<!-- screen: one -->\n\n```text\n$ list\n```\n\nText.\n\n<!-- screen: two -->\n\n```text\n$ x\ny\n```\n"
	if got, err := Shown(page, "two"); err != nil || got != "$ x\ny" {
		t.Errorf("%q, %v", got, err)
	}

	if _, err := Shown(page, "three"); err == nil {
		t.Error("a screen that the page does not have")
	}

	changed, err := WithScreen(page, "one", "$ list\nnothing found")
	if err != nil {
		t.Fatal(err)
	}

	if got, err := Shown(changed, "one"); err != nil || got != "$ list\nnothing found" {
		t.Errorf("%q, %v", got, err)
	}

	if got, err := Shown(changed, "two"); err != nil || got != "$ x\ny" {
		t.Errorf("the other screen is %q, %v", got, err)
	}
}

func TestCondense(t *testing.T) {
	got := Condense("$ log\n26/01/01 a\n26/01/01 b\nPi is 3\nc", regexp.MustCompile(`^(\$|Pi) `))
	if want := "$ log\n...\nPi is 3\n..."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStable checks that Stable removes the differences between two runs of the same commands, but keeps a difference
// in the state of an application.
func TestStable(t *testing.T) {
	one := "$ wait\n...\nPi 3\n...\nPi 4\nSparkApplication d/pi: SUBMITTED\n^C\nwhy:    ErrImagePull: x\npod:    x: ErrImagePull\ndo:     check\nstate: RUNNING\nstart: JVM 4s, executor's JVM 4s,\n  first task 0s\ncreated: 59s ago\nused: 0.00 GiB-hours, at most 1\n  executor at once\n\nevents:\n  12:00:00  Pulled: image\n  12:00:01  Started: x\n$\npod: pi-54833baf-exec-1 waits for a\n  node"

	two := "$ wait\n...\nPi 5\n^C\nwhy:    ImagePullBackOff\n        x\npod:    x: y\ndo:     check\nstate: RUNNING\nstart: JVM 21s\ncreated:   2m5s ago\nused:   0.01 GiB-hours, waited 3s\n for a node\n\nevents:\n  13:00:00  Started: x\n$\npod: pi-fedcba9876543210-exec-2 waits\n  for a node"
	if Stable(one) != Stable(two) {
		t.Errorf("%q differs from %q", Stable(one), Stable(two))
	}

	if Stable("state: RUNNING") == Stable("state: FAILED") {
		t.Error("two states are the same")
	}
}
