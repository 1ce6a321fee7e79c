package dialect

import "github.com/sparkoperator/spark-operator/internal/lifecycle"

// MayLaunch reports whether the next step of the state machine could launch or schedule an attempt. The validity of the
// spec matters only in this case, so passes over a running application skip the validation.
func MayLaunch(app lifecycle.App, m lifecycle.Memory, seen lifecycle.Observed) bool {
	switch {
	case app.Deleting || app.Suspend || app.Hold != nil:
		return false
	case lifecycle.Edited(m.SpecHash, app.SpecHash), lifecycle.RestartRequested(m.RestartRequest, app.RestartRequest):
		return true
	case m.Phase.Live():
		d := seen.Driver(m.Attempt)
		switch {
		case d == nil:
			return true
		case d.Phase == lifecycle.DriverSucceeded:
			// Skips the validation in the pass after the end, because many applications may end at once.
			// The policy of a server is empty, because its state machine decides.
			return app.Restart.Policy == lifecycle.Always || app.Restart.Policy == ""
		}
		return d.Phase == lifecycle.DriverFailed && app.Restart.Policy != lifecycle.Never
	}
	return !m.Phase.Terminal()
}
