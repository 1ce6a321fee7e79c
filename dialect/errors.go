package dialect

import (
	"strings"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// FieldError says which field of a custom resource cannot be used, why, and what to write instead.
type FieldError struct {
	Field   string // path, such as "spec.driver.memory"
	Message string
}

// Error is the path and the message.
func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

// Statement is the error without what to do about it, which is what follows the last semicolon of a message that has one.
func (e *FieldError) Statement() string {
	said := e.Error()
	if i := strings.LastIndex(said, "; "); i > 0 {
		return said[:i]
	}
	return said
}

// Invalid is why a spec with faults cannot be used; nil where there are none.
func Invalid(faults []*FieldError) *lifecycle.Cause {
	if len(faults) == 0 {
		return nil
	}
	var all strings.Builder
	for i, fault := range faults {
		if i > 0 {
			all.WriteString("; ")
		}
		all.WriteString(fault.Error())
		if all.Len() > lifecycle.MaxMessage { // more is never kept
			break
		}
	}
	return &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: all.String()}
}
