package application

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var bySubmit = lifecycle.Cause{Reason: "SparkSubmit", Message: "asked for"}

func submitted(a *lifecycle.App) { a.Submitter = &bySubmit }

func submitter(phase lifecycle.DriverPhase, change ...func(*lifecycle.Submitter)) lifecycle.Observed {
	r := lifecycle.Submitter{Name: "app-submit", Attempt: 1, Phase: phase, CreatedAt: t0}
	if endedPhase(phase) {
		r.EndedAt = at(40)
	}

	if phase == lifecycle.DriverFailed {
		r.Why = lifecycle.Cause{Reason: "Error", Message: "spark-submit container failed with exit code 1: no jar"}
	}

	for _, c := range change {
		c(&r)
	}
	return lifecycle.Observed{Submitters: []lifecycle.Submitter{r}}
}

func submitterWaits(reason string) func(*lifecycle.Submitter) {
	return func(r *lifecycle.Submitter) { r.Why = lifecycle.Cause{Reason: reason, Message: "m"} }
}

func submitterGoes(r *lifecycle.Submitter) { r.Deleting = true }

// mergePods returns the observation d with the submitter that the observation r contains.
func mergePods(r, d lifecycle.Observed) lifecycle.Observed {
	d.Submitters = r.Submitters
	d.Drivers[0].Submitter = "app-submit"
	return d
}

func live(o lifecycle.Observed) lifecycle.Observed {
	o.Confirmed = true
	return o
}

// afterLiveRead marks an observation as confirmed by a live read, which found the same pods of the attempt.
func afterLiveRead(o lifecycle.Observed) lifecycle.Observed {
	o.Confirmed, o.PodsConfirmed = true, true
	return o
}

// cacheBehind marks an observation as the result of a live read that found a later state than the cache.
func cacheBehind(o lifecycle.Observed) lifecycle.Observed {
	o.Confirmed, o.PodsConfirmed, o.CacheBehind = true, true, true
	return o
}

func inspected(torn bool, o lifecycle.Observed) lifecycle.Observed {
	o.Confirmed, o.Inspected, o.Drivers[0].MissingConfigMap = true, true, torn
	return o
}

var inspection = lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.Submission, Attempt: 1}

