package lifecycle

import (
	"slices"
	"time"
)

// gateGrace is how long a scheduling gate may block a pod before the wait is reported. Topology-aware scheduling sets a
// gate on every pod that it places and removes the gate within a second.
const gateGrace = 5 * time.Second

// GateGrace returns the time until the wait for a pod's scheduling gates is reported. It returns 0 if the pod waits for
// something else.
func GateGrace(why Cause, created, now time.Time) time.Duration {
	if why.Reason != ReasonSchedulingGated {
		return 0
	}
	return min(max(gateGrace-now.Sub(created), 0), gateGrace) // the clocks of other machines may differ
}

// HasGatedExecutor reports whether an executor of an attempt waits behind scheduling gates.
func (o Observed) HasGatedExecutor(attempt int32) bool {
	return slices.ContainsFunc(o.Executors, func(e Executor) bool {
		return e.Attempt == attempt && e.Phase == DriverPending && e.Why.Reason == ReasonSchedulingGated
	})
}
