package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func asks(request string) func(*lifecycle.App) {
	return func(a *lifecycle.App) { a.RestartRequest = request }
}

func answered(request string) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) { m.RestartRequest = request }
}

func forRequest(request string) func(*lifecycle.Driver) {
	return func(d *lifecycle.Driver) { d.RestartRequest = request }
}

// TestRestartRequests checks what a restart request does in each phase. It checks the phases that the pass enters, the
// actions, and the request and the counts that the memory contains afterwards.
func TestRestartRequests(t *testing.T) {
	ended := outcome(lifecycle.Failed, "Error", 50)
	for _, test := range []struct {
		name    string
		app     lifecycle.App
		mem     lifecycle.Memory
		seen    lifecycle.Observed
		trail   string
		actions []lifecycle.Action
		request string
		runs    int32
		reports int
	}{
		{name: "before the first attempt", app: appWith(asks("r1")), seen: nothing, trail: "Launched",
			actions: []lifecycle.Action{create(1)}, request: "r1", runs: 1},
		{name: "a running attempt is stopped only after the request is stored", app: appWith(asks("r1")),
			mem:  memoryIn(lifecycle.Running),
			seen: driver(lifecycle.DriverRunning), trail: "Waiting", request: "r1", reports: 1},
		{name: "the next pass stops the driver", app: appWith(asks("r1")),
			mem:  memoryIn(lifecycle.Waiting, answered("r1")),
			seen: driver(lifecycle.DriverRunning), actions: []lifecycle.Action{stop(1)}, request: "r1", runs: 1},
		{name: "the next attempt starts when all objects are deleted", app: appWith(asks("r1")),
			mem:  memoryIn(lifecycle.Waiting, answered("r1")),
			seen: confirmed, trail: "Launched", actions: []lifecycle.Action{create(2)}, request: "r1", runs: 2},
		{name: "the request was carried out before", app: appWith(asks("r1")),
			mem:  memoryIn(lifecycle.Running, answered("r1")),
			seen: driver(lifecycle.DriverRunning, readyAt(6)), request: "r1", runs: 1},
		{name: "the annotation is removed", app: appWith(), mem: memoryIn(lifecycle.Running, answered("r1")),
			seen: driver(lifecycle.DriverRunning, readyAt(6)), request: "r1", runs: 1},
		{name: "an ended application", app: appWith(asks("r2")),
			mem:  memoryIn(lifecycle.Retained, ended, answered("r1")),
			seen: driver(lifecycle.DriverFailed), trail: "Waiting", request: "r2", reports: 1},
		{name: "an ended application without objects", app: appWith(asks("r1")), mem: memoryIn(lifecycle.Done, ended),
			seen:  confirmed,
			trail: "Waiting Launched", actions: []lifecycle.Action{create(2)}, request: "r1", runs: 1, reports: 1},
		{name: "the back-off is dropped", app: appWith(retries(3), asks("r1")),
			mem: memoryIn(lifecycle.Waiting, ended, due(1000)), seen: confirmed,
			trail: "Launched", actions: []lifecycle.Action{create(2)}, request: "r1", runs: 1, reports: 1},
		{name: "suspended", app: appWith(suspended, asks("r1")), mem: memoryIn(lifecycle.Suspended), seen: nothing,
			request: "r1", runs: 1, reports: 1},
		{name: "suspended together with the request", app: appWith(suspended, asks("r1")),
			mem:  memoryIn(lifecycle.Running),
			seen: driver(lifecycle.DriverRunning), trail: "Suspending", request: "r1", runs: 1},
		{name: "edited together with the request", app: appWith(edited, asks("r1")), mem: memoryIn(lifecycle.Running),
			seen: driver(lifecycle.DriverRunning), trail: "Editing", request: "r1"},
		{name: "a launch that was not stored answers the request", app: appWith(asks("r1")),
			seen:  driver(lifecycle.DriverPending, forRequest("r1")),
			trail: "Launched", request: "r1", runs: 1},
		{name: "a launch that was not stored is older than the request", app: appWith(asks("r2")),
			mem:  memoryIn(lifecycle.Waiting, answered("r1")),
			seen: driver(lifecycle.DriverPending, attempt(2), forRequest("r1")), trail: "Launched Waiting",
			request: "r2", reports: 1},
		{name: "deleted", app: appWith(asks("r1"), func(a *lifecycle.App) { a.Deleting = true }),
			mem:  memoryIn(lifecycle.Running),
			seen: driver(lifecycle.DriverRunning), actions: []lifecycle.Action{remove(1)}, runs: 1},
		{name: "a server with an invalid spec is kept", app: appWith(asks("r1"), func(a *lifecycle.App) {
			a.IsServer, a.Invalid = true, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid}
		}), mem: memoryIn(lifecycle.Running), seen: driver(lifecycle.DriverRunning, readyAt(6)), runs: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := Step(test.app, test.mem, test.seen, at(60))

			reports := 0
			for _, n := range plan.Notices {
				if n.Part == lifecycle.Application && n.Cause.Reason == lifecycle.ReasonRestartRequested &&
					strings.HasPrefix(n.Cause.Message, "a restart was requested: ") {
					reports++
				}
			}

			got := []any{names(plan), append([]lifecycle.Action(nil), plan.Actions...), plan.Next.RestartRequest,
				plan.Next.Runs, reports}
			if diff := cmp.Diff([]any{test.trail, test.actions, test.request, test.runs, test.reports},
				got); diff != "" {
				t.Errorf("trail, actions, request, runs, reports (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRestartKeepsNoTimeOfTheLastRun checks an application that is restarted after its end. While it waits for its next
// attempt, its memory contains neither an outcome nor an end, so that its time to live does not expire meanwhile.
func TestRestartKeepsNoTimeOfTheLastRun(t *testing.T) {
	app := appWith(asks("r1"), func(a *lifecycle.App) { a.TTL = new(time.Minute) })

	plan := Step(app, memoryIn(lifecycle.Retained, outcome(lifecycle.Succeeded, "", 50)),
		driver(lifecycle.DriverSucceeded), at(1000))
	if m := plan.Next; m.Phase != lifecycle.Waiting || m.Outcome != lifecycle.Undecided || !m.EndedAt.IsZero() ||
		len(plan.Actions) > 0 {
		t.Errorf("%+v, actions %v", m, plan.Actions)
	}
}