func TestSubmitter(t *testing.T) {
	launched := memoryIn(lifecycle.Launched, func(m *lifecycle.Memory) { m.Cause = bySubmit })
	never := func(o lifecycle.Observed) lifecycle.Observed { o.Drivers[0].Submitter = "app-submit"; return o }
	run(t, []row{
		{"before a launch: a live read", appWith(submitted), lifecycle.Memory{}, nothing, t0,
			want{do: acts(confirm(1)), check: rereadDelay, attempt: none}},
		{"after the live read: a launch", appWith(submitted), lifecycle.Memory{}, confirmed, t0,
			want{trail: phases(lifecycle.Launched), do: acts(create(1)), check: 10 * second, reason: "SparkSubmit"}},
		{"a driver of a launch that was not stored is found", appWith(submitted), lifecycle.Memory{},
			live(driver(lifecycle.DriverPending)), t0,
			want{trail: phases(lifecycle.Launched)}},
		{"the submitter of a launch that was not stored is found", appWith(submitted), lifecycle.Memory{},
			submitter(lifecycle.DriverRunning), at(5),
			want{trail: phases(lifecycle.Launched), reason: "SparkSubmit"}},
		{"the submitter is missing shortly after the launch", appWith(submitted), launched, nothing, at(3),
			want{check: 7 * second, reason: "SparkSubmit"}},
		{"the submitter runs for long", appWith(submitted), launched, submitter(lifecycle.DriverRunning), at(600),
			want{reason: "SparkSubmit"}},
		{"the submitter runs, before the driver's deadline",
			appWith(submitted, func(a *lifecycle.App) { a.Deadlines.DriverStart = 100 * second }), launched,
			submitter(lifecycle.DriverRunning), at(60), want{check: 40 * second, reason: "SparkSubmit"}},
		{"the submitter runs at the driver's deadline: it is deleted",
			appWith(submitted, func(a *lifecycle.App) { a.Deadlines.DriverStart = 50 * second }), launched,
			live(submitter(lifecycle.DriverRunning)), at(60),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay,
				outcome: lifecycle.StartTimedOut, reason: lifecycle.ReasonStartTimedOut}},
		{"the submitter waits for an image", appWith(submitted), launched,
			submitter(lifecycle.DriverPending, submitterWaits("ImagePullBackOff")), at(60),
			want{reason: "ImagePullBackOff"}},
		{"the submitter's node is lost: it may still submit", appWith(submitted), launched,
			submitter(lifecycle.DriverUnknown, submitterWaits(lifecycle.ReasonNodeLost)), at(60),
			want{reason: lifecycle.ReasonNodeLost}},
		{"somebody is deleting the submitter", appWith(submitted), launched,
			submitter(lifecycle.DriverRunning, submitterGoes), at(60),
			want{reason: lifecycle.ReasonSubmitterDeleted}},
		{"the submitter runs, and the driver exists", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverRunning), driver(lifecycle.DriverPending)), at(60), want{}},
		{"the submitter is still creating what the driver mounts", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverRunning), driver(lifecycle.DriverPending, why("FailedMount"))), at(60),
			want{}},
		{"the submitter has ended, and the driver cannot mount an object", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverSucceeded), driver(lifecycle.DriverPending, why("FailedMount"))),
			at(60), want{reason: "FailedMount"}},
		{"the submitter succeeded, and the driver runs", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverSucceeded), driver(lifecycle.DriverRunning)), at(60),
			want{trail: phases(lifecycle.Started)}},
		{"the submitter succeeded, and the driver is missing: a live read", appWith(submitted), launched,
			submitter(lifecycle.DriverSucceeded), at(60),
			want{do: acts(confirm(1)), check: rereadDelay, reason: "SparkSubmit"}},
		{"the submitter succeeded, and the driver was deleted", appWith(submitted), launched,
			live(submitter(lifecycle.DriverSucceeded)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), outcome: lifecycle.Lost,
				reason: lifecycle.ReasonDriverLost,
				do:     acts(remove(1)), check: repeatDelay}},
		{"the submitter failed: a live read", appWith(submitted), launched, submitter(lifecycle.DriverFailed), at(60),
			want{do: acts(confirm(1)), check: rereadDelay, reason: "SparkSubmit"}},
		{"the submitter failed without a driver: it is kept for its log", appWith(submitted), launched,
			live(submitter(lifecycle.DriverFailed)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Refused,
				reason: lifecycle.ReasonSubmitFailed}},
		{"the submitter failed with a reason", appWith(submitted), launched,
			live(submitter(lifecycle.DriverFailed, submitterWaits("OOMKilled"))), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Retained), outcome: lifecycle.Refused, reason: "OOMKilled"}},
		{"the submitter failed, and a retry is left", appWith(submitted, retries(1)), launched,
			live(submitter(lifecycle.DriverFailed)), at(41),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), check: 19 * second, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonSubmitFailed}},
		{"the submitter failed, because the driver exists", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverRunning)), at(60),
			want{trail: phases(lifecycle.Started)}},
		{"the submitter failed and is being deleted: the driver may be deleted too", appWith(submitted), launched,
			live(submitter(lifecycle.DriverFailed, submitterGoes)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), check: repeatDelay,
				outcome: lifecycle.Lost, reason: lifecycle.ReasonDriverLost}},
		{"submitter and driver no longer exist", appWith(submitted), launched, confirmed, at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), check: repeatDelay,
				outcome: lifecycle.Lost, reason: lifecycle.ReasonDriverLost}},
		{"the driver no longer exists after it ran", appWith(submitted), memoryIn(lifecycle.Running),
			live(submitter(lifecycle.DriverFailed)), at(60),
			want{trail: phases(lifecycle.Ended, lifecycle.Done), do: acts(remove(1)), check: repeatDelay,
				outcome: lifecycle.Lost, reason: lifecycle.ReasonDriverLost}},

		{"the submitter failed, and the driver is pending: its mounts are inspected", appWith(submitted), launched,
			mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverPending)), at(60),
			want{do: acts(inspection), check: rereadDelay, reason: "SparkSubmit"}},
		{"the submitter no longer exists, and the driver is pending: its mounts are inspected", appWith(submitted),
			launched, never(driver(lifecycle.DriverPending)), at(60),
			want{do: acts(inspection), check: rereadDelay, reason: "SparkSubmit"}},
		{"the mounts are complete", appWith(submitted), launched,
			inspected(false, mergePods(submitter(lifecycle.DriverFailed),
				driver(lifecycle.DriverPending, why("Unschedulable")))), at(60),
			want{reason: "Unschedulable"}},
		{"a mount is missing: the reason is stored first", appWith(submitted), launched,
			inspected(true, mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverPending))), at(60),
			want{trail: phases(lifecycle.Ended), do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInterrupted}},
		{"a mount is missing: the driver is deleted when the reason is stored", appWith(submitted),
			memoryIn(lifecycle.Ended, outcome(lifecycle.Refused, lifecycle.ReasonInterrupted, 50)),
			mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverPending)), at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInterrupted}},
		{"the mounts of a driver that is being deleted are not inspected", appWith(submitted), launched,
			never(driver(lifecycle.DriverPending, deleting)), at(60),
			want{reason: lifecycle.ReasonDriverDeleting}},
		{"the mounts of a driver that the operator created are not inspected", appWith(submitted), launched,
			driver(lifecycle.DriverPending), at(60), want{}},
	})
}

