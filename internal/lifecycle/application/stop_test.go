package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestStopsCleanly checks that a running driver is deleted before the other objects of its attempt. The other objects
// are deleted when the driver has ended, no longer exists, or is on a dead node.
func TestStopsCleanly(t *testing.T) {
	whole := func(o lifecycle.Observed) lifecycle.Observed {
		o = withExecutors(o, lifecycle.DriverRunning)
		o.RemainingAttempts, o.Budgets = []int32{1}, []int32{1}
		return o
	}
	driverIs := func(phase lifecycle.DriverPhase, change ...func(*lifecycle.Driver)) lifecycle.Observed {
		return whole(driver(phase, change...))
	}
	submitter := whole(lifecycle.Observed{Submitters: []lifecycle.Submitter{{Name: "s", Attempt: 1,
		Phase: lifecycle.DriverRunning}}})
	submitted := whole(lifecycle.Observed{Submitters: []lifecycle.Submitter{{Name: "s", Attempt: 1,
		Phase: lifecycle.DriverSucceeded}}})
	memory := memoryIn(lifecycle.Suspending)
	going := func(do lifecycle.Action, check int) want {
		return want{do: acts(do), check: time.Duration(check) * second}
	}
	run(t, []row{
		{"a running driver", appWith(suspended), memory, driverIs(lifecycle.DriverRunning), at(60), going(stop(1), 15)},
		{"a pending driver", appWith(suspended), memory, driverIs(lifecycle.DriverPending), at(60), going(stop(1), 15)},
		{"a driver in its grace period", appWith(suspended), memory, driverIs(lifecycle.DriverRunning, dueToGo(80)),
			at(60), going(stop(1), 15)},
		{"a driver shortly after its grace period", appWith(suspended), memory,
			driverIs(lifecycle.DriverRunning, dueToGo(40)), at(60), going(stop(1), 10)},
		{"a driver whose deletion is overdue", appWith(suspended), memory,
			driverIs(lifecycle.DriverRunning, dueToGo(20)), at(60),
			want{do: acts(remove(1)), check: repeatDelay, reason: lifecycle.ReasonDriverDeleting}},
		{"a driver on a lost node", appWith(suspended), memory, driverIs(lifecycle.DriverUnknown), at(60),
			want{do: acts(stop(1)), check: repeatDelay, reason: lifecycle.ReasonNodeLost}},
		{"a driver on a lost node, and its deletion is overdue", appWith(suspended), memory,
			driverIs(lifecycle.DriverUnknown, dueToGo(20)), at(60),
			want{do: acts(remove(1)), check: repeatDelay, reason: lifecycle.ReasonNodeLost}},
		{"an ended driver", appWith(suspended), memory, driverIs(lifecycle.DriverFailed, dueToGo(80)), at(60),
			going(remove(1), 15)},
		{"no driver", appWith(suspended), memory, whole(nothing), at(60), going(remove(1), 15)},
		{"a submitter that may create a driver", appWith(suspended), memory, submitter, at(60), going(stop(1), 15)},
		{"a submitter that has ended", appWith(suspended), memory, submitted, at(60), going(remove(1), 15)},
		{"after an edit", appWith(edited), memoryIn(lifecycle.Running), driverIs(lifecycle.DriverRunning, readyAt(7)),
			at(60),
			want{trail: phases(lifecycle.Editing), do: acts(stop(1)), check: repeatDelay,
				reason: lifecycle.ReasonEdited}},
		{"after a deadline", appWith(), memoryIn(lifecycle.Ended, outcome(lifecycle.RunTimedOut, "r", 40)),
			driverIs(lifecycle.DriverRunning), at(60),
			want{do: acts(stop(1)), check: repeatDelay, outcome: lifecycle.RunTimedOut, reason: "r"}},
		{"the application is deleted", appWith(func(a *lifecycle.App) { a.Deleting = true }),
			memoryIn(lifecycle.Running), driverIs(lifecycle.DriverRunning), at(60), going(remove(1), 15)},
	})
}
