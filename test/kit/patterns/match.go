// Package patterns builds texts that match regular expressions. It also caches whether a long text matches: tests match
// texts of a megabyte against the patterns of thousands of fields, and these fields share a few patterns.
package patterns

import (
	"hash/maphash"
	"regexp"
	"sync"
)

// answer is the key under which the result of a match is cached. It contains the pattern, and the length and hash of
// the text.
type answer struct {
	pattern string
	length  int
	hash    uint64
}

// short is the length of a text, in bytes, up to which the result of a match is not cached.
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
