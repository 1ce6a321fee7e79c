package submit

import (
	"errors"
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Error is the reason why native.Build rejects a request. Packages spark/cmdline and spark/connect return it as well.
// Exactly one of Key and Field is set.
type Error struct {
	// Key is a Spark configuration key, such as spark.driver.memory.
	Key string
	// Field is a field of Request, such as MainClass or Driver.Volumes.
	Field string
	// Message says what is wrong and what to do about it.
	Message string
	// NotNative is true if the real spark-submit, run in the application's own image, could submit the application: the
	// submission needs a JVM, a file system's client or a file of the image, which native.Build does not have. In this
	// case all other checks of native.Build passed. NotNative is false for requests that could never work and for keys
	// that users must not set.
	NotNative bool
	// Missing is true if the request lacks a value that the platform's defaults or a later edit may add.
	Missing bool
}

// Error returns the key or field, then the message.
func (e *Error) Error() string {
	if e.Key != "" {
		return e.Key + ": " + e.Message
	}
	return e.Field + ": " + e.Message
}

// KeyErrorf returns an *Error about a Spark configuration key. The message is formatted as by fmt.Sprintf.
func KeyErrorf(key, format string, args ...any) error {
	return &Error{Key: key, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf returns an *Error about a field of a request. The message is formatted as by fmt.Sprintf.
func FieldErrorf(field, format string, args ...any) error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Missing marks an *Error as one about a missing value.
func Missing(err error) error {
	if wrong, ok := errors.AsType[*Error](err); ok {
		wrong.Missing = true
	}
	return err
}

// AsError converts a *conf.Error, which methods of conf.Conf return for a value that they cannot parse, into an *Error.
// It returns every other error unchanged.
func AsError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}
