package dialect

import (
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestMayLaunch checks every case in which a pass must validate the spec, because the next step may launch an attempt.
// A false result would launch an attempt from an invalid spec.
func TestMayLaunch(t *testing.T) {
	driver := func(phase lifecycle.DriverPhase) lifecycle.Observed {
		return lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, Phase: lifecycle.DriverFailed},
			{Attempt: 2, Phase: phase}}}
	}
	policy := func(p lifecycle.RestartPolicy) lifecycle.App {
		return lifecycle.App{Restart: lifecycle.Restart{Policy: p}}
	}
	running := lifecycle.Memory{Phase: lifecycle.Running, Attempt: 2, SpecHash: "1:a", RestartRequest: "r1"}

	done := lifecycle.Memory{Phase: lifecycle.Done, Attempt: 2, SpecHash: "1:a", RestartRequest: "r1"}
	for name, c := range map[string]struct {
		app    lifecycle.App
		memory lifecycle.Memory
		seen   lifecycle.Observed
		want   bool
	}{
		"new": {lifecycle.App{}, lifecycle.Memory{}, lifecycle.Observed{}, true},
		"waiting for a retry": {lifecycle.App{}, lifecycle.Memory{Phase: lifecycle.Waiting},
			lifecycle.Observed{}, true},
		"ended": {policy(lifecycle.Never), lifecycle.Memory{Phase: lifecycle.Ended},
			lifecycle.Observed{}, true},
		"suspended, and to be resumed": {lifecycle.App{}, lifecycle.Memory{Phase: lifecycle.Suspended},
			lifecycle.Observed{}, true},
		"a later phase": {lifecycle.App{}, lifecycle.Memory{Phase: "APhaseOfLater"},
			lifecycle.Observed{}, true},
		"done": {policy(lifecycle.Always), done, lifecycle.Observed{}, false},
		"retained": {policy(lifecycle.Always),
			lifecycle.Memory{Phase: lifecycle.Retained}, lifecycle.Observed{}, false},
		"done and edited":                      {lifecycle.App{SpecHash: "1:b"}, done, lifecycle.Observed{}, true},
		"done, with a hash of another version": {lifecycle.App{SpecHash: "2:b"}, done, lifecycle.Observed{}, false},
		"done and to be restarted": {lifecycle.App{RestartRequest: "r2"}, done,
			lifecycle.Observed{}, true},
		"done, and the request was carried out": {lifecycle.App{RestartRequest: "r1"}, done, lifecycle.Observed{},
			false},
		"running and edited": {lifecycle.App{SpecHash: "1:b"}, running,
			driver(lifecycle.DriverRunning), true},
		"running and to be restarted": {lifecycle.App{RestartRequest: "r2"}, running,
			driver(lifecycle.DriverRunning), true},
		"being deleted, edited and to be run": {lifecycle.App{Deleting: true, SpecHash: "1:b",
			RestartRequest: "r2"}, done, lifecycle.Observed{}, false},
		"to be suspended, edited and to be run": {lifecycle.App{Suspend: true, SpecHash: "1:b",
			RestartRequest: "r2"}, lifecycle.Memory{}, lifecycle.Observed{}, false},
		"running": {policy(lifecycle.Always), running, driver(lifecycle.DriverRunning),
			false},
		"the driver pends": {policy(lifecycle.Always), running, driver(lifecycle.DriverPending),
			false},
		"the node of the driver is lost": {policy(lifecycle.Always), running, driver(lifecycle.DriverUnknown),
			false},
		"the driver is missing": {policy(lifecycle.Never), running, lifecycle.Observed{}, true},
		"only the driver before is there": {policy(lifecycle.Never), running,
			lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1}}}, true},
		"the driver succeeded, always": {policy(lifecycle.Always), running,
			driver(lifecycle.DriverSucceeded), true},
		"the driver succeeded, on failure": {policy(lifecycle.OnFailure), running,
			driver(lifecycle.DriverSucceeded), false},
		"the driver succeeded, on infrastructure": {policy(lifecycle.OnInfrastructureFailure), running,
			driver(lifecycle.DriverSucceeded), false},
		"the driver succeeded, never": {policy(lifecycle.Never), running,
			driver(lifecycle.DriverSucceeded), false},
		"a server ended, whose policy is its own": {policy(""), running, driver(lifecycle.DriverSucceeded), true},
		"the driver failed, never": {policy(lifecycle.Never), running, driver(lifecycle.DriverFailed),
			false},
		"the driver failed, on failure": {policy(lifecycle.OnFailure), running,
			driver(lifecycle.DriverFailed), true},
		"the driver failed, on infrastructure": {policy(lifecycle.OnInfrastructureFailure), running,
			driver(lifecycle.DriverFailed), true},
		"the server failed, whose policy is empty": {policy(""), running, driver(lifecycle.DriverFailed), true},
	} {
		if got := MayLaunch(c.app, c.memory, c.seen); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
