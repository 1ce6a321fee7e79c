package application

import (
	"slices"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// addApacheSettings adds random settings, memories and events that occur only with applications of spark.apache.org.
func (a generator) addApacheSettings(now time.Time, app *lifecycle.App, mem *lifecycle.Memory,
	seen *lifecycle.Observed) {
	duration := func(n int) time.Duration { return time.Duration(a.below(n)-2) * time.Second }
	maybe := func(n int) *time.Duration {
		if a.below(2) == 0 {
			return nil
		}
		return new(duration(n))
	}
	limit := func() *int64 {
		if a.below(2) == 0 {
			return nil
		}
		return new(int64(a.below(4)))
	}

	if a.below(4) > 0 {
		app.Thresholds = &lifecycle.Thresholds{Init: int32(a.below(3)), Min: int32(a.below(3)), Max: int32(a.below(4)),
			Dynamic: a.below(3) == 0}
	}

	app.EnterMissedPhases = a.below(2) == 0

	app.Retain = lifecycle.Retention{
		Policy: []lifecycle.RetainPolicy{"", lifecycle.RetainAlways, lifecycle.RetainNever,
			lifecycle.RetainOnFailure}[a.below(4)], For: maybe(200),
	}
	if a.below(2) == 0 {
		app.ForceAfter, app.DeletedAt = time.Duration(a.below(300))*time.Second, a.time(now)
	}

	seen.Shortages = lifecycle.Shortages{Min: a.time(now), Max: a.time(now)}
	app.CleanupInterval = time.Duration(a.below(3)) * time.Second

	app.Deadlines.RestartAtScaling = a.below(2) == 0
	if a.below(3) == 0 {
		app.Restart.Policy = lifecycle.OnInfrastructureFailure
	}

	if a.below(4) > 0 {
		app.Restart.Limits = &lifecycle.RestartLimits{
			MaxRestarts: int64(a.below(5)), MaxFailures: limit(), MaxRejections: limit(),
			Backoff: duration(60), FailureBackoff: maybe(60), RejectionBackoff: maybe(60), ResetAfter: maybe(300),
		}
	}

	if mem.Phase == lifecycle.New {
		return
	}

	mem.Restarts = lifecycle.Restarts{Total: int64(a.below(5)), Failures: int64(a.below(4)),
		Rejections: int64(a.below(3))}
	switch {
	case mem.Phase == lifecycle.Unknown && a.below(2) == 0:
		mem.PhaseBeforeUnknown = up[a.below(len(up))]
	case mem.Phase.Runs() && a.below(2) == 0:
		mem.Phase = []lifecycle.Phase{lifecycle.Partial, lifecycle.Below}[a.below(2)]
	}

	if a.below(3) == 0 { // a healthy driver with several executors
		seen.Drivers = []lifecycle.Driver{{Name: "d", Attempt: mem.Attempt, Phase: lifecycle.DriverRunning, Ready: true,
			StartedAt: now, ReadyAt: now.Add(-time.Duration(a.below(400)) * time.Second)}}
		for range a.below(4) {
			seen.Executors = append(seen.Executors,
				lifecycle.Executor{Name: "e", Attempt: mem.Attempt, Phase: lifecycle.DriverRunning})
		}
	}
}

// checkSecond checks a plan against the rules of thresholds, retention and restart limits that every plan must keep.
func checkSecond(t *testing.T, app lifecycle.App, mem lifecycle.Memory, now time.Time, plan lifecycle.Plan) {
	enters := func(phases ...lifecycle.Phase) bool {
		return slices.ContainsFunc(plan.Transitions,
			func(tr lifecycle.Transition) bool { return slices.Contains(phases, tr.To) })
	}

	m := plan.Next
	switch {
	case app.Thresholds == nil && mem.PhaseBeforeUnknown == lifecycle.New &&
		(enters(lifecycle.Partial, lifecycle.Below) || m.PhaseBeforeUnknown != lifecycle.New):
		t.Fatalf("thresholds apply although none are set: %v, phase before Unknown %q", plan.Transitions,
			m.PhaseBeforeUnknown)
	case m.PhaseBeforeUnknown != lifecycle.New && m.Phase != lifecycle.Unknown:
		t.Fatalf("the phase %s remembers the phase %s before a lost node", m.Phase, m.PhaseBeforeUnknown)
	case app.Restart.Limits == nil && m.Restarts != mem.Restarts && m.Restarts != lifecycle.Restarts{}:
		t.Fatalf("restarts are counted without limits: %+v", m.Restarts)
	case m.Restarts != mem.Restarts && !enters(lifecycle.Waiting, lifecycle.Editing, lifecycle.Launched, lifecycle.Suspending, lifecycle.Resuming) && (!restartRequested(plan) || m.Restarts != lifecycle.Restarts{}):
		t.Fatalf("restarts are counted without a restart: %+v after %+v: %v", m.Restarts, mem.Restarts, plan.Transitions)
	case m.Restarts.Rejections > m.Restarts.Failures && mem.Restarts.Rejections <= mem.Restarts.Failures:
		t.Fatalf("a rejection that is not counted as a failure: %+v", m.Restarts)
	}

	for _, tr := range plan.Transitions {
		keeps := app.Retain.Policy == "" || app.Retain.Policy == lifecycle.RetainAlways ||
			app.Retain.Policy == lifecycle.RetainOnFailure && tr.Outcome != lifecycle.Succeeded
		if tr.To == lifecycle.Retained && (!keeps || app.Retain.For != nil && *app.Retain.For <= 0) {
			t.Fatalf("retained, although %+v: %v", app.Retain, tr)
		}
	}

	for _, a := range plan.Actions {
		since := []time.Time{mem.EndedAt, m.EndedAt, app.DeletedAt, m.Since}

		old := func(at time.Time) bool { return !at.IsZero() && now.Sub(at) >= app.ForceAfter }
		if a.Force && (a.Verb != lifecycle.Delete || a.Part == lifecycle.Application || app.ForceAfter <= 0 ||
			!slices.ContainsFunc(since, old)) {
			t.Fatalf("%+v, with force after %s: %+v", a, app.ForceAfter, m)
		}
	}
}
