package conf

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The limits of a user's pattern. The time of a match is proportional to the length of the text and to the number of
// instructions to which the pattern is compiled.
const (
	maxPattern     = 4 << 10
	maxSteps       = 2000    // instructions, each of which takes memory; the default pattern has about 60
	maxPatternWork = 8 << 20 // about 100 ms; enough for the default pattern over 100 KB of configuration
)

// boundedPattern compiles a pattern that will be matched against all keys and values of c. It returns an error if
// compiling or matching the pattern would take too long.
func boundedPattern(text string, c *Conf) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it is %d bytes long; the limit is %d", len(text), maxPattern)
	}

	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}

	if steps(parsed) > maxSteps {
		return nil, fmt.Errorf("it is compiled to more than %d instructions; use fewer repetitions", maxSteps)
	}

	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}

	size := 0
	for key, value := range c.All() {
		size += len(key) + len(value)
	}

	if len(program.Inst)*size > maxPatternWork {
		return nil, fmt.Errorf("its %d compiled instructions are too many for %d bytes of configuration; shorten the pattern or the configuration", len(program.Inst), size)
	}
	return regexp.Compile(text)
}

// steps estimates how many instructions the compiled program of an expression has. It stops counting soon after the
// estimate exceeds maxSteps.
func steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}

	for _, sub := range re.Sub {
		if n += steps(sub); n > maxSteps {
			return maxSteps + 1
		}
	}

	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxSteps+1)
}
