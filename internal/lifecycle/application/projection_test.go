package application

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// projection translates the phases of an application into the states of the API group spark.apache.org, as far as these
// tests need them. The tests use it to check that one state machine produces the exact lists of states of both API
// groups.
type projection struct {
	restarts bool // restarts are requested, which may follow each state
	states   []string
	last     lifecycle.Phase
}

// stateOf maps phases to the states of spark.apache.org. endOf maps the outcomes of ended attempts to these states.
var (
	stateOf = map[lifecycle.Phase]string{
		lifecycle.Launched: "DriverRequested", lifecycle.Started: "DriverStarted", lifecycle.Ready: "DriverReady",
		lifecycle.Scaling: "InitializedBelowThresholdExecutors", lifecycle.Running: "RunningHealthy",
		lifecycle.Partial: "RunningWithPartialCapacity",
		lifecycle.Below:   "RunningWithBelowThresholdExecutors", lifecycle.Waiting: "ScheduledToRestart",
		lifecycle.Retained: "TerminatedWithoutReleaseResources", lifecycle.Done: "ResourceReleased",
		lifecycle.Suspending: "Suspended", lifecycle.Resuming: "Submitted",
	}
	endOf = map[lifecycle.Outcome]string{
		lifecycle.Succeeded: "Succeeded", lifecycle.Failed: "Failed", lifecycle.Lost: "Failed",
		lifecycle.RunTimedOut: "Failed",
		lifecycle.Evicted:     "DriverEvicted", lifecycle.Refused: "SchedulingFailure",
		lifecycle.StartTimedOut: "DriverStartTimedOut",
		lifecycle.ReadyTimedOut: "DriverReadyTimedOut", lifecycle.ExecutorsTimedOut: "ExecutorsStartTimedOut",
	}
)

// enter adds the state that a transition leads to. Two transitions add no state: the loss of a node, and the return
// from a lost node to the driver's earlier phase. If the operator died before it stored a launch, enter also adds the
// states that precede the launch and were not stored either.
func (p *projection) enter(tr lifecycle.Transition) {
	if len(p.states) == 0 {
		p.states = append(p.states, "Submitted")
	}

	switch {
	case tr.To == lifecycle.Suspended, tr.To == lifecycle.Unknown, tr.From == lifecycle.Unknown && tr.To == p.last:
		return
	case tr.To == lifecycle.Ended && tr.Cause.Reason == lifecycle.ReasonInvalid:
		p.states = append(p.states, "Failed")
	case tr.To == lifecycle.Ended:
		p.states = append(p.states, endOf[tr.Outcome])
	case tr.To == lifecycle.Launched && p.last.Live():
		// The end of the attempt before was not stored either.
		p.states = append(p.states, "Failed", "ScheduledToRestart", "DriverRequested")
	case tr.To == lifecycle.Launched && p.last == lifecycle.Ended:
		p.states = append(p.states, "ScheduledToRestart", "DriverRequested")
	default:
		p.states = append(p.states, stateOf[tr.To])
	}

	p.last = tr.To
}

// successors lists, for each state, the states that may follow it. Its source is the reference of spark.apache.org,
// with two additions. If an application does not wait for executors at its start, it may have too few executors from
// the beginning. A submission may fail in a separate pod after the driver was requested.
var successors = func() map[string][]string {
	ends := []string{"Succeeded", "Failed", "DriverEvicted"}
	running := []string{"RunningHealthy", "RunningWithPartialCapacity", "RunningWithBelowThresholdExecutors"}
	over := []string{"ScheduledToRestart", "ResourceReleased", "TerminatedWithoutReleaseResources"}

	table := map[string][]string{
		"Submitted": {"DriverRequested", "SchedulingFailure", "Failed"},
		"ScheduledToRestart": {"DriverRequested", "SchedulingFailure", "Failed", "ResourceReleased",
			"TerminatedWithoutReleaseResources"},
		"DriverRequested": append([]string{"DriverStarted", "DriverStartTimedOut",
			"SchedulingFailure"}, ends...),
		"DriverStarted": append([]string{"DriverReady", "DriverReadyTimedOut"}, ends...),
		"DriverReady": slices.Concat([]string{"InitializedBelowThresholdExecutors",
			"ExecutorsStartTimedOut"}, running, ends),
		"InitializedBelowThresholdExecutors": slices.Concat([]string{"ExecutorsStartTimedOut"}, running, ends),
		"TerminatedWithoutReleaseResources":  {"ResourceReleased"},
	}
	for _, state := range running {
		table[state] = slices.Concat(slices.DeleteFunc(slices.Clone(running),
			func(s string) bool { return s == state }), ends)
	}

	for _, end := range endOf {
		table[end] = over
	}
	return table
}()

