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

// asError converts a *conf.Error, which methods of conf.Conf return for a value that they cannot parse, into a
// *submit.Error. It returns every other error unchanged.
func asError(err error) error {
	if wrong, ok := errors.AsType[*conf.Error](err); ok {
		return &submit.Error{Key: wrong.Key, Message: wrong.Err.Error()}
	}
	return err
}

// onlyByJVM records an error for a file that only spark-submit's own file system clients could read. Parse then
// continues, because an error that spark-submit would also return takes precedence. If Parse finds no such error, it
// returns the first error that onlyByJVM recorded.
func (p *parser) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*submit.Error](err); ok && p.notNative == nil {
		wrong.NotNative = true
		p.notNative = wrong
	}
}
