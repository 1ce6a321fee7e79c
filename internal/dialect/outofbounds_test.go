package dialect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func TestOutOfBounds(t *testing.T) {
	for text, want := range map[string][]*FieldError{
		"": nil,
		"spec.driver.env: has more than 1000 items; make the list shorter": {{Field: "spec.driver.env",
			Message: "has more than 1000 items; make the list shorter"}},
		"spec: cannot be read: the value is of type number, not string": {{Field: "spec",
			Message: "cannot be read: the value is of type number, not string"}},
		"without a field": {{Field: "without a field", Message: ""}},
	} {
		if diff := cmp.Diff(want, OutOfBounds(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestUnreadableSpecRunsOnAndLaunchesNothing checks that every wish of the empty spec that could change a running
// attempt is removed, and that the rest stays.
func TestUnreadableSpecRunsOnAndLaunchesNothing(t *testing.T) {
	app := lifecycle.App{
		UID: "u", SpecHash: "3:empty", RestartRequest: "r", Deleting: true, Suspend: true, TTL: new(time.Hour),
		Restart: lifecycle.Restart{Policy: lifecycle.Always, FailureRetries: 3},
		Deadlines: lifecycle.Deadlines{DriverStart: 1, DriverReady: 2, ExecutorsStart: 3, RestartAtScaling: true,
			Run: 4},
		InitialExecutors: 2, MinExecutors: 1,
	}

	want := lifecycle.App{
		UID: "u", SpecHash: "3:launched", Deleting: true, Suspend: true, TTL: new(time.Hour),
		Restart:   lifecycle.Restart{Policy: lifecycle.Never},
		Deadlines: lifecycle.Deadlines{Run: 4},
	}
	if diff := cmp.Diff(want, UnreadableSpec(app, "spec: is too long", false,
		lifecycle.Memory{Phase: lifecycle.Running, SpecHash: "3:launched"})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnreadableSpecIsAnEditOnlyIfSomebodyEditedIt checks the hash. The digests are the first 24 digits of the SHA-256
// of the fault.
func TestUnreadableSpecIsAnEditOnlyIfSomebodyEditedIt(t *testing.T) {
	const ofA, ofB = "3:ca978112ca1bbdcafac231b3", "3:3e23e8160039594a33894f65"
	for name, c := range map[string]struct {
		hash, fault string
		edited      bool
		phase       lifecycle.Phase
		want        string
	}{
		"a running attempt":                {"3:empty", "a", false, lifecycle.Running, "3:launched"},
		"a running attempt after an edit":  {"3:empty", "a", true, lifecycle.Running, ofA},
		"a new application":                {"3:empty", "a", false, lifecycle.New, ofA},
		"an application that has ended":    {"3:empty", "a", false, lifecycle.Done, ofA},
		"another fault":                    {"3:empty", "b", true, lifecycle.Running, ofB},
		"a kind without hashes":            {"", "a", true, lifecycle.Running, ""},
		"a hash without a version":         {"empty", "a", true, lifecycle.Running, "empty"},
		"a driver whose node is lost":      {"3:empty", "a", false, lifecycle.Unknown, "3:launched"},
		"an attempt that is being stopped": {"3:empty", "a", false, lifecycle.Suspending, ofA},
	} {
		if got := UnreadableSpec(lifecycle.App{SpecHash: c.hash}, c.fault, c.edited,
			lifecycle.Memory{Phase: c.phase, SpecHash: "3:launched"}).SpecHash; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
