package bounds

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns a text that may contain user input as one line that a terminal can show: every character that cannot be
// printed is replaced by its escape, such as \n, \x1b or \u202e. Without the replacement, a user's text could move the
// cursor, write to the clipboard, or reverse or forge lines on the screen of another user.
//
// Printable are letters, marks, numbers, punctuation, symbols and the blank (unicode.IsPrint). The result of Line is
// printable, so Line does not change it again.
func Line(text string) string { return escaped(text, "") }

// Text is Line for a text that may have several lines: it keeps line breaks and tabs.
func Text(text string) string { return escaped(text, "\n\t") }

// escaped replaces all characters of a text that are neither printable nor in the list of kept ones.
func escaped(text, kept string) string {
	shown := func(c rune, size int) bool {
		return unicode.IsPrint(c) && (c != utf8.RuneError || size > 1) || strings.ContainsRune(kept, c)
	}
	clean := 0
	for clean < len(text) {
		c, size := utf8.DecodeRuneInString(text[clean:])
		if !shown(c, size) {
			break
		}
		clean += size
	}
	if clean == len(text) {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:clean])
	for rest := text[clean:]; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		if shown(c, size) {
			b.WriteString(rest[:size])
		} else {
			b.WriteString(escape(c, rest[:size]))
		}
		rest = rest[size:]
	}
	return b.String()
}

// escape returns the escape of a character, which is encoded as the given text. Characters that an encoder of JSON does
// not escape have an escape that JSON knows, so that a JSON text can be escaped after it was encoded.
func escape(c rune, text string) string {
	switch {
	case c == '\n':
		return `\n`
	case c == '\t':
		return `\t`
	case c == '\r':
		return `\r`
	case c < ' ':
		return fmt.Sprintf(`\x%02x`, c)
	case c == utf8.RuneError && len(text) == 1:
		return fmt.Sprintf(`\x%02x`, text[0])
	case c > 0xffff:
		high, low := utf16.EncodeRune(c)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, c)
}
