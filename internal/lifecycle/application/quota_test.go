package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Facts that a queue reports. The request is that of attempt 1, unless a change says otherwise.
var (
	unasked  = lifecycle.Quota{Name: "w"}
	inQueue  = lifecycle.Quota{Name: "w", Requested: true, Attempt: 1}
	admitted = lifecycle.Quota{Name: "w", Requested: true, Attempt: 1, Reserved: true}
	preempt  = &lifecycle.Cause{Reason: "Preempted", Message: "for another"}
)

func ofAttempt(q lifecycle.Quota, n int32) lifecycle.Quota {
	q.Attempt = n
	return q
}

func replied(q lifecycle.Quota, wait string) lifecycle.Quota {
	q.Asked = true
	if wait != "" {
		q.Wait, q.RequeueAfter = &lifecycle.Cause{Reason: wait, Message: "m"}, 2*time.Minute
	}
	return q
}

func evictedBy(q lifecycle.Quota) lifecycle.Quota {
	q.Evicted = preempt
	return q
}

func says(q lifecycle.Quota, change func(*lifecycle.Quota)) lifecycle.Quota {
	change(&q)
	return q
}

// in adds what the queue reports to an observation.
func in(seen lifecycle.Observed, q lifecycle.Quota) lifecycle.Observed {
	seen.Quota = &q
	return seen
}

var podsConfirmed = lifecycle.Observed{Confirmed: true, PodsConfirmed: true}

// allRead is an observation that a live read of all pods has confirmed.
func allRead(seen lifecycle.Observed) lifecycle.Observed {
	seen.Confirmed, seen.PodsConfirmed = true, true
	return seen
}

func ask(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.QuotaRequest, Attempt: n}
}

func release(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.QuotaRequest, Attempt: n}
}

func report(part lifecycle.Part, n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: part, Attempt: n}
}

func confirmAll(n int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.Attempt, Attempt: n}
}

// TestAdmission checks how an application waits in a queue before a launch.
func TestAdmission(t *testing.T) {
	hold := secondFamily(heldWhileSuspended)
	invalid := appWith(func(a *lifecycle.App) {
		a.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.x"}
	})
	waits := want{attempt: none, check: 2 * time.Minute, reason: lifecycle.ReasonQuotaPending}
	launched := func(n int32) want {
		return want{trail: phases(lifecycle.Launched), do: acts(create(n)), check: 10 * second, attempt: n}
	}

	run(t, []row{
		{"new: quota is requested", appWith(), lifecycle.Memory{}, in(nothing, unasked), t0, want{do: acts(ask(1)), attempt: none}},
		{"new and queued by an earlier pass", appWith(), lifecycle.Memory{}, in(nothing, inQueue), t0, want{do: acts(ask(1)), attempt: none}},
		{"new and queued by another operator", appWith(), lifecycle.Memory{}, in(nothing, ofAttempt(inQueue, 0)), t0,
			want{do: acts(ask(1)), attempt: none}},
		{"new and admitted: a driver may exist", appWith(), lifecycle.Memory{}, in(nothing, admitted), t0,
			want{do: acts(confirm(0)), check: rereadDelay, attempt: none}},
		{"new and admitted, no driver exists", appWith(), lifecycle.Memory{}, in(confirmed, admitted), t0, want{do: acts(ask(1)), attempt: none}},
		{"waits", appWith(), lifecycle.Memory{}, in(nothing, replied(inQueue, lifecycle.ReasonQuotaPending)), t0, waits},
		{"the request fails", appWith(), lifecycle.Memory{}, in(nothing, replied(unasked, lifecycle.ReasonQuotaRequestFailed)), t0,
			want{attempt: none, check: 2 * time.Minute, reason: lifecycle.ReasonQuotaRequestFailed}},
		{"admitted", appWith(), lifecycle.Memory{}, in(nothing, replied(admitted, "")), t0, launched(1)},
		{"the label was removed, and nothing is requested any more", appWith(), lifecycle.Memory{}, in(nothing, replied(unasked, "")), t0, launched(1)},
		{"an invalid spec asks for nothing", invalid, lifecycle.Memory{}, in(nothing, unasked), t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Refused, reason: lifecycle.ReasonInvalid}},
		{"admitted, and the API server rejects the driver", appWith(), lifecycle.Memory{},
			in(refused(true), replied(admitted, "")), t0,
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), outcome: lifecycle.Refused, reason: "Forbidden", check: repeatDelay}},

		{"held: a pending request is given back after a live read", hold, lifecycle.Memory{}, in(nothing, inQueue), t0,
			want{do: acts(confirmAll(0)), check: rereadDelay, attempt: none}},
		{"held: the pending request is given back", hold, lifecycle.Memory{}, in(podsConfirmed, inQueue), t0,
			want{do: acts(release(0)), check: repeatDelay, attempt: none}},
		{"held, and nothing is requested", hold, lifecycle.Memory{}, in(nothing, unasked), t0, want{attempt: none}},
		{"held, but the driver exists", hold, lifecycle.Memory{}, in(afterLiveRead(driver(lifecycle.DriverPending)), admitted), at(6),
			want{trail: phases(lifecycle.Launched, lifecycle.Suspending), do: acts(stop(1)), check: hold.CleanupInterval, reason: lifecycle.ReasonSuspended}},

		{"the back-off is not over", appWith(retries(3)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(90)),
			in(nothing, unasked), at(60), want{check: 30 * second, outcome: lifecycle.Failed, reason: "Error"}},
		{"the back-off is over", appWith(retries(3)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50), due(60)),
			in(nothing, unasked), at(60), want{do: acts(ask(2)), outcome: lifecycle.Failed, reason: "Error"}},
		{"the next attempt waits without a live read", appWith(retries(3)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50)),
			in(nothing, replied(ofAttempt(inQueue, 2), lifecycle.ReasonQuotaPending)), at(60),
			want{check: 2 * time.Minute, outcome: lifecycle.Failed, reason: lifecycle.ReasonQuotaPending}},
		{"the next attempt is admitted", appWith(retries(3)), memoryIn(lifecycle.Waiting, outcome(lifecycle.Failed, "Error", 50)),
			in(confirmed, replied(ofAttempt(admitted, 2), "")), at(60), launched(2)},
	})
}

