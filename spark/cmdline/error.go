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

// asError makes the error of a typed read a *submit.Error.
func asError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &submit.Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}

// onlyByJVM notes an error that spark-submit's own clients would not give. Parse goes on, so that an error that spark-submit would give as well
// is found, and wins. Otherwise Parse returns the first of the noted ones.
func (p *parser) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*submit.Error](err); ok && p.notNative == nil {
		wrong.NotNative = true
		p.notNative = wrong
	}
}
