package bounds

import (
	"fmt"
	"strconv"
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
	var b strings.Builder

	done := 0
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		if invalid := c == utf8.RuneError && size == 1; invalid || !unicode.IsPrint(c) && !strings.ContainsRune(kept, c) {
			b.WriteString(text[done:at])
			b.WriteString(escape(c, text[at:at+size]))
			done = at + size
		}

		at += size
	}

	b.WriteString(text[done:])
	return b.String()
}

// escape returns the escape of a character, which is encoded as the given text. Characters that an encoder of JSON does
// not escape have an escape that JSON knows, so that a JSON text can be escaped after it was encoded.
func escape(c rune, text string) string {
	switch {
	case strings.ContainsRune("\n\t\r", c):
		return strings.Trim(strconv.QuoteRune(c), "'")
	case len(text) == 1 && text[0] != 0x7f: // a control character, or a byte that is no character
		return fmt.Sprintf(`\x%02x`, text[0])
	case c > 0xffff:
		high, low := utf16.EncodeRune(c)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, c)
}
