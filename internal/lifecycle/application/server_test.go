package application

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func asServer(a *lifecycle.App) { a.IsServer = true; always(a) }

func invalid(a *lifecycle.App) {
	a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.x"}
}

// names returns the phases that a plan enters, in one text.
func names(plan lifecycle.Plan) string {
	var all []string
	for _, tr := range plan.Transitions {
		all = append(all, string(tr.To))
	}
	return strings.Join(all, " ")
}

// TestCausesOfEnds checks the whole cause of each way in which a driver or a server ends or is stopped. The message
// names a server as such.
func TestCausesOfEnds(t *testing.T) {
	for name, c := range map[string]struct {
		app    lifecycle.App
		mem    lifecycle.Memory
		seen   lifecycle.Observed
		trail  string
		reason string
		says   string
	}{
		"a driver that failed without a reason": {appWith(), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverFailed),
			"Ended Retained", "DriverFailed", "driver container failed"},
		"a server that failed without a reason": {appWith(asServer), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverFailed),
			"Ended Waiting", "DriverFailed", "server container failed"},
		"a server that ended by itself": {appWith(asServer), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded),
			"Ended Waiting", "ServerEnded",
			"the server in pod app-driver ended by itself, without an error; its log says why"},
		"a server whose pod was deleted": {appWith(asServer), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverSucceeded, deleting),
			"Ended Waiting", "DriverDeleted", "pod app-driver was deleted, and the server in it stopped"},
		"a driver that is gone": {appWith(), memoryIn(lifecycle.Running), confirmed,
			"Ended Done", "DriverNotFound", "driver pod not found: it was deleted before it ended"},
		"a server that is gone": {appWith(asServer), memoryIn(lifecycle.Running), confirmed,
			"Ended Waiting", "DriverNotFound", "server pod not found: it was deleted before it ended"},
		"a driver that was being deleted is gone": {appWith(),
			memoryIn(lifecycle.Running, remembers("DriverDeleting", "m")), confirmed,
			"Ended Done", "DriverDeleted", "driver pod not found: it was deleted before it ended"},
		"a server that was being deleted is gone": {appWith(asServer),
			memoryIn(lifecycle.Running, remembers("DriverDeleting", "m")), confirmed,
			"Ended Waiting", "DriverDeleted", "server pod not found: it was deleted before it ended"},
		"a driver on a lost node is gone": {appWith(), memoryIn(lifecycle.Unknown, remembers("NodeLost", "m")),
			confirmed,
			"Ended Done", "NodeLost", "driver pod not found: its node was lost and the pod is gone"},
		"a server on a lost node is gone": {appWith(asServer), memoryIn(lifecycle.Unknown, remembers("NodeLost", "m")),
			confirmed,
			"Ended Waiting", "NodeLost", "server pod not found: its node was lost and the pod is gone"},
		"a driver that was being evicted is gone": {appWith(), memoryIn(lifecycle.Running, remembers("Evicted", "m")),
			confirmed, "Ended Done", "Evicted", "m"},
		"a driver that was being preempted is gone": {appWith(),
			memoryIn(lifecycle.Running, remembers("Preempted", "m")), confirmed,
			"Ended Done", "Preempted", "m"},
		"an application that is suspended": {appWith(suspended), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning),
			"Suspending", "Suspended", "the application is suspended"},
		"a server that is suspended": {appWith(asServer, suspended), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning),
			"Suspending", "Suspended", "the server is suspended"},
		"a server that is suspended with an invalid edit": {appWith(asServer, suspended, edited, invalid),
			memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning),
			"Suspending", "Suspended", "the server is suspended"},
		"an application that is edited": {appWith(edited), memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning),
			"Editing", "SpecChanged", "the spec was edited; the run of the old spec is replaced"},
		"a server that is edited": {appWith(asServer, edited), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning),
			"Editing", "SpecChanged", "the spec was edited; the server of the old spec is replaced"},
		"a server that ends while its spec is invalid": {appWith(asServer, invalid), memoryIn(lifecycle.Running),
			driver(lifecycle.DriverFailed),
			"Ended Retained", "InvalidSpec", "spec.x"},
		"a server that is gone while its spec is invalid": {appWith(asServer, invalid), memoryIn(lifecycle.Running),
			confirmed, "Ended Done", "InvalidSpec", "spec.x"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Step(c.app, c.mem, c.seen, at(60))

			got := []string{names(plan), plan.Next.Cause.Reason, plan.Next.Cause.Message}
			if diff := cmp.Diff([]string{c.trail, c.reason, c.says}, got); diff != "" {
				t.Errorf("trail, reason, message (-want +got):\n%s", diff)
			}

			if c.app.IsServer && plan.Next.Outcome == lifecycle.Succeeded {
				t.Error("a server succeeded")
			}
		})
	}
}