// TestEviction checks what happens if the queue wants its quota back.
func TestEviction(t *testing.T) {
	app := secondFamily(func(a *lifecycle.App) { a.CleanupInterval = 0 })
	never := secondFamily(func(a *lifecycle.App) { a.CleanupInterval, a.Restart.Policy = 0, lifecycle.Never })
	hold := secondFamily(heldWhileSuspended, func(a *lifecycle.App) { a.CleanupInterval = 0 })
	late := secondFamily(func(a *lifecycle.App) { a.CleanupInterval, a.Deadlines.Run = 0, 30*time.Second })
	eviction := func(m *lifecycle.Memory) {
		m.Cause = lifecycle.Cause{Reason: lifecycle.ReasonQueueEviction, Message: "m"}
	}
	stopped := want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonQueueEviction}
	runs := afterLiveRead(driver(lifecycle.DriverRunning, readyAt(7)))

	run(t, []row{
		{"running: the end of the driver is read first", app, memoryIn(lifecycle.Running), in(driver(lifecycle.DriverRunning, readyAt(7)), evictedBy(admitted)), at(60),
			want{do: acts(confirm(1)), check: rereadDelay}},
		{"running", app, memoryIn(lifecycle.Running), in(runs, evictedBy(admitted)), at(60), stopped},
		{"running, and no restart is allowed", never, memoryIn(lifecycle.Running), in(runs, evictedBy(admitted)), at(60), stopped},
		{"launched", app, memoryIn(lifecycle.Launched), in(afterLiveRead(driver(lifecycle.DriverPending)), evictedBy(admitted)), at(6), stopped},
		{"deactivated without a reservation", app, memoryIn(lifecycle.Running), in(runs, evictedBy(inQueue)), at(60), stopped},
		{"the spec comes before the queue", hold, memoryIn(lifecycle.Running), in(runs, evictedBy(admitted)), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonSuspended}},
		{"the driver has succeeded", never, memoryIn(lifecycle.Running), in(driver(lifecycle.DriverSucceeded), evictedBy(admitted)), at(60),
			want{trail: phases(lifecycle.Ended), do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Succeeded}},
		{"a deadline has passed", late, memoryIn(lifecycle.Running), in(allRead(runs), evictedBy(admitted)), at(60),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut, reason: lifecycle.ReasonRunTimedOut}},
		{"stopping already", never, memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "m", 50)), in(runs, evictedBy(admitted)), at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut, reason: "m"}},
		{"the request was deleted by hand", app, memoryIn(lifecycle.Running), in(runs, unasked), at(60), want{}},

		{"suspending: no pods are left", app, memoryIn(lifecycle.Suspending, eviction), in(confirmed, evictedBy(admitted)), at(60),
			want{trail: phases(lifecycle.Suspended), do: acts(confirmAll(1)), check: rereadDelay, reason: lifecycle.ReasonQueueEviction}},
		{"suspended: a live read comes first", app, memoryIn(lifecycle.Suspended, eviction), in(confirmed, evictedBy(admitted)), at(60),
			want{do: acts(confirmAll(1)), check: rereadDelay, reason: lifecycle.ReasonQueueEviction}},
		{"suspended: the quota is given back, and the place in the queue kept", app, memoryIn(lifecycle.Suspended, eviction),
			in(podsConfirmed, evictedBy(admitted)), at(60),
			want{do: acts(report(lifecycle.QuotaReturn, 2)), check: repeatDelay, reason: lifecycle.ReasonQueueEviction}},
		{"suspended: an executor still terminates", app, memoryIn(lifecycle.Suspended, eviction),
			in(allRead(withExecutors(nothing, lifecycle.DriverRunning)), evictedBy(admitted)), at(60),
			want{do: acts(remove(1)), check: repeatDelay, reason: lifecycle.ReasonQueueEviction}},
		{"suspended: given back, and still deactivated", app, memoryIn(lifecycle.Suspended, eviction), in(nothing, evictedBy(ofAttempt(inQueue, 2))), at(60),
			want{reason: lifecycle.ReasonQueueEviction}},
		{"suspended: in the queue again", app, memoryIn(lifecycle.Suspended, eviction), in(nothing, ofAttempt(inQueue, 2)), at(60),
			want{trail: phases(lifecycle.Resuming), do: acts(ask(2))}},
		{"suspended: the request was deleted by hand", app, memoryIn(lifecycle.Suspended, eviction), in(nothing, unasked), at(60),
			want{trail: phases(lifecycle.Resuming), do: acts(ask(2))}},
		{"suspended, and then by the spec: the request goes", hold, memoryIn(lifecycle.Suspended, eviction), in(podsConfirmed, evictedBy(admitted)), at(60),
			want{do: acts(release(1)), check: repeatDelay, reason: lifecycle.ReasonSuspended}},
		{"resuming: waits in the queue", app, memoryIn(lifecycle.Resuming), in(nothing, replied(ofAttempt(inQueue, 2), lifecycle.ReasonQuotaPending)), at(60),
			want{check: 2 * time.Minute, reason: lifecycle.ReasonQuotaPending}},
		{"resuming: admitted", app, memoryIn(lifecycle.Resuming), in(confirmed, replied(ofAttempt(admitted, 2), "")), at(60),
			want{trail: phases(lifecycle.Launched), do: acts(create(2)), check: app.MissingGrace, attempt: 2}},
	})

	plan := Step(app, memoryIn(lifecycle.Running, withRuns(2, 0)), in(runs, evictedBy(admitted)), at(60))
	if m := plan.Next; m.Runs-m.SuspendedRuns != 1 || m.Cause.Message != "Kueue evicted the application: Preempted: for another" {
		t.Errorf("an eviction leaves %d runs, of which %d count, because of %q", m.Runs, m.Runs-m.SuspendedRuns, m.Cause.Message)
	}
}

