package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// OutOfBounds is the fault of a custom resource whose spec could not be read (the field OutOfBounds of the kinds, by the package bounds); none for "". It
// stands alone: nothing else of an empty spec says anything.
func OutOfBounds(text string) []*FieldError {
	if text == "" {
		return nil
	}
	field, message, _ := strings.Cut(text, ": ")
	return []*FieldError{{Field: field, Message: message}}
}

// Unread is an application whose spec could not be read, in place of one of an empty spec. Hash is of the empty spec, in any form that Hash functions of
// specs return; fault is the field OutOfBounds. Edited says that the spec was edited since the status was written.
//
// An attempt that runs goes on if nobody edited the spec since: the limits are newer than the application. It has no deadlines and no restarts then, because
// they are not known. Each fault counts as a spec of its own, so that an edit is noticed, and told anew.
func Unread(app lifecycle.App, fault string, edited bool, m lifecycle.Memory) lifecycle.App {
	app.Restart = lifecycle.Restart{Policy: lifecycle.Never}
	app.Limits = lifecycle.Deadlines{Run: app.Limits.Run}
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
