// Package connect is the state machine of a Spark Connect server. Step is a pure function from the desired, remembered
// and observed state to a plan.
//
// A server is a Spark driver that never finishes. Its life is therefore that of an application (lifecycle/application),
// with the same attempts, numbers and rules against duplicate and lost drivers. One rule differs: whatever ends the
// server, another one is made, after an interval that grows while the servers fail. Only a spec that cannot be used
// ends it permanently, until an edit.
//
// Transitions lists every edge, Waits what each phase waits for.
package connect

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// The intervals from the end of a server to the next one.
const (
	// FirstInterval follows the first server that ended or was rejected. It doubles with each further failure.
	FirstInterval = 10 * time.Second
	// MaxInterval is the longest interval.
	MaxInterval = 5 * time.Minute
	// Settled is how long a server must have been Ready without a break until the interval is FirstInterval again.
	Settled = 10 * time.Minute
)

// restart is the rule of every server. A rejection by the API server does not end it either: raising a quota needs no
// edit of the spec.
var restart = lifecycle.Restart{
	Policy: lifecycle.Always, FailureInterval: FirstInterval, SubmissionInterval: FirstInterval, Factor: 2, Max: MaxInterval, ResetAfter: Settled,
}

// Step makes one decision, as application.Step does. It reads only the fields of app that a server can have: UID,
// SpecHash, Deleting, Orphan, Suspend, Invalid, MinExecutors and MissingGrace. The server's pod is the driver of its
// attempt.
//
// The wait for a node, an image or a quota has no time limit, because another attempt would not help.
func Step(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return application.Step(lifecycle.App{
		UID: app.UID, SpecHash: app.SpecHash, Deleting: app.Deleting, Orphan: app.Orphan, Suspend: app.Suspend, Invalid: app.Invalid,
		MinExecutors: app.MinExecutors, MissingGrace: app.MissingGrace,
		IsServer: true, Restart: restart,
	}, mem, seen, now)
}