// TestReleaseOfQuota checks when quota is given back, and what else the queue learns about an attempt.
func TestReleaseOfQuota(t *testing.T) {
	app := secondFamily(func(a *lifecycle.App) {
		a.CleanupInterval, a.Retain, a.InitialExecutors, a.MinExecutors = 0, lifecycle.Retention{Policy: lifecycle.RetainNever}, 1, 0
	})
	kept := secondFamily(func(a *lifecycle.App) {
		a.CleanupInterval, a.Retain = 0, lifecycle.Retention{Policy: lifecycle.RetainAlways}
	})
	server := appWith(func(a *lifecycle.App) { a.IsServer, a.SpecHash = true, "1:b" })
	failed := outcome(lifecycle.Failed, "Error", 50)
	runs := driver(lifecycle.DriverRunning, readyAt(7))
	unheld := says(admitted, func(q *lifecycle.Quota) { q.Unheld = true })
	finished := says(admitted, func(q *lifecycle.Quota) { q.Finished = true })
	sidecar := driver(lifecycle.DriverFailed, func(d *lifecycle.Driver) { d.Lingering = "proxy" })
	ends := want{outcome: lifecycle.Failed, reason: "Error"}
	with := func(w want, check time.Duration, do ...lifecycle.Action) want {
		w.check, w.do = check, do
		return w
	}

	run(t, []row{
		{"ended: a live read comes first", app, memoryIn(lifecycle.Ended, failed), in(nothing, admitted), at(60), with(ends, rereadDelay, confirmAll(1))},
		{"ended: quota is given back", app, memoryIn(lifecycle.Ended, failed), in(podsConfirmed, admitted), at(60), with(ends, repeatDelay, release(1))},
		{"ended: given back", app, memoryIn(lifecycle.Ended, failed), in(podsConfirmed, unasked), at(60),
			want{trail: phases(lifecycle.Done), outcome: lifecycle.Failed, reason: "Error"}},
		{"an old request goes before the next attempt asks", appWith(retries(3)), memoryIn(lifecycle.Waiting, failed), in(podsConfirmed, admitted), at(60),
			with(ends, repeatDelay, release(1))},
		{"an old request goes during the back-off", appWith(retries(3)), memoryIn(lifecycle.Waiting, failed, due(90)), in(podsConfirmed, admitted), at(60),
			with(ends, repeatDelay, release(1))},
		{"an edited server: the old request goes first", server, memoryIn(lifecycle.Editing), in(podsConfirmed, admitted), at(60),
			want{do: acts(release(1)), check: repeatDelay}},
		{"retained: the queue learns the end", kept, memoryIn(lifecycle.Retained, failed), in(allRead(driver(lifecycle.DriverFailed)), admitted), at(60),
			with(ends, repeatDelay, report(lifecycle.QuotaFinished, 1))},
		{"retained: the queue knows the end", kept, memoryIn(lifecycle.Retained, failed), in(allRead(driver(lifecycle.DriverFailed)), finished), at(60), ends},
		{"retained: a sidecar runs on", kept, memoryIn(lifecycle.Retained, failed), in(allRead(sidecar), admitted), at(60),
			want{outcome: lifecycle.Failed, reason: "Error"}},
		{"retained, and a restart was requested", appWith(retries(3)), memoryIn(lifecycle.Waiting), in(podsConfirmed, finished), at(60),
			want{do: acts(release(1)), check: repeatDelay}},
		{"all pods are ready", app, memoryIn(lifecycle.Running), in(withExecutors(runs, lifecycle.DriverRunning), admitted), at(60),
			want{do: acts(report(lifecycle.QuotaStarted, 1))}},
		{"it runs, and the request would go with the application", app, memoryIn(lifecycle.Running),
			in(withExecutors(runs, lifecycle.DriverRunning), unheld), at(60), want{do: acts(report(lifecycle.QuotaHeld, 1)), check: repeatDelay}},
		{"an executor is not ready", app, memoryIn(lifecycle.Running), in(withExecutors(runs, lifecycle.DriverPending), admitted), at(60), want{}},
		{"the queue knows that all pods are ready", app, memoryIn(lifecycle.Running),
			in(withExecutors(runs, lifecycle.DriverRunning), says(admitted, func(q *lifecycle.Quota) { q.Started = true })), at(60), want{}},
		{"an executor is lost: the report stays", app, memoryIn(lifecycle.Running),
			in(withExecutors(runs, lifecycle.DriverPending), says(admitted, func(q *lifecycle.Quota) { q.Started = true })), at(60), want{}},
		{"deleted: the request goes with the application", secondFamily(func(a *lifecycle.App) { a.Deleting = true }), memoryIn(lifecycle.Running),
			in(nothing, admitted), at(60), want{}},
	})
}

