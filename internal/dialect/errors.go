package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// FieldError is a fault of one field of a custom resource. Its message says what is wrong and what to write instead.
type FieldError struct {
	Field   string // path, such as "spec.driver.memory"
	Message string
	// Incomplete is true if nothing in the spec is wrong, but a value is missing that the platform's defaults or an edit
	// may add, or a setting of the operator excludes the spec. A pass refuses the spec as it is. Admission only warns,
	// because steps of a pipeline write such specs.
	Incomplete bool
}

// Error returns the field's path and the message as one line. Characters that cannot be printed are replaced by
// escapes, because the path and the message may contain names and values of the user.
func (e *FieldError) Error() string { return bounds.Line(e.Field + ": " + e.Message) }

// Statement returns the error's text without the advice what to do. The advice is the part of the message after the
// last semicolon.
func (e *FieldError) Statement() string {
	message := e.Message
	if i := strings.LastIndex(message, "; "); i > 0 {
		message = message[:i]
	}
	return bounds.Line(e.Field + ": " + message)
}

// Incomplete reports whether all faults are about what is missing, and there is at least one.
func Incomplete(faults []*FieldError) bool {
	return len(faults) > 0 && !slices.ContainsFunc(faults, func(f *FieldError) bool { return !f.Incomplete })
}

// Unreplaced returns the faults, in which the message about a value with a placeholder names the placeholder instead of
// what the placeholder breaks.
func Unreplaced(faults []*FieldError) []*FieldError {
	for i, fault := range faults {
		for _, quoted := range quotedText.FindAllString(fault.Message, -1) {
			if open := conf.Placeholder(strings.Trim(quoted, `"`)); open != "" {
				faults[i] = &FieldError{Field: fault.Field, Message: fmt.Sprintf(conf.PlaceholderMessage, open), Incomplete: fault.Incomplete}
			}
		}
	}
	return faults
}

// quotedText matches the user's values in messages.
var quotedText = regexp.MustCompile(`"[^"]*"`)

// AsFaults converts an error of rendering to a list of faults. It returns nil if err is nil.
func AsFaults(err error) []*FieldError {
	if err == nil {
		return nil
	}

	if fault, ok := errors.AsType[*FieldError](err); ok {
		return []*FieldError{fault}
	}
	return []*FieldError{{Field: "spec", Message: err.Error()}}
}

// Invalid returns a cause whose message contains the given faults of a spec. It returns nil if there are no faults.
func Invalid(faults []*FieldError) *lifecycle.Cause {
	if len(faults) == 0 {
		return nil
	}

	var all strings.Builder
	for i, fault := range Unreplaced(faults) {
		if i > 0 {
			all.WriteString("; ")
		}

		all.WriteString(fault.Error())

		if all.Len() > lifecycle.MaxMessage { // a cause is cut to this length anyway
			break
		}
	}
	return &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: all.String()}
}