// TestInterruptedIsTriedAgain checks that an interrupted submission is retried exactly once, whatever the policy says.
func TestInterruptedIsTriedAgain(t *testing.T) {
	after := func(refusals int32) lifecycle.Memory {
		return memoryIn(lifecycle.Ended, outcome(lifecycle.Refused, lifecycle.ReasonInterrupted, 50),
			func(m *lifecycle.Memory) {
				m.Attempt, m.Runs, m.Submissions = refusals, 0, refusals
			})
	}
	run(t, []row{
		{"the first interruption is retried",
			appWith(submitted, func(a *lifecycle.App) { a.Restart.SubmissionInterval = 5 * second }), after(1), nothing,
			at(51),
			want{trail: phases(lifecycle.Waiting), check: 4 * second, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInterrupted}},
		{"the second interruption is not retried", appWith(submitted), after(2), nothing, at(51),
			want{trail: phases(lifecycle.Done), attempt: 2, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInterrupted}},
		{"the policy allows further retries", appWith(submitted, retries(2)), after(2), nothing, at(51),
			want{trail: phases(lifecycle.Waiting), check: 39 * second, attempt: 2, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonInterrupted}},
	})
}

// TestSubmitterIsInTheWay checks that no attempt is launched while a submitter of another attempt may still create a
// driver, and that a submitter is deleted together with its attempt.
func TestSubmitterIsInTheWay(t *testing.T) {
	going := submitter(lifecycle.DriverRunning)
	lost := submitter(lifecycle.DriverUnknown)
	stuck := submitter(lifecycle.DriverRunning, func(r *lifecycle.Submitter) { r.Deleting, r.GoneBy = true, at(10) })
	over := outcome(lifecycle.Refused, lifecycle.ReasonSubmitFailed, 50)
	run(t, []row{
		{"suspended", appWith(submitted, suspended), memoryIn(lifecycle.Launched), going, at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonSuspended}},
		{"edited", appWith(submitted, edited), memoryIn(lifecycle.Launched), going, at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"edited, on a lost node", appWith(edited), memoryIn(lifecycle.Editing), lost, at(60),
			want{do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonNodeLost}},
		{"edited, and the submitter's deletion is overdue", appWith(edited), memoryIn(lifecycle.Editing), stuck, at(60),
			want{do: acts(remove(1)), check: repeatDelay, reason: lifecycle.ReasonDriverDeleting}},
		{"deleted", appWith(func(a *lifecycle.App) { a.Deleting = true }), memoryIn(lifecycle.Launched), going, at(60),
			want{do: acts(remove(1)), check: repeatDelay}},
		{"a retry", appWith(submitted, retries(1)), memoryIn(lifecycle.Waiting, over, due(55)),
			submitter(lifecycle.DriverFailed), at(60),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonSubmitFailed}},
		{"the submitter is kept for its log until the retry", appWith(submitted, retries(1)),
			memoryIn(lifecycle.Waiting, over, due(80),
				func(m *lifecycle.Memory) { m.Runs = 0 }), submitter(lifecycle.DriverFailed), at(60),
			want{check: 20 * second, outcome: lifecycle.Refused, reason: lifecycle.ReasonSubmitFailed}},
		{"finished: the submitter is kept", appWith(), memoryIn(lifecycle.Retained, over),
			submitter(lifecycle.DriverFailed), at(60),
			want{outcome: lifecycle.Refused, reason: lifecycle.ReasonSubmitFailed}},
		{"finished: a running submitter is deleted", appWith(), memoryIn(lifecycle.Done, over), going, at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.Refused,
				reason: lifecycle.ReasonSubmitFailed}},
		{"finished, while spark-submit still runs: both pods are kept", appWith(),
			memoryIn(lifecycle.Retained, outcome(lifecycle.Failed, "Error", 50)),
			mergePods(going, driver(lifecycle.DriverFailed)), at(60), want{outcome: lifecycle.Failed, reason: "Error"}},
		{"finished: the submitter is deleted like its driver", appWith(),
			memoryIn(lifecycle.Retained, outcome(lifecycle.Succeeded, "", 50)),
			live(submitter(lifecycle.DriverSucceeded)), at(60),
			want{do: acts(remove(1)), check: repeatDelay, outcome: lifecycle.Succeeded}},
		{"the submitter of an earlier attempt is deleted", appWith(submitted),
			memoryIn(lifecycle.Running, func(m *lifecycle.Memory) { m.Attempt = 2 }),
			mergePods(submitter(lifecycle.DriverSucceeded), driver(lifecycle.DriverRunning, readyAt(7), attempt(2))),
			at(60),
			want{do: acts(remove(1)), check: repeatDelay, attempt: 2}},
	})
}