// TestReportOfAdmission checks that a wait is reported once for each reason, and an admission once.
func TestReportOfAdmission(t *testing.T) {
	reasons := func(mem lifecycle.Memory, q lifecycle.Quota) (found []string) {
		for _, n := range Step(appWith(), mem, in(confirmed, q), t0).Notices {
			found = append(found, n.Cause.Reason)
		}
		return found
	}
	waits := lifecycle.Memory{Cause: lifecycle.Cause{Reason: lifecycle.ReasonQuotaPending}}

	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"new":                   {reasons(lifecycle.Memory{}, replied(inQueue, lifecycle.ReasonQuotaPending)), lifecycle.ReasonQuotaPending},
		"waits already":         {reasons(waits, replied(inQueue, lifecycle.ReasonQuotaPending)), ""},
		"waits and then fails":  {reasons(waits, replied(inQueue, lifecycle.ReasonQuotaRequestFailed)), lifecycle.ReasonQuotaRequestFailed},
		"admitted":              {reasons(waits, replied(admitted, "")), lifecycle.ReasonQuotaAdmitted},
		"in no queue any more":  {reasons(waits, replied(unasked, "")), ""},
		"waits for an old one":  {reasons(memoryIn(lifecycle.Waiting), admitted), ""},
		"evicted before launch": {reasons(waits, evictedBy(replied(admitted, lifecycle.ReasonQuotaPending))), ""},
	} {
		if len(c.got) > 1 || len(c.got) == 1 && c.got[0] != c.want || len(c.got) == 0 && c.want != "" {
			t.Errorf("%s: reported %q, want %q", name, c.got, c.want)
		}
	}
}
