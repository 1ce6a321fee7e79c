package lifecycle

import (
	"math"
	"testing"
	"time"
)

// TestDelayOfEachOutcome checks which interval delays the attempt after an outcome. If an interval is missing, the more
// general one applies, and an interval of 0 is not missing.
func TestDelayOfEachOutcome(t *testing.T) {
	const general, failure, rejection = 10 * time.Second, 5 * time.Second, 2 * time.Second

	failures := []Outcome{Failed, Lost, Evicted, StartTimedOut, ReadyTimedOut, ExecutorsTimedOut, RunTimedOut}
	for name, c := range map[string]struct {
		limits                    RestartLimits
		succeeded, failed, refuse time.Duration
	}{
		"only the general interval": {RestartLimits{Backoff: general}, general, general, general},
		"an interval after failures": {RestartLimits{Backoff: general, FailureBackoff: new(failure)}, general,
			failure, failure},
		"an interval after rejections": {RestartLimits{Backoff: general, RejectionBackoff: new(rejection)}, general,
			general, rejection},
		"all intervals": {RestartLimits{Backoff: general, FailureBackoff: new(failure),
			RejectionBackoff: new(rejection)}, general, failure, rejection},
		"intervals of 0": {RestartLimits{Backoff: general, FailureBackoff: new(time.Duration(0)),
			RejectionBackoff: new(time.Duration(0))}, general, 0, 0},
		"no interval":        {RestartLimits{}, 0, 0, 0},
		"negative intervals": {RestartLimits{Backoff: -1, FailureBackoff: new(-failure)}, 0, 0, 0},
		"longer than a time can hold": {RestartLimits{Backoff: math.MaxInt64}, 4611686018427387000,
			4611686018427387000, 4611686018427387000},
		"more precise than a status": {RestartLimits{Backoff: 1999, FailureBackoff: new(time.Duration(999))},
			1000, 0, 0},
		"rejections delayed the longer": {RestartLimits{Backoff: rejection, RejectionBackoff: new(general)}, rejection,
			rejection, general},
	} {
		want := map[Outcome]time.Duration{Succeeded: c.succeeded, Refused: c.refuse}
		for _, outcome := range failures {
			want[outcome] = c.failed
		}

		for outcome, delay := range want {
			if got := c.limits.Delay(outcome); got != delay {
				t.Errorf("%s: %s after %s, want %s", name, got, outcome, delay)
			}
		}
	}
}

// TestPhasesInWhichADriverRuns checks for each phase whether the attempt has a driver pod, and whether its start is
// complete.
func TestPhasesInWhichADriverRuns(t *testing.T) {
	for phase, want := range map[Phase][2]bool{ // live, runs
		New: {}, Waiting: {}, Ended: {}, Retained: {}, Done: {}, Suspending: {}, Suspended: {}, Resuming: {},
		Editing: {}, "Other": {},
		Launched: {true, false}, Started: {true, false}, Ready: {true, false}, Scaling: {true, false},
		Unknown: {true, false},
		Running: {true, true}, Partial: {true, true}, Below: {true, true},
	} {
		if got := [2]bool{phase.Live(), phase.Runs()}; got != want {
			t.Errorf("%q: live, runs = %v, want %v", phase, got, want)
		}
	}
}

// TestPodsOfAnAttempt checks that Driver and Submitter find the pod of an attempt, and that they return a pointer into
// the observation.
func TestPodsOfAnAttempt(t *testing.T) {
	seen := Observed{
		Drivers:    []Driver{{Name: "d1", Attempt: 1}, {Name: "d3", Attempt: 3}, {Name: "other", Attempt: 3}},
		Submitters: []Submitter{{Name: "s2", Attempt: 2}},
	}
	if d := seen.Driver(3); d != &seen.Drivers[1] {
		t.Errorf("the driver of attempt 3 is %+v", d)
	}

	if s := seen.Submitter(2); s != &seen.Submitters[0] {
		t.Errorf("the submitter of attempt 2 is %+v", s)
	}

	if d, s := seen.Driver(2), seen.Submitter(1); d != nil || s != nil {
		t.Errorf("attempt 2 has the driver %+v, and attempt 1 the submitter %+v", d, s)
	}
}
