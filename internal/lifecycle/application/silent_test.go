package application

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func quotaRefused(o lifecycle.Observed) lifecycle.Observed {
	o.Confirmed, o.Rejection = true, &lifecycle.Cause{Reason: lifecycle.ReasonQuota, Message: "exceeded quota: pods"}
	return o
}

// TestExitZeroWhileSuspending checks decision 0046: a driver that finishes its work before a suspension stops it has
// succeeded. In four of sixty suspensions, such a driver ran again.
func TestExitZeroWhileSuspending(t *testing.T) {
	done := driver(lifecycle.DriverSucceeded, dueToGo(80))
	ended := func(m *lifecycle.Memory) { m.EndedAt = at(40) }
	again := acts(remove(1))
	run(t, []row{
		{"the driver had finished its work", appWith(suspended), memoryIn(lifecycle.Suspending), done, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"and the application is resumed meanwhile", appWith(), memoryIn(lifecycle.Suspending), done, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Succeeded}},
		{"an application that always runs again is suspended", appWith(suspended, always),
			memoryIn(lifecycle.Suspending), done, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting, lifecycle.Suspending), do: again, check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"a driver that failed runs again", appWith(suspended), memoryIn(lifecycle.Suspending),
			driver(lifecycle.DriverFailed), at(60), want{do: again, check: repeatDelay}},
		{"a server runs again", appWith(suspended, func(a *lifecycle.App) { a.IsServer = true }),
			memoryIn(lifecycle.Suspending), done, at(60), want{do: again, check: repeatDelay}},
		{"suspended before the next run after a success", appWith(suspended, always),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Succeeded, "", 50), due(90)), done, at(60),
			want{trail: phases(lifecycle.Suspending), do: again, check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"suspended after a success and a restart request", appWith(suspended), memoryIn(lifecycle.Suspending, ended),
			done, at(60), want{do: again, check: repeatDelay}},
		{"an edit while suspending asks for another run", appWith(suspended, edited), memoryIn(lifecycle.Suspending),
			done, at(60), want{do: again, check: repeatDelay}},
		{"an edit replaces the run, whatever its end is", appWith(edited), memoryIn(lifecycle.Editing), done, at(60),
			want{do: again, check: repeatDelay}},
		{"an edit that is seen together with the end replaces the run", appWith(edited), memoryIn(lifecycle.Running),
			done, at(60),
			want{trail: phases(lifecycle.Editing), do: again, check: repeatDelay, reason: lifecycle.ReasonEdited}},
	})

	plan := Step(appWith(suspended), memoryIn(lifecycle.Suspending, withRuns(2, 2)), done, at(60))
	if plan.Next.SuspendedRuns != 1 {
		t.Errorf("%d of 2 runs are suspended, want 1", plan.Next.SuspendedRuns)
	}
}

