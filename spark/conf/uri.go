package conf

import (
	"fmt"
	"strings"
	"unicode"
)

// NotURI returns the part of text because of which java.net.URI would not read it, or nothing. Spark takes such text for the path of a file
// (Utils.resolveURI), and its file would be looked for where there is none.
func NotURI(text string) string {
	path := true
	for i, r := range text {
		switch {
		case r == '?' || r == '#':
			path = false
		case r == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return text[i:min(i+3, len(text))]
			}
		case neverInURI(r), path && (r == '[' || r == ']'):
			return string(r)
		}
	}
	return ""
}

// neverInURI tells the characters that are illegal anywhere in a URI.
func neverInURI(r rune) bool {
	if r >= 0x80 {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

func isHex(b byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", b) >= 0 }

// IllegalURI says why part cannot be in uri.
func IllegalURI(uri, part string) string {
	return fmt.Sprintf("%q: %q cannot stand in an address; write it as %%XX, such as %%20 for a blank", Shorten(uri), part)
}
