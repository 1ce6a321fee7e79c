package submit

import (
	"errors"
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Error is a request that Build refuses. Exactly one of Key and Field is set.
type Error struct {
	// Key is a Spark configuration key, such as spark.driver.memory.
	Key string
	// Field is a field of Request, such as MainClass or Driver.Volumes.
	Field string
	// Message says what is wrong and what to do about it.
	Message string
	// NotNative tells that the fault is not the application's: what it asks for needs a JVM, a file system's client or a file of the image, which
	// Build does not have, and the real spark-submit, run in the application's own image, could do it. It is false for what could never work and
	// for what the submitter may not say. Everything else about the request has passed Build's checks then.
	NotNative bool
}

// Error names the key or field first.
func (e *Error) Error() string {
	if e.Key != "" {
		return e.Key + ": " + e.Message
	}
	return e.Field + ": " + e.Message
}

func keyError(key, format string, args ...any) error {
	return &Error{Key: key, Message: fmt.Sprintf(format, args...)}
}

func fieldError(field, format string, args ...any) error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}

// onlyByJVM notes a refusal that spark-submit would not give. Build goes on, so that what could never work is found too, and wins; the first of
// those noted is what it returns in the end.
func (d *draft) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*Error](err); ok && d.notNative == nil {
		wrong.NotNative = true
		d.notNative = wrong
	}
}

// asError makes a typed read's error one of ours.
func asError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}
