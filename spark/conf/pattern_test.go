package conf

import (
	"strings"
	"testing"
)

// TestPatternWithManyRepetitionsIsNotCompiled checks that a pattern with many repetitions is rejected before it is
// compiled. The compiler expands the repetitions, so the compiled form of a pattern of a few hundred bytes can take 64
// MB.
func TestPatternWithManyRepetitionsIsNotCompiled(t *testing.T) {
	for pattern, fits := range map[string]bool{
		"(?i)secret|password|token|access[.]?key|credential": true, "(?i)mine": true, "[a-z]{1,40}_key": true,
		strings.Repeat(`\pL{1,1000}`, 40): false, `\pL{1000}\pN{1000}`: false, "((a{1,9}){1,9}){1,40}": false,
	} {
		if _, err := boundedPattern(pattern, &Conf{}); (err == nil) != fits {
			t.Errorf("%.60s: %v", pattern, err)
		}
	}
}

// TestTooExpensivePatternMakesEverythingSecret checks that everything looks secret if the configuration's own pattern
// is too expensive, and that the error gives the reason.
func TestTooExpensivePatternMakesEverythingSecret(t *testing.T) {
	pattern := strings.Repeat("(a?){30}", 6)
	for size, fits := range map[int]bool{1 << 10: true, 1 << 20: false} {
		c := pairs(RedactionKey, pattern, "spark.x", strings.Repeat("b", size))

		looks, err := Secrets(c)
		if (err == nil) != fits || looks("spark.password", "p") != true {
			t.Errorf("%d bytes of configuration: %v", size, err)
		}

		if err != nil && (!strings.Contains(err.Error(), "instructions") || !looks("spark.y", "z")) {
			t.Errorf("%d bytes of configuration: %v", size, err)
		}
	}
}
