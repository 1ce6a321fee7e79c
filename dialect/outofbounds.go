package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// OutOfBounds returns the fault of a custom resource whose spec could not be read (field OutOfBounds of the kinds, set
// by the package bounds); nil for "". No other fault is reported with it, since the spec is empty then.
func OutOfBounds(text string) []*FieldError {
	if text == "" {
		return nil
	}
	field, message, _ := strings.Cut(text, ": ")
	return []*FieldError{{Field: field, Message: message}}
}

// UnreadableSpec returns the application to decide about if its spec could not be read. App was read from the empty
// spec; fault is the field OutOfBounds; edited reports whether the spec was edited since the status was written.
//
// A running attempt continues if nobody edited the spec: the limits may be newer than the application. It has no
// deadlines and no restarts, because they are unknown. The hash depends on the fault, so that an edit is noticed and
// reported.
func UnreadableSpec(app lifecycle.App, fault string, edited bool, m lifecycle.Memory) lifecycle.App {
	app.Restart = lifecycle.Restart{Policy: lifecycle.Never}
	app.Deadlines = lifecycle.Deadlines{Run: app.Deadlines.Run}
	app.InitialExecutors, app.MinExecutors = 0, 0
	switch version, _, ok := strings.Cut(app.SpecHash, ":"); {
	case !ok:
	case m.Phase.Live() && !edited:
		app.SpecHash = m.SpecHash
	default:
		app.SpecHash = version + ":" + digest(fault)
	}
	return app
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}