// TestServerFollowsItsReadiness checks the phases of a server that lives. It is Running while its pod is Ready,
// whatever its executors do, and Started again when clients can no longer connect.
func TestServerFollowsItsReadiness(t *testing.T) {
	app := appWith(asServer, func(a *lifecycle.App) { a.InitialExecutors = 5 })
	for name, c := range map[string]struct {
		mem    lifecycle.Memory
		seen   lifecycle.Observed
		trail  string
		phase  lifecycle.Phase
		reason string
		says   string
	}{
		"ready without executors": {memoryIn(lifecycle.Launched), driver(lifecycle.DriverRunning, readyAt(6)),
			"Started Running", lifecycle.Running, "", ""},
		"its container runs": {memoryIn(lifecycle.Launched), driver(lifecycle.DriverRunning), "Started",
			lifecycle.Started, "", ""},
		"its executors are pending": {memoryIn(lifecycle.Started),
			withExecutors(driver(lifecycle.DriverRunning, readyAt(6)), lifecycle.DriverPending), "Running",
			lifecycle.Running, "", ""},
		"still ready": {memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(6)), "",
			lifecycle.Running, "", ""},
		"no longer ready": {memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning), "Started",
			lifecycle.Started, "", ""},
		"being deleted while it is ready": {memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(6), deleting), "Started", lifecycle.Started,
			"DriverDeleting", "server pod app-driver is being deleted"},
		"being evicted while it is ready": {memoryIn(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(6), deleting, evicted), "Started", lifecycle.Started,
			"Evicted", "m"},
		"its node is lost": {memoryIn(lifecycle.Running), driver(lifecycle.DriverUnknown), "Unknown",
			lifecycle.Unknown, "NodeLost", "the server's node does not answer"},
		"its node is back": {memoryIn(lifecycle.Unknown), driver(lifecycle.DriverRunning, readyAt(6)),
			"Running", lifecycle.Running, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Step(app, c.mem, c.seen, at(60))

			got := []string{names(plan), string(plan.Next.Phase), plan.Next.Cause.Reason, plan.Next.Cause.Message}
			if diff := cmp.Diff([]string{c.trail, string(c.phase), c.reason, c.says}, got); diff != "" {
				t.Errorf("trail, phase, reason, message (-want +got):\n%s", diff)
			}

			if len(plan.Actions) > 0 {
				t.Errorf("it does %v", plan.Actions)
			}
		})
	}

	first := Step(app, memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning), at(60))

	want := lifecycle.Cause{Reason: "ServerNotReady", Message: "pod app-driver is no longer ready"}
	if len(first.Transitions) != 1 || first.Transitions[0].Cause != want {
		t.Errorf("the transition of a server that is no longer ready is %+v, want the cause %+v",
			first.Transitions, want)
	}
}

// TestInvalidEditKeepsTheServer checks that an invalid edit does not stop a running server, that the hash of the
// launched spec stays in the memory, and that the next valid edit replaces the server unless it restores the launched
// spec.
func TestInvalidEditKeepsTheServer(t *testing.T) {
	seen := driver(lifecycle.DriverRunning, readyAt(6))

	kept := Step(appWith(asServer, edited, invalid), memoryIn(lifecycle.Running), seen, at(60))
	if names(kept) != "" || len(kept.Actions) > 0 || kept.Next.SpecHash != "1:a" ||
		kept.Next.Phase != lifecycle.Running {
		t.Fatalf("the plan is %+v", kept)
	}

	if plan := Step(appWith(asServer), kept.Next, seen, at(70)); names(plan) != "" || len(plan.Actions) > 0 {
		t.Errorf("the launched spec is back, and the plan is %+v", plan)
	}

	if plan := Step(appWith(asServer, edited), kept.Next, seen, at(70)); names(plan) != "Editing" ||
		plan.Next.SpecHash != "1:b" {
		t.Errorf("the spec is valid, and the plan is %+v", plan)
	}

	if plan := Step(appWith(asServer, suspended, edited, invalid), memoryIn(lifecycle.Running), seen,
		at(60)); names(plan) != "Suspending" || plan.Next.SpecHash != "1:b" {
		t.Errorf("a suspension stops the server, but the plan is %+v", plan)
	}

	application := Step(appWith(edited, invalid), memoryIn(lifecycle.Running), seen, at(60))
	if names(application) != "Editing" {
		t.Errorf("an application with an invalid edit enters %q", names(application))
	}
}

