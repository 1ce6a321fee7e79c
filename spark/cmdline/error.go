package cmdline

import (
	"errors"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// onlyByJVM records an error for a file that only spark-submit's own file system clients could read. Parse then
// continues, because an error that spark-submit would also return takes precedence. If Parse finds no such error, it
// returns the first error that onlyByJVM recorded.
func (p *parser) onlyByJVM(err error) {
	if wrong, ok := errors.AsType[*submit.Error](err); ok && p.notNative == nil {
		wrong.NotNative = true
		p.notNative = wrong
	}
}