// TestRestartWaitsForQuota checks that an application that has run, or that its queue has admitted, waits if a quota
// rejects its next attempt. A quota that was full for twenty seconds ended applications that had retries left.
func TestRestartWaitsForQuota(t *testing.T) {
	limited := func(a *lifecycle.App) { a.Deadlines.DriverStart = 100 * second }
	leftover := acts(remove(2))

	failed := outcome(lifecycle.Failed, "Error", 50)
	for _, c := range []struct {
		name  string
		phase lifecycle.Phase
		m     func(*lifecycle.Memory)
		app   func(*lifecycle.App)
	}{
		{"a retry", lifecycle.Waiting, failed, retries(1)},
		{"a restart by request", lifecycle.Waiting, func(*lifecycle.Memory) {}, func(*lifecycle.App) {}},
		{"a resumed application", lifecycle.Resuming, func(*lifecycle.Memory) {}, func(*lifecycle.App) {}},
		{"an edited application", lifecycle.Editing, func(*lifecycle.Memory) {}, func(*lifecycle.App) {}},
	} {
		run(t, []row{
			{c.name, appWith(c.app, limited), memoryIn(c.phase, c.m), quotaRefused(nothing), at(90),
				want{do: leftover, check: repeatDelay, outcome: memoryIn(c.phase, c.m).Outcome,
					reason: lifecycle.ReasonQuota}},
			{c.name + " launches when there is room", appWith(c.app, limited),
				memoryIn(c.phase, c.m, remembers(lifecycle.ReasonQuota, "m")), confirmed, at(90),
				want{trail: phases(lifecycle.Launched), do: acts(create(2)), check: 10 * second, attempt: 2}},
		})

		if plan := Step(appWith(c.app, limited), memoryIn(c.phase, c.m), quotaRefused(nothing),
			at(170)); plan.Next.Outcome != lifecycle.Refused {
			t.Errorf("%s: the deadline of the start has passed, and the outcome is %q", c.name, plan.Next.Outcome)
		}
	}

	run(t, []row{
		{"a new application ends", appWith(), lifecycle.Memory{}, quotaRefused(nothing), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), outcome: lifecycle.Refused,
				reason: lifecycle.ReasonQuota}},
		{"another rejection ends a retry", appWith(retries(1)),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50)), refused(true), at(90),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), do: leftover, check: 40 * second, attempt: 2,
				outcome: lifecycle.Refused, reason: "Forbidden"}},
	})
	waits := Step(appWith(retries(1)), memoryIn(lifecycle.Waiting, failed), quotaRefused(nothing), at(90)).Next
	again := quotaRefused(nothing)

	again.Rejection.Message = "exceeded quota: pods, used 7"
	if plan := Step(appWith(retries(1)), waits, again, at(105)); len(plan.Notices) > 0 || plan.Next != waits {
		t.Errorf("the next try changes the status: %+v after %+v, %v", plan.Next, waits, plan.Notices)
	}
}

// TestFinalizersAreNamed checks that a pod that only its finalizers keep is not reported as a pod on a dead node.
func TestFinalizersAreNamed(t *testing.T) {
	kept := func(phase lifecycle.DriverPhase, change ...func(*lifecycle.Driver)) lifecycle.Observed {
		return driver(phase, append(change,
			func(d *lifecycle.Driver) { d.Finalizers = []string{"example.com/a", "example.com/b"} })...)
	}
	for _, c := range []struct {
		name string
		app  lifecycle.App
		m    lifecycle.Memory
		seen lifecycle.Observed
		want string
	}{
		{"ended, before a retry", appWith(retries(1)),
			memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 5)),
			kept(lifecycle.DriverFailed, dueToGo(50)), lifecycle.ReasonFinalizers},
		{"ended just now", appWith(retries(1)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 5)),
			kept(lifecycle.DriverFailed, dueToGo(58)), "Error"},
		{"ended, while it is being suspended", appWith(suspended), memoryIn(lifecycle.Suspending),
			kept(lifecycle.DriverFailed, dueToGo(20)), lifecycle.ReasonFinalizers},
		{"never scheduled, after an edit", appWith(edited), memoryIn(lifecycle.Editing),
			kept(lifecycle.DriverPending, dueToGo(10)), lifecycle.ReasonFinalizers},
		{"never scheduled, deleted by somebody", appWith(), memoryIn(lifecycle.Launched),
			kept(lifecycle.DriverPending, dueToGo(10)), lifecycle.ReasonFinalizers},
		{"still running", appWith(suspended), memoryIn(lifecycle.Suspending),
			kept(lifecycle.DriverRunning, dueToGo(20)), lifecycle.ReasonDriverDeleting},
		{"without finalizers", appWith(retries(1)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 5)),
			driver(lifecycle.DriverFailed, dueToGo(20)), lifecycle.ReasonDriverDeleting},
	} {
		cause := stored(t, c.app, c.m, c.seen, at(60)).Next.Cause
		if cause.Reason != c.want ||
			strings.Contains(cause.Message, "example.com/a, example.com/b") != (c.want == lifecycle.ReasonFinalizers) {
			t.Errorf("%s: %+v, want %s", c.name, cause, c.want)
		}
	}
}