// TestEndedServerStartsWhenItsSpecIsValid checks that a server which ended because of an invalid spec starts again if
// the spec becomes valid without an edit. An application does not.
func TestEndedServerStartsWhenItsSpecIsValid(t *testing.T) {
	ended := memoryIn(lifecycle.Done, outcome(lifecycle.Failed, lifecycle.ReasonInvalid, 40))
	for name, c := range map[string]struct {
		app   lifecycle.App
		trail string
		do    []lifecycle.Action
	}{
		"the spec is still invalid": {appWith(asServer, invalid), "", nil},
		"the spec is valid":         {appWith(asServer), "Waiting Launched", acts(create(2))},
		"an application":            {appWith(always), "", nil},
	} {
		plan := Step(c.app, ended, confirmed, at(60))
		if diff := cmp.Diff(c.do, plan.Actions); diff != "" || names(plan) != c.trail {
			t.Errorf("%s: it enters %q, want %q; actions (-want +got):\n%s", name, names(plan), c.trail, diff)
		}
	}

	stopped := Step(appWith(asServer, edited, invalid), memoryIn(lifecycle.Running), confirmed, at(60)).Next
	if stopped.SpecHash != "1:b" || stopped.Phase != lifecycle.Done {
		t.Errorf("a server that ends after an invalid edit is %s with the hash %s, want the hash of the invalid spec",
			stopped.Phase, stopped.SpecHash)
	}
}

// TestLongRunForgetsFailures checks when the counts of failures start again: if the application leaves the phase
// Running after at least ResetAfter.
func TestLongRunForgetsFailures(t *testing.T) {
	resets := func(after time.Duration) func(*lifecycle.App) {
		return func(a *lifecycle.App) { a.Restart.ResetAfter = after }
	}

	counted := func(phase lifecycle.Phase) lifecycle.Memory {
		return memoryIn(phase, func(m *lifecycle.Memory) { m.Runs, m.Submissions, m.SuspendedRuns = 5, 7, 2 })
	}
	for name, c := range map[string]struct {
		app  lifecycle.App
		mem  lifecycle.Memory
		seen lifecycle.Observed
		want [3]int32 // runs, submissions, suspended runs
	}{
		"a failure after ResetAfter": {appWith(always, resets(60*second)),
			counted(lifecycle.Running), driver(lifecycle.DriverFailed), [3]int32{1, 1, 0}},
		"a failure just before ResetAfter": {appWith(always, resets(60*second+1)),
			counted(lifecycle.Running), driver(lifecycle.DriverFailed), [3]int32{5, 7, 2}},
		"no ResetAfter": {appWith(always), counted(lifecycle.Running),
			driver(lifecycle.DriverFailed), [3]int32{5, 7, 2}},
		"a failure in another phase": {appWith(always, resets(second)), counted(lifecycle.Started),
			driver(lifecycle.DriverFailed), [3]int32{5, 7, 2}},
		"the phase Running goes on": {appWith(always, resets(second)), counted(lifecycle.Running),
			driver(lifecycle.DriverRunning, readyAt(6)), [3]int32{5, 7, 2}},
		"a suspension after ResetAfter": {appWith(always, suspended, resets(60*second)),
			counted(lifecycle.Running), driver(lifecycle.DriverRunning), [3]int32{1, 1, 1}},
		"a suspension just before ResetAfter": {appWith(always, suspended, resets(60*second+1)),
			counted(lifecycle.Running), driver(lifecycle.DriverRunning), [3]int32{5, 7, 3}},
		"a memory of another operator without any count": {appWith(always, resets(second)),
			memoryIn(lifecycle.Running, withRuns(0, 0)), driver(lifecycle.DriverFailed), [3]int32{}},
	} {
		next := Step(c.app, c.mem, c.seen, at(60)).Next
		if got := [3]int32{next.Runs, next.Submissions, next.SuspendedRuns}; got != c.want {
			t.Errorf("%s: runs, submissions, suspended runs are %v, want %v", name, got, c.want)
		}
	}
}
