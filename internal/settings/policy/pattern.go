package policy

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// regexpPrefix begins a pattern that is a regular expression.
const regexpPrefix = "regexp:"

// maxListed is the number of patterns that a message lists.
const maxListed = 5

// These are the characters for which * and ? stand in patterns. In a pattern of images or of the addresses of
// repositories, a star that stood for a slash too would let registry.example.com/* allow the images of every team, and
// https://*.example.com/maven an address on another host.
const (
	anyCharacter   = `.`
	inImageSegment = `[^/]`
	inURLSegment   = `[^/?#@\\]`
)

// pattern is a compiled pattern, with the text that the administrator wrote.
type pattern struct {
	text string
	re   *regexp.Regexp
}

// compilePattern compiles a pattern in which * and ? stand for the given characters. It matches whole values only.
func compilePattern(text, wildcard string) (pattern, error) {
	if strings.TrimSpace(text) == "" {
		return pattern{}, errors.New("is empty; write a pattern, such as *")
	}

	expression, isRegexp := strings.CutPrefix(text, regexpPrefix)
	if !isRegexp {
		expression = strings.NewReplacer(`\*\*`, `.*`, `\*`, wildcard+`*`, `\?`, wildcard).Replace(regexp.QuoteMeta(text))
	}

	re, err := regexp.Compile(`(?s)\A(?:` + expression + `)\z`)
	return pattern{text, re}, err
}

// patterns is a list of compiled patterns. A nil pointer to a list means that the list is not configured.
type patterns []pattern

// matches reports whether a pattern of the list matches a value. The arguments are all spellings of the same value, and
// one match is enough.
func (p patterns) matches(spellings ...string) bool {
	return slices.ContainsFunc(p, func(one pattern) bool { return slices.ContainsFunc(spellings, one.re.MatchString) })
}

// String returns the texts of the patterns, separated by commas. It lists at most maxListed of them.
func (p patterns) String() string {
	texts := make([]string, 0, maxListed+1)
	for i := range p {
		if i == maxListed {
			texts = append(texts, "and others")
			break
		}

		texts = append(texts, p[i].text)
	}
	return strings.Join(texts, ", ")
}

// canonicalImage returns the full name of an image, with the registry and path that container runtimes add to short
// names.
func canonicalImage(image string) string {
	first, rest, found := strings.Cut(image, "/")
	switch {
	case !found:
		return "docker.io/library/" + image
	case first == "index.docker.io":
		return "docker.io/" + rest
	case strings.ContainsAny(first, ".:") || first == "localhost" || strings.ToLower(first) != first:
		return image
	}
	return "docker.io/" + image
}
