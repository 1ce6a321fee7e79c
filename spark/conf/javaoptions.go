package conf

import (
	"strings"
	"unicode"
)

// SplitJavaOptions splits the JVM options of a driver into words as Spark's launcher does
// (CommandBuilderUtils.parseOptionString). Blanks separate words, quotation marks keep them together, and a backslash
// escapes the next character except inside single quotes. The result ok is false if text ends inside quotation marks or
// after a backslash.
func SplitJavaOptions(text string) (words []string, ok bool) {
	return split(text, isWhitespace, func(quote rune) bool { return quote != '\'' })
}

// SplitExecutorOptions splits the JVM options of an executor into words as a driver does (Utils.splitCommandString).
// Unlike SplitJavaOptions, only the characters blank, tab, CR and LF separate words, and a backslash escapes the next
// character only inside double quotes. Text that ends inside quotation marks is valid.
func SplitExecutorOptions(text string) []string {
	words, _ := split(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }, func(quote rune) bool { return quote == '"' })
	return words
}

// split splits text into words. The function separates reports whether a character outside of quotation marks ends a
// word. The function escapes reports whether a backslash escapes the next character inside the given quotation marks;
// the argument 0 means outside of them. The result ok is false if text ends inside quotation marks or after a backslash
// that escapes.
func split(text string, separates, escapes func(rune) bool) (words []string, ok bool) {
	var word strings.Builder
	var open rune

	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)

			escaped = false
		case r == '\\' && escapes(open):
			escaped, begun = true, true
		case open != 0 && r == open:
			open = 0
		case open == 0 && (r == '"' || r == '\''):
			open, begun = r, true
		case open == 0 && separates(r):
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

// isWhitespace works like java.lang.Character.isWhitespace. Unlike unicode.IsSpace, it includes neither the next-line
// character U+0085 nor blanks at which a line must not be broken, and it includes the separators U+001C to U+001F.
func isWhitespace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= 0x1f:
		return true
	case r == 0xa0, r == 0x2007, r == 0x202f:
		return false
	}
	return unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}
