// Package exit is how sparkctl fails: exit codes, errors with an exit code, explanations of rejected requests with the
// way out, and the names that are similar to a misspelt one.
package exit

import (
	"context"
	"errors"
	"fmt"
)

// Code is the exit code of a process.
type Code int

// These are the exit codes. Scripts may rely on them.
const (
	OK          Code = 0
	Failed      Code = 1 // the application failed
	Usage       Code = 2
	Invalid     Code = 3 // an input is invalid
	Cluster     Code = 4 // the cluster cannot be reached, or rejects the request
	TimedOut    Code = 5 // a wait took longer than its --timeout
	Interrupted Code = 130
)

// Codes describes the exit codes for the documentation, in ascending order.
var Codes = []struct {
	Code Code
	Text string
}{
	{OK, "succeeded"},
	{Failed, "the application failed"},
	{Usage, "wrong usage: an unknown verb, flag or argument"},
	{Invalid, "invalid input: a manifest, a command line of spark-submit or a configuration file"},
	{Cluster, "a problem of the cluster: not reachable, a missing right, a missing CustomResourceDefinition, an unknown object, a rejected request"},
	{TimedOut, "a wait took longer than its --timeout; the application continues"},
	{Interrupted, "interrupted by Ctrl-C; the application continues"},
}

// Error is an error with an exit code for the process. Err may be nil if the message was already printed.
type Error struct {
	Code Code
	Err  error
}

// Error returns the message.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the error without its exit code.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error with an exit code. The other arguments are those of fmt.Errorf.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Usagef returns an error about a wrong command line, with the exit code Usage.
func Usagef(format string, args ...any) error { return Errorf(Usage, format, args...) }

// Detached returns the error of a verb that the user interrupted while the object continues. The message must say how
// to watch the object again.
func Detached(format string, args ...any) error { return Errorf(Interrupted, format, args...) }

// With adds an exit code to an error. An error that already has an exit code is returned unchanged. If the error is
// nil, With returns nil.
func With(code Code, err error) error {
	if _, has := errors.AsType[*Error](err); has || err == nil {
		return err
	}
	return &Error{Code: code, Err: err}
}

// CodeOf returns the exit code of an error. A canceled context means that the user interrupted the process. An error
// without an exit code comes from the parser of the command line, so its code is Usage.
func CodeOf(err error) Code {
	coded, has := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return OK
	case errors.Is(err, context.Canceled):
		return Interrupted
	case has:
		return coded.Code
	}
	return Usage
}