// TestSidecarIsNamed checks that a finished application names a container that keeps its driver pod running.
func TestSidecarIsNamed(t *testing.T) {
	lingering := func(d *lifecycle.Driver) { d.Lingering = "proxy" }
	for _, phase := range []lifecycle.DriverPhase{lifecycle.DriverSucceeded, lifecycle.DriverFailed} {
		seen := driver(phase, lingering, why("Error"))

		first := Step(appWith(), memoryIn(lifecycle.Running), seen, at(55))
		if first.Next.Phase != lifecycle.Retained || strings.Contains(first.Next.Cause.Message, "proxy") ||
			first.RequeueAfter != 5*second {
			t.Fatalf("%s: at the end: %+v, requeue after %s", phase, first.Next, first.RequeueAfter)
		}

		named := Step(appWith(), first.Next, seen, at(60))
		if !strings.Contains(named.Next.Cause.Message, "container proxy of driver pod app-driver still runs") ||
			len(named.Notices) != 1 || named.Next.Outcome != first.Next.Outcome {
			t.Errorf("%s: %+v, %v", phase, named.Next, named.Notices)
		}

		if again := Step(appWith(), named.Next, seen, at(90)); again.Next != named.Next || len(again.Notices) > 0 {
			t.Errorf("%s: named again: %+v, %v", phase, again.Next, again.Notices)
		}

		if over := Step(appWith(), named.Next, driver(phase), at(90)).Next; phase == lifecycle.DriverSucceeded &&
			over.Cause != (lifecycle.Cause{}) {
			t.Errorf("the sidecar has ended: %+v", over.Cause)
		}
	}
}

// TestDeletedObjectsAreRestored checks that the operator creates deleted objects of a live driver again, and that it
// names them if it cannot.
func TestDeletedObjectsAreRestored(t *testing.T) {
	lacks := func(d *lifecycle.Driver) { d.MissingObjects = 1 }

	restore := acts(lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.DriverObjects, Attempt: 1})
	for _, phase := range []lifecycle.Phase{lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling,
		lifecycle.Running} {
		of := lifecycle.DriverRunning
		if phase == lifecycle.Launched {
			of = lifecycle.DriverPending
		}

		seen := driver(of, lacks, func(d *lifecycle.Driver) {
			d.Ready, d.ReadyAt = phase != lifecycle.Launched && phase != lifecycle.Started, at(7)
		})
		run(t, []row{{fmt.Sprint(phase), appWith(), memoryIn(phase), seen, at(60),
			stepWant(t, appWith(), memoryIn(phase), seen, restore)}})
		seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no Services here"}

		plan := Step(appWith(), memoryIn(phase), seen, at(60))
		if c := plan.Next.Cause; c.Reason != "Forbidden" ||
			!strings.Contains(c.Message, "were deleted and cannot be created again: no Services here") ||
			plan.RequeueAfter != repeatDelay {
			t.Errorf("%s: the rejection is not named: %+v, requeue after %s", phase, c, plan.RequeueAfter)
		}
	}

	for name, seen := range map[string]lifecycle.Observed{
		"a driver that is being deleted": driver(lifecycle.DriverRunning, readyAt(7), lacks, deleting),
		"a driver that has ended":        driver(lifecycle.DriverFailed, lacks),
		"a young driver": driver(lifecycle.DriverRunning, readyAt(7), lacks,
			func(d *lifecycle.Driver) { d.CreatedAt = at(58) }),
	} {
		for _, a := range Step(appWith(), memoryIn(lifecycle.Running), seen, at(60)).Actions {
			if a.Part == lifecycle.DriverObjects {
				t.Errorf("%s: %v", name, a)
			}
		}
	}
}

// stepWant returns what a decision must do besides the phases that it enters.
func stepWant(t *testing.T, app lifecycle.App, m lifecycle.Memory, seen lifecycle.Observed,
	do []lifecycle.Action) want {
	t.Helper()

	w := want{do: do, check: lifecycle.StopDuration}
	for _, tr := range Step(app, m, seen, at(60)).Transitions {
		w.trail = append(w.trail, tr.To)
	}
	return w
}
