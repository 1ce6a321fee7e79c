package lifecycle

import (
	"errors"
	"fmt"
)

// bug is an error that only a mistake in the operator can cause.
type bug struct{ message string }

func (b *bug) Error() string { return b.message + "; this is a bug of the operator, report it" }

// Bugf returns an error that only a mistake in the operator can cause. The text asks the reader to report the error.
func Bugf(format string, args ...any) error { return &bug{fmt.Sprintf(format, args...)} }

// IsBug reports whether an error wraps an error of Bugf.
func IsBug(err error) bool {
	_, is := errors.AsType[*bug](err)
	return is
}
