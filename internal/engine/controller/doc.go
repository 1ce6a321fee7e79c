// Package controller turns decisions into API calls. It contains the operator's only reconciler. Every pass has the
// same steps: observe, decide, apply (which renders the objects to create), auxiliary, record, report.
//
// A kind (contract.Kind) contains what is special about one type of custom resource. Each step returns its result. This
// package combines the results into one status write at the end, the events after that write, and the time of the next
// pass.
package controller

import "time"

// Clock returns the current time. Decisions do not call it; they get the time as an argument.
type Clock func() time.Time
