package dialect

import "github.com/sparkoperator/spark-operator/lifecycle"

// MayLaunch reports whether a step could launch an attempt or decide that another follows: only then it matters whether the spec can be
// used, and a running application's events need not ask.
func MayLaunch(app lifecycle.App, m lifecycle.Memory, seen lifecycle.Observed) bool {
	switch {
	case app.Deleting || app.Suspend:
		return false
	case lifecycle.Edited(m.SpecHash, app.SpecHash):
		return true
	case m.Phase.Live():
		d := seen.Driver(m.Attempt)
		return d == nil || d.Phase == lifecycle.DriverSucceeded || d.Phase == lifecycle.DriverFailed
	}
	return !m.Phase.Terminal()
}
