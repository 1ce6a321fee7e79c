package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// OutOfBounds returns the faults of a custom resource whose spec could not be decoded. The argument text is the custom
// resource's field OutOfBounds, which UnmarshalJSON sets. If text is "", the spec was decoded, and the result is nil.
// Callers report no other faults together with this one, because a spec that could not be decoded is empty.
func OutOfBounds(text string) []*FieldError {
	if text == "" {
		return nil
	}

	var faults []*FieldError
	for line := range strings.SplitSeq(text, "\n") {
		field, message, _ := strings.Cut(line, ": ")
		faults = append(faults, &FieldError{Field: field, Message: message})
	}
	return faults
}

// UnreadableSpec returns the desired state that follows from a custom resource whose spec could not be decoded, because
// the spec exceeds a limit. The argument app is the desired state that results from an empty spec. The argument fault
// is the custom resource's field OutOfBounds. The argument edited is true if the spec was edited after the last status
// write.
//
// If nobody edited the spec, a running attempt continues, because its spec may have been valid before a new version of
// the operator introduced the limit. The attempt is not restarted. The spec's own deadlines are unknown, so the only
// deadline is that of the whole run from the operator's configuration. After an edit, the hash of the fault takes the
// place of the hash of the spec, so that the operator notices and reports the edit.
func UnreadableSpec(app lifecycle.App, fault string, edited bool, m lifecycle.Memory) lifecycle.App {
	app.Restart = lifecycle.Restart{Policy: lifecycle.Never}
	app.Deadlines = lifecycle.Deadlines{Run: app.Deadlines.Run}
	app.InitialExecutors, app.MinExecutors = 0, 0

	app.RestartRequest = "" // no attempt can be launched now; the request is carried out when the spec can be decoded
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
