// Package connect is the state machine of a Spark Connect server. Step is a pure function from the desired, remembered
// and observed state to a plan.
//
// A server is a Spark driver that never finishes. Its life cycle is therefore that of an application
// (internal/lifecycle/application), with the same attempts, attempt numbers and rules against duplicate and lost
// drivers. There is one difference: however the server ends, the operator creates another server. The interval before
// it grows while the servers fail. Only an invalid spec prevents further servers, until an edit.
//
// Transitions lists every possible change of phase, and Waits lists what each phase waits for.
package connect

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
)

// These are the intervals from the end of a server to the creation of the next server.
const (
	// FirstInterval is the interval after the first server that ended or was rejected. The interval doubles with each
	// further failure.
	FirstInterval = 10 * time.Second
	// MaxInterval is the maximum interval.
	MaxInterval = 5 * time.Minute
	// Settled is how long a server must have been Ready without interruption until the interval is FirstInterval again.
	Settled = 10 * time.Minute
)

// restart is the restart rule of every server. A server is also created again after a rejection by the API server,
// because a quota can be raised without an edit of the spec.
var restart = lifecycle.Restart{
	Policy: lifecycle.Always, FailureInterval: FirstInterval, SubmissionInterval: FirstInterval, Factor: 2, Max: MaxInterval, ResetAfter: Settled,
}

// Step makes one decision about a server. It calls application.Step, for which the server's pod is the driver of an
// attempt. Step reads only the fields of app that apply to a server: UID, SpecHash, RestartRequest, Deleting, Orphan,
// Suspend, Invalid, MinExecutors and MissingGrace.
//
// A server may wait for a node, an image or a quota without a time limit, because another attempt would not help.
func Step(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return application.Step(lifecycle.App{
		UID: app.UID, SpecHash: app.SpecHash, RestartRequest: app.RestartRequest, Deleting: app.Deleting, Orphan: app.Orphan, Suspend: app.Suspend, Invalid: app.Invalid,
		MinExecutors: app.MinExecutors, MissingGrace: app.MissingGrace,
		IsServer: true, Restart: restart,
	}, mem, seen, now)
}
