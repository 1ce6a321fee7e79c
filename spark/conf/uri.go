package conf

import (
	"fmt"
	"strings"
	"unicode"
)

// NotURI returns the part of text that java.net.URI rejects, or an empty string if java.net.URI accepts text. Spark
// treats a text that is not a URI as the path of a file (Utils.resolveURI) and would not find that file.
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

// neverInURI reports whether a character is illegal anywhere in a URI.
func neverInURI(r rune) bool {
	if r >= 0x80 {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

func isHex(b byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", b) >= 0 }

// IllegalURI returns a message that says why part must not occur in uri.
func IllegalURI(uri, part string) string {
	return fmt.Sprintf("%q: %q cannot be part of a URI; write it as %%XX, such as %%20 for a blank", Shorten(uri), part)
}
