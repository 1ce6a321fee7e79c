// Package connect is the state machine of a Spark Connect server: Step, a pure function from what is wanted, remembered and seen to a plan.
//
// A server is a Spark driver that is never done. So its life is that of an application (lifecycle/application), with its attempts, its numbers
// and the rules that keep drivers from being doubled or lost, under a rule of its own: whatever ends it, another is made, after an interval that grows
// while they fail. Nothing but a spec that cannot be used ends it for good, until it is edited.
//
// Transitions lists every edge, Waits what each phase waits for.
package connect

import (
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// How long it takes from the end of a server to the next.
const (
	// FirstInterval is that after the first server that ended, or the first that was refused. Each time it is twice as long as before.
	FirstInterval = 10 * time.Second
	// MaxInterval is the longest.
	MaxInterval = 5 * time.Minute
	// Settled is for how long a server must have been Ready without a break so that the next interval is the first again.
	Settled = 10 * time.Minute
)

// restart is the rule of every server. A refusal by the API server is no end either: nobody edits a spec when a quota is raised.
var restart = lifecycle.Restart{
	Policy: lifecycle.Always, FailureInterval: FirstInterval, SubmissionInterval: FirstInterval, Factor: 2, Max: MaxInterval, Settled: Settled,
}

// Step decides what follows, as application.Step does. Of app it reads what a server can have: UID, SpecHash, Deleting, Orphan, Suspend, Invalid,
// MinExecutors and MissingGrace. The server's pod is the driver of its attempt.
//
// A server that waits for a node, an image or room waits for as long as that takes: there is nothing that another attempt would do better.
func Step(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return application.Step(lifecycle.App{
		UID: app.UID, SpecHash: app.SpecHash, Deleting: app.Deleting, Orphan: app.Orphan, Suspend: app.Suspend, Invalid: app.Invalid,
		MinExecutors: app.MinExecutors, MissingGrace: app.MissingGrace,
		Serves: true, Restart: restart,
	}, mem, seen, now)
}
