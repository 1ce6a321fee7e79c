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
		case open == 0 && unicode.IsSpace(r):
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
