// Package unprintable has texts for tests that a terminal would interpret, and finds such characters in outputs.
package unprintable

import (
	"unicode"
	"unicode/utf8"
)

// Text has characters of all kinds that a terminal interprets: colours, the clipboard (OSC 52), links (OSC 8), C0 and
// C1 controls, bidirectional controls, separators of lines, and characters without a width.
const Text = "a\x1b[31m\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\b\nforged\rd\te\x00\x08\x7f\u0085\u009b1m\u202ef\u202a\u2066\u2069\u200e\u200f\u061c\u2028\u2029\u200b\ufeff\u00ad\U000e0041\U0001d173z"

// First returns the first character of an output that is neither printable nor a line break or a tab, with the text
// around it. It returns "" if there is none.
func First(output string) string {
	for i, c := range output {
		_, size := utf8.DecodeRuneInString(output[i:])
		if c != '\n' && c != '\t' && !unicode.IsPrint(c) || c == utf8.RuneError && size == 1 {
			return output[max(0, i-60):min(len(output), i+60)]
		}
	}
	return ""
}