// TestSubmitterCounts checks which submissions count as runs. A failed or interrupted submission does not. A submission
// whose driver may have run does.
func TestSubmitterCounts(t *testing.T) {
	for _, c := range []struct {
		name        string
		seen        lifecycle.Observed
		runs        int32
		submissions int32
	}{
		{"the submitter failed", live(submitter(lifecycle.DriverFailed)), 0, 1},
		{"the submitter no longer exists", confirmed, 1, 1},
		{"the submission was interrupted",
			inspected(true, mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverPending))), 0, 1},
		{"the driver runs", mergePods(submitter(lifecycle.DriverSucceeded), driver(lifecycle.DriverRunning)), 1, 1},
	} {
		next := Step(appWith(submitted), memoryIn(lifecycle.Launched), c.seen, at(60)).Next
		if next.Runs != c.runs || next.Submissions != c.submissions {
			t.Errorf("%s: %d runs of %d submissions, want %d of %d", c.name, next.Runs, next.Submissions, c.runs,
				c.submissions)
		}
	}
}

// TestSubmitterIsToldOf checks that the wait reason of a submitter is reported once, with the name of its pod, and that
// its normal work is not reported.
func TestSubmitterIsToldOf(t *testing.T) {
	app := appWith(submitted)

	launched := memoryIn(lifecycle.Launched, func(m *lifecycle.Memory) { m.Cause = bySubmit })
	if plan := Step(app, launched, submitter(lifecycle.DriverRunning), at(20)); len(plan.Notices) != 0 {
		t.Errorf("reported %v", plan.Notices)
	}

	waits := submitter(lifecycle.DriverPending, submitterWaits("ImagePullBackOff"))

	first := Step(app, launched, waits, at(20))
	if len(first.Notices) != 1 || first.Notices[0].Part != lifecycle.SubmitterPod ||
		first.Notices[0].Name != "app-submit" || !first.Notices[0].Waits ||
		!strings.Contains(first.Next.Cause.Message, "app-submit") {
		t.Errorf("reported %v, remembers %+v", first.Notices, first.Next.Cause)
	}

	if again := Step(app, first.Next, waits, at(25)); len(again.Notices) != 0 {
		t.Errorf("reported again: %v", again.Notices)
	}

	torn := Step(app, launched, inspected(true,
		mergePods(submitter(lifecycle.DriverFailed), driver(lifecycle.DriverPending))), at(60))
	if m := torn.Next.Cause.Message; !strings.Contains(m, "app-driver") || !strings.Contains(m, "no jar") {
		t.Errorf("the message of an interrupted submission is %q", m)
	}
}
