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

// asError makes a typed read's error one of ours.
func asError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}
