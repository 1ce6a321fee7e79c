package standalone

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// A pattern of some hundred bytes took 64 MB: its repetitions are written out in memory.
func TestPatternWithManyRepetitionsIsNotCompiled(t *testing.T) {
	for pattern, fits := range map[string]bool{
		"(?i)secret|password|token|access[.]?key|credential": true, "(?i)mine": true, "[a-z]{1,40}_key": true,
		strings.Repeat(`\pL{1,1000}`, 40): false, `\pL{1000}\pN{1000}`: false, "((a{1,9}){1,9}){1,40}": false,
	} {
		if _, err := boundedPattern(pattern, &conf.Conf{}); (err == nil) != fits {
			t.Errorf("%.60s: %v", pattern, err)
		}
	}
}
