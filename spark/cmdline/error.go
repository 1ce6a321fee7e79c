package cmdline

import (
	"errors"
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

func keyError(key, format string, args ...any) error {
	return &submit.Error{Key: key, Message: fmt.Sprintf(format, args...)}
}

func fieldError(field, format string, args ...any) error {
	return &submit.Error{Field: field, Message: fmt.Sprintf(format, args...)}
}

// asError converts an error of a typed read into a *submit.Error.
func asError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &submit.Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}

// onlyByJVM records an error that spark-submit's own clients would not return. Parse continues, since an error that
// spark-submit returns too takes precedence. Without such an error Parse returns the first recorded one.
func (p *parser) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*submit.Error](err); ok && p.notNative == nil {
		wrong.NotNative = true
		p.notNative = wrong
	}
}
