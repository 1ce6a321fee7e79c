package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// OutOfBounds returns the fault of a custom resource whose spec could not be read; nil if text is "". The argument text
// is the value of the custom resource's field OutOfBounds, which the package bounds sets. If there is such a fault, no
// other fault is reported, because a spec that could not be read is empty.
func OutOfBounds(text string) []*FieldError {
	if text == "" {
		return nil
	}
	field, message, _ := strings.Cut(text, ": ")
	return []*FieldError{{Field: field, Message: message}}
}

// UnreadableSpec returns the desired state for a decision about a custom resource whose spec could not be read. The
// argument app was read from the empty spec, fault is the field OutOfBounds of the custom resource, and edited reports
// whether the spec was edited after the status was written.
//
// A running attempt continues if nobody edited the spec, because the limits may be newer than the application. The
// restarts and deadlines in the spec are unknown, so the desired state has no restarts and only the deadline of the
// whole run from the operator's configuration. The hash of the spec depends on the fault, so that an edit is noticed
// and reported.
func UnreadableSpec(app lifecycle.App, fault string, edited bool, m lifecycle.Memory) lifecycle.App {
	app.Restart = lifecycle.Restart{Policy: lifecycle.Never}
	app.Deadlines = lifecycle.Deadlines{Run: app.Deadlines.Run}
	app.InitialExecutors, app.MinExecutors = 0, 0
	app.RestartRequest = "" // nothing could be launched; the request is carried out when the spec can be read
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