// forbiddenPair returns the first two consecutive states that must not follow each other; nil if there are none.
func (p *projection) forbiddenPair() (pair []string) {
	for i, state := range p.states {
		if i == 0 {
			continue
		}

		if p.restarts && state == "ScheduledToRestart" {
			continue
		}

		if state == "Suspended" || p.states[i-1] == "Suspended" {
			continue // of an application in a queue
		}

		if before := p.states[i-1]; !slices.Contains(successors[before], state) {
			return []string{before, state}
		}
	}
	return nil
}

// observation is what the operator observes from a given time on.
type observation struct {
	at   int // seconds
	seen lifecycle.Observed
}

// play runs the passes for a story, which is a list of observations. There is a pass at the time of each observation,
// and at each time that a pass requests before the next observation. A live read confirms the current observation. The
// results are the entered states, the last memory and all actions.
func play(t *testing.T, app lifecycle.App, story []observation) (states []string, m lifecycle.Memory,
	done []lifecycle.Action) {
	t.Helper()
	var p projection

	var lacks lifecycle.Shortages
	for i, s := range story {
		until := s.at
		if i+1 < len(story) {
			until = story[i+1].at - 1
		}

		for now := at(s.at); !now.After(at(until)); {
			s.seen.Shortages = lacks
			plan := Step(app, m, s.seen, now)
			checkPlan(t, app, m, s.seen, now, plan)

			if slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm }) {
				sure := s.seen
				sure.Confirmed, sure.PodsConfirmed = true, true
				plan = Step(app, m, sure, now)
			}

			for _, tr := range plan.Transitions {
				p.enter(tr)
			}

			m, lacks, done = plan.Next, plan.Shortages, append(done, plan.Actions...)
			if plan.RequeueAfter == 0 {
				break
			}

			now = now.Add(plan.RequeueAfter)
		}
	}
	return p.states, m, done
}

// secondFamily returns an application with the defaults of the dialect of spark.apache.org and the given changes.
func secondFamily(change ...func(*lifecycle.App)) lifecycle.App {
	app := lifecycle.App{
		UID: "uid", MissingGrace: 60 * second, Thresholds: &lifecycle.Thresholds{}, EnterMissedPhases: true,
		Retain:     lifecycle.Retention{Policy: lifecycle.RetainNever},
		ForceAfter: 300 * second, CleanupInterval: 2 * second,
		Deadlines: lifecycle.Deadlines{DriverStart: 300 * second, DriverReady: 300 * second,
			ExecutorsStart: 300 * second, RestartAtScaling: true},
		Restart: lifecycle.Restart{Policy: lifecycle.Never,
			Limits: &lifecycle.RestartLimits{MaxRestarts: 3, Backoff: 30 * second}},
	}
	for _, c := range change {
		c(&app)
	}
	return app
}

func retain(policy lifecycle.RetainPolicy, kept ...int) func(*lifecycle.App) {
	return func(a *lifecycle.App) {
		a.Retain = lifecycle.Retention{Policy: policy}
		if len(kept) > 0 {
			a.Retain.For = new(at(kept[0]).Sub(t0))
		}
	}
}

func restarts(policy lifecycle.RestartPolicy, most int64) func(*lifecycle.App) {
	return func(a *lifecycle.App) {
		a.Restart.Policy = policy
		a.Restart.Limits = &lifecycle.RestartLimits{MaxRestarts: most, Backoff: 30 * second}
	}
}

func thresholds(initial, least, most int32) func(*lifecycle.App) {
	return func(a *lifecycle.App) { a.Thresholds = &lifecycle.Thresholds{Init: initial, Min: least, Max: most} }
}

// observedAttempt returns an observation with the driver of attempt n and the other objects of that attempt.
func observedAttempt(n int32, phase lifecycle.DriverPhase, change ...func(*lifecycle.Driver)) lifecycle.Observed {
	o := driver(phase, append(change, attempt(n))...)
	o.RemainingAttempts = []int32{n}
	return o
}

