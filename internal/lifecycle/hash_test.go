package lifecycle

import (
	"regexp"
	"testing"
)

// TestAttemptID checks that the results of AttemptID never change. They are in the statuses and on the pods of existing
// applications. If the ID of an attempt changed, the attempt would be launched a second time.
func TestAttemptID(t *testing.T) {
	for _, c := range []struct {
		uid     string
		attempt int32
		want    string
	}{
		{"6f0c1d1e-0000-4000-8000-000000000001", 1, "2aa963dc-a57d-5e11-859e-4244eba5b582"},
		{"6f0c1d1e-0000-4000-8000-000000000001", 2, "d6679223-5d47-59bf-ba50-2655a7a7b4f2"},
		{"", 0, "2598ec17-1d75-5463-91de-947009af2b99"},
	} {
		if got := AttemptID(c.uid, c.attempt); got != c.want {
			t.Errorf("AttemptID(%q, %d) = %s, want %s", c.uid, c.attempt, got, c.want)
		}
	}
}

func TestAttemptIDsDiffer(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

	seen := map[string]bool{}
	for _, uid := range []string{"a", "b", "a/1", ""} {
		for attempt := range int32(200) {
			id := AttemptID(uid, attempt)
			if !form.MatchString(id) {
				t.Fatalf("%q is no UUID of version 5", id)
			}

			if seen[id] {
				t.Fatalf("%q twice", id)
			}

			seen[id] = true
		}
	}
}

func TestEdited(t *testing.T) {
	for _, c := range []struct {
		launched, wanted string
		want             bool
	}{
		{"1:a", "1:a", false},
		{"1:a", "1:b", true},
		{"1:a", "2:b", false}, // an upgrade restarts nothing
		{"", "1:b", false},    // nothing is remembered
		{"1:a", "", false},
		{"a", "b", false}, // no version
	} {
		if got := Edited(c.launched, c.wanted); got != c.want {
			t.Errorf("Edited(%q, %q) = %v", c.launched, c.wanted, got)
		}
	}
}

func TestPhases(t *testing.T) {
	for phase, want := range map[Phase][2]bool{ // terminal, live
		New: {}, Waiting: {}, Ended: {}, Suspending: {}, Suspended: {}, Resuming: {}, Editing: {},
		Launched: {false, true}, Started: {false, true}, Ready: {false, true}, Scaling: {false, true},
		Running: {false, true}, Unknown: {false, true},
		Retained: {true, false}, Done: {true, false},
	} {
		if got := [2]bool{phase.Terminal(), phase.Live()}; got != want {
			t.Errorf("%q: terminal, live = %v, want %v", phase, got, want)
		}
	}
}
