// Package patterns builds texts that match regular expressions, and caches whether long texts match. Thousands of
// fields of the definitions share a few patterns, and tests match each of them against texts of a megabyte.
package patterns

import (
	"hash/maphash"
	"regexp"
	"sync"
)

// answer is the key of a cached match: a pattern, and the length and hash of a long text.
type answer struct {
	pattern string
	length  int
	hash    uint64
}

// short is the length in bytes up to which a match is not cached.
const short = 256

var (
	answers  sync.Map // answer to bool
	seed     = maphash.MakeSeed()
	compiled sync.Map // pattern to *regexp.Regexp
)

// Matches reports whether a pattern matches a text. It panics if the pattern does not compile.
func Matches(pattern, text string) bool {
	re := compile(pattern)
	if len(text) <= short {
		return re.MatchString(text)
	}
	key := answer{pattern, len(text), maphash.String(seed, text)}
	if known, found := answers.Load(key); found {
		return known.(bool)
	}
	matched := re.MatchString(text)
	answers.Store(key, matched)
	return matched
}

func compile(pattern string) *regexp.Regexp {
	if known, found := compiled.Load(pattern); found {
		return known.(*regexp.Regexp)
	}
	re := regexp.MustCompile(pattern)
	compiled.Store(pattern, re)
	return re
}