// TestHistories checks the exact lists of states that users of spark.apache.org rely on.
func TestHistories(t *testing.T) {
	pending, running := lifecycle.DriverPending, lifecycle.DriverRunning
	well := []string{"Submitted", "DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy"}
	then := func(more ...string) []string { return slices.Concat(well, more) }
	image := func(d *lifecycle.Driver) { why("ImagePullBackOff")(d) }

	neverStarted := func(d *lifecycle.Driver) { d.StartedAt = time.Unix(0, 0) } // as the kubelet reports it
	for _, c := range []struct {
		name  string
		app   lifecycle.App
		story []observation
		want  []string
	}{
		{"success", secondFamily(), []observation{
			{0, nothing}, {1, observedAttempt(1, pending)}, {6, observedAttempt(1, running)},
			{7, observedAttempt(1, running, readyAt(7))},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"success of a driver that ran between two looks", secondFamily(), []observation{
			{0, nothing}, {1, observedAttempt(1, pending)}, {51, observedAttempt(1, lifecycle.DriverSucceeded)},
			{52, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"success that nobody saw begin", secondFamily(),
			[]observation{{60, observedAttempt(1, lifecycle.DriverSucceeded)}, {61, nothing}},
			then("Succeeded", "ResourceReleased")},
		{"an image that cannot be pulled",
			secondFamily(func(a *lifecycle.App) { a.Deadlines.DriverStart = 30 * second }), []observation{
				{0, nothing}, {1, observedAttempt(1, pending, image)}, {40, nothing},
			}, []string{"Submitted", "DriverRequested", "DriverStartTimedOut", "ResourceReleased"}},
		{"success, retained for a time", secondFamily(retain(lifecycle.RetainAlways, 20)), []observation{
			{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {72, nothing},
		}, then("Succeeded", "TerminatedWithoutReleaseResources", "ResourceReleased")},
		{"success, retained for a time that goes on", secondFamily(retain(lifecycle.RetainAlways, 200)), []observation{
			{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {72, observedAttempt(1, lifecycle.DriverSucceeded)},
		}, then("Succeeded", "TerminatedWithoutReleaseResources")},
		{"failure, retained", secondFamily(retain(lifecycle.RetainOnFailure)), []observation{
			{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
			{51, observedAttempt(1, lifecycle.DriverFailed)}, {900, observedAttempt(1, lifecycle.DriverFailed)},
		}, then("Failed", "TerminatedWithoutReleaseResources")},
		{"success, where failures are retained", secondFamily(retain(lifecycle.RetainOnFailure)), []observation{
			{0, nothing}, {51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"failure that nobody saw begin, retained", secondFamily(retain(lifecycle.RetainOnFailure)), []observation{
			{0, nothing}, {51, observedAttempt(1, lifecycle.DriverFailed)},
		}, then("Failed", "TerminatedWithoutReleaseResources")},
		{"a container that could not be started", secondFamily(), []observation{
			{0, nothing}, {51, observedAttempt(1, lifecycle.DriverFailed, neverStarted)}, {52, nothing},
		}, []string{"Submitted", "DriverRequested", "Failed", "ResourceReleased"}},
		{"evicted before it began", secondFamily(), []observation{
			{0, nothing}, {51, observedAttempt(1, lifecycle.DriverFailed, evicted,
				func(d *lifecycle.Driver) { d.StartedAt = time.Time{} })}, {52, nothing},
		}, []string{"Submitted", "DriverRequested", "DriverEvicted", "ResourceReleased"}},
		{"evicted, and again", secondFamily(restarts(lifecycle.OnFailure, 1)), []observation{
			{0, nothing}, {51, observedAttempt(1, lifecycle.DriverFailed, evicted)}, {81, nothing},
			{90, observedAttempt(2, lifecycle.DriverFailed, evicted)}, {91, nothing},
		}, slices.Concat(then("DriverEvicted", "ScheduledToRestart"), well[1:],
			[]string{"DriverEvicted", "ResourceReleased"})},
		{"the last of all is retained, those before are not (W14)",
			secondFamily(restarts(lifecycle.OnFailure, 1), retain(lifecycle.RetainOnFailure)), []observation{
				{0, nothing}, {51, observedAttempt(1, lifecycle.DriverFailed)}, {81, nothing},
				{90, observedAttempt(2, lifecycle.DriverFailed)},
			}, slices.Concat(then("Failed", "ScheduledToRestart"), well[1:],
				[]string{"Failed", "TerminatedWithoutReleaseResources"})},
		{"what cannot be used is over at once", secondFamily(restarts(lifecycle.Always, 9), func(a *lifecycle.App) {
			a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.deploymentMode"}
		}), []observation{{0, nothing}, {1, nothing}}, []string{"Submitted", "Failed", "ResourceReleased"}},
		{"what cannot be made follows the policy (W17)", secondFamily(restarts(lifecycle.OnInfrastructureFailure, 1)),
			[]observation{
				{0, refused(true)}, {30, refused(true)}, {31, nothing},
			}, []string{"Submitted", "SchedulingFailure", "ScheduledToRestart", "SchedulingFailure",
				"ResourceReleased"}},
		{"deleted by somebody", secondFamily(),
			[]observation{{0, nothing}, {6, observedAttempt(1, running, readyAt(6))}, {51, nothing}},
			then("Failed", "ResourceReleased")},
		{"executors come, go and come", secondFamily(thresholds(2, 2, 3)), []observation{
			{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
			{8, withExecutors(observedAttempt(1, running, readyAt(6)), running)},
			{10, withExecutors(observedAttempt(1, running, readyAt(6)), running, running)},
			{12, withExecutors(observedAttempt(1, running, readyAt(6)), running, running, running)},
			{14, withExecutors(observedAttempt(1, running, readyAt(6)), running)},
			{20, withExecutors(observedAttempt(1, running, readyAt(6)), running, running, running)},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing},
		}, []string{"Submitted", "DriverRequested", "DriverStarted", "DriverReady",
			"InitializedBelowThresholdExecutors", "RunningWithPartialCapacity",
			"RunningHealthy", "RunningWithBelowThresholdExecutors", "RunningHealthy", "Succeeded", "ResourceReleased"}},
		{"an executor is replaced in time", secondFamily(thresholds(0, 2, 2)), []observation{
			{0, nothing}, {6, withExecutors(observedAttempt(1, running, readyAt(6)), running, running)},
			{14, withExecutors(observedAttempt(1, running, readyAt(6)), running)},
			{18, withExecutors(observedAttempt(1, running, readyAt(6)), running, running)},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"executors end a little before their driver", secondFamily(thresholds(0, 1, 2)), []observation{
			{0, nothing}, {6, withExecutors(observedAttempt(1, running, readyAt(6)), running, running)},
			{49, withExecutors(observedAttempt(1, running, readyAt(6)), running, lifecycle.DriverSucceeded)},
			{50, observedAttempt(1, running, readyAt(6))},
			{53, observedAttempt(1, lifecycle.DriverSucceeded)}, {54, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"executors that do not come",
			secondFamily(thresholds(2, 0, 0), func(a *lifecycle.App) { a.Deadlines.ExecutorsStart = 30 * second }),
			[]observation{
				{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
				{30, withExecutors(observedAttempt(1, running, readyAt(6)), running)}, {61, nothing},
			}, []string{"Submitted", "DriverRequested", "DriverStarted", "DriverReady",
				"InitializedBelowThresholdExecutors", "ExecutorsStartTimedOut", "ResourceReleased"}},
		{"executors that were awaited and not seen", secondFamily(thresholds(2, 0, 0)),
			[]observation{{0, nothing}, {51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing}},
			[]string{"Submitted", "DriverRequested", "DriverStarted", "DriverReady", "Succeeded", "ResourceReleased"}},
		{"a minimum, and nothing that the start awaits (W25)", secondFamily(thresholds(0, 1, 2)), []observation{
			{0, nothing}, {6, observedAttempt(1, running, readyAt(6))},
			{8, withExecutors(observedAttempt(1, running, readyAt(6)), running)},
			{9, withExecutors(observedAttempt(1, running, readyAt(6)), running, running)},
			{51, observedAttempt(1, lifecycle.DriverSucceeded)}, {52, nothing},
		}, then("Succeeded", "ResourceReleased")},
		{"a node that was lost for a while", secondFamily(thresholds(1, 1, 0)), []observation{
			{0, nothing}, {6, withExecutors(observedAttempt(1, running, readyAt(6)), running)},
			{20, observedAttempt(1, lifecycle.DriverUnknown)},
			{900, observedAttempt(1, running, readyAt(890))},
			{910, withExecutors(observedAttempt(1, running, readyAt(890)), running)},
			{951, observedAttempt(1, lifecycle.DriverSucceeded)}, {952, nothing},
		}, then("RunningWithBelowThresholdExecutors", "RunningHealthy", "Succeeded", "ResourceReleased")},
		{"a node that was lost until the driver had ended", secondFamily(), []observation{
			{0, nothing}, {6, observedAttempt(1, running)}, {20, observedAttempt(1, lifecycle.DriverUnknown)},
			{951, observedAttempt(1, lifecycle.DriverSucceeded)}, {952, nothing},
		}, then("Succeeded", "ResourceReleased")},
	} {
		t.Run(c.name, func(t *testing.T) {
			states, _, _ := play(t, c.app, c.story)
			if diff := cmp.Diff(c.want, states); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}

			if pair := (&projection{states: states}).forbiddenPair(); pair != nil {
				t.Errorf("%v does not follow in the reference", pair)
			}
		})
	}
}
