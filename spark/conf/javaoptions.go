package conf

import (
	"strings"
	"unicode"
)

// SplitJavaOptions splits text into words much as a shell would (CommandBuilderUtils.parseOptionString). Blanks
// separate words, quotation marks keep them together, and a backslash escapes the next character except inside single
// quotes. The result ok is false if text ends inside quotation marks or after a backslash.
func SplitJavaOptions(text string) (words []string, ok bool) {
	var word strings.Builder
	var open rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && open != '\'':
			escaped, begun = true, true
		case open != 0 && r == open:
			open = 0
		case open == 0 && (r == '"' || r == '\''):
			open, begun = r, true
		case open == 0 && isWhitespace(r):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, open == 0 && !escaped
}

// isWhitespace works like java.lang.Character.isWhitespace. Unlike unicode.IsSpace, it does not include blanks at which
// a line must not be broken, and it includes the separators U+001C to U+001F.
func isWhitespace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= 0x1f:
		return true
	case r == 0xa0, r == 0x2007, r == 0x202f:
		return false
	}
	return unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}
