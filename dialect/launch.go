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
		switch {
		case d == nil:
			return true
		case d.Phase == lifecycle.DriverSucceeded: // mostly the last look at an application: of many that end at once
			return app.Restart.Policy == lifecycle.Always || app.Restart.Policy == "" // a server's rule is its machine's
		}
		return d.Phase == lifecycle.DriverFailed && app.Restart.Policy != lifecycle.Never
	}
	return !m.Phase.Terminal()
}
