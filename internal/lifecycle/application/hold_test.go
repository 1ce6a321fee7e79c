package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// heldWhileSuspended is the suspension of spark.apache.org: before a launch, it holds the application in its phase.
func heldWhileSuspended(a *lifecycle.App) { a.Suspend, a.Hold = true, held }

// TestSuspendWithHold checks a suspension that holds what is not launched. Only a live attempt is stopped, a resume
// starts the next attempt without a back-off and forgets the rejections, and the driver's own end comes first.
func TestSuspendWithHold(t *testing.T) {
	family := func(change ...func(*lifecycle.App)) lifecycle.App {
		return secondFamily(append([]func(*lifecycle.App){func(a *lifecycle.App) { a.CleanupInterval = 0 }}, change...)...)
	}
	hold, resumed := family(heldWhileSuspended), family()
	rerun := family(heldWhileSuspended, restarts(lifecycle.Always, 9))

	run(t, []row{
		{"before the first launch", hold, lifecycle.Memory{}, nothing, at(60), want{attempt: none}},
		{"running: the end of the driver is read first", hold, memoryIn(lifecycle.Running), driver(lifecycle.DriverRunning, readyAt(7)), at(60),
			want{do: acts(confirm(1)), check: rereadDelay}},
		{"running: the cache is behind", hold, memoryIn(lifecycle.Running), cacheBehind(driver(lifecycle.DriverRunning, readyAt(7))), at(60), want{check: repeatDelay}},
		{"running: no live read is possible", hold, memoryIn(lifecycle.Running), withTransientErrors(driver(lifecycle.DriverRunning, readyAt(7)), 50), at(60), want{check: rereadDelay}},
		{"running: the driver is missing", hold, memoryIn(lifecycle.Running), nothing, at(60), want{do: acts(confirm(1)), check: rereadDelay}},
		{"running: the driver is gone", hold, memoryIn(lifecycle.Running), confirmed, at(60),
			want{trail: phases(lifecycle.Suspending, lifecycle.Suspended), reason: lifecycle.ReasonSuspended}},
		{"running: the attempt is deleted", hold, memoryIn(lifecycle.Running), afterLiveRead(driver(lifecycle.DriverRunning, readyAt(7))), at(60),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonSuspended}},
		{"launched, and the driver has not started", hold, memoryIn(lifecycle.Launched), afterLiveRead(driver(lifecycle.DriverPending)), at(6),
			want{trail: phases(lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonSuspended}},
		{"the driver has failed, and the next attempt is held", rerun, memoryIn(lifecycle.Running), driver(lifecycle.DriverFailed), at(51),
			want{trail: phases(lifecycle.Ended, lifecycle.Waiting), outcome: lifecycle.Failed, reason: lifecycle.ReasonDriverFailed, check: 29 * second}},
		{"suspending: no objects are left", hold, memoryIn(lifecycle.Suspending), confirmed, at(60),
			want{trail: phases(lifecycle.Suspended), reason: lifecycle.ReasonSuspended}},
		{"resumed", resumed, memoryIn(lifecycle.Suspended), confirmed, at(60),
			want{trail: phases(lifecycle.Resuming, lifecycle.Launched), do: acts(create(2)), check: time.Minute, attempt: 2}},
		{"suspended again before the next launch", hold, memoryIn(lifecycle.Resuming), confirmed, at(60), want{}},
		{"a launch that was not stored is stored before the suspension", hold, lifecycle.Memory{}, afterLiveRead(driver(lifecycle.DriverRunning)), at(60),
			want{trail: phases(lifecycle.Launched, lifecycle.Suspending), do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonSuspended}},
	})

	rejected := memoryIn(lifecycle.Suspended, func(m *lifecycle.Memory) { m.Restarts = lifecycle.Restarts{Total: 3, Failures: 2, Rejections: 1} })
	if got := Step(family(restarts(lifecycle.Always, 9)), rejected, confirmed, at(60)).Next.Restarts; got != (lifecycle.Restarts{Total: 3, Failures: 2}) {
		t.Errorf("a resume leaves the counts %+v", got)
	}
}
