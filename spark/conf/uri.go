package conf

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

// NotURI returns the part of text that java.net.URI rejects, or an empty string if java.net.URI accepts text. Spark
// treats a text that is not a URI as the path of a file (Utils.resolveURI) and would not find that file.
func NotURI(text string) string {
	path, fragment := true, false

	address := ipv6Address(text)
	for i, r := range text {
		switch {
		case r == '#' && fragment:
			return "#"
		case r == '?' || r == '#':
			path, fragment = false, r == '#' || fragment
		case r == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return text[i:min(i+3, len(text))]
			}
		case neverInURI(r), path && i >= address && (r == '[' || r == ']'):
			return string(r)
		}
	}
	return ""
}

// authority matches the beginning of a URI whose host is in brackets. Its group is the host.
var authority = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@\[\]]*@)?\[([0-9A-Fa-f:.]+)\](?::[0-9]*)?(?:[/?#]|$)`)

// ipv6Address returns the index after the host of a URI if the host is an IPv6 address, and 0 otherwise. Brackets are
// legal before this index, because they enclose the address.
func ipv6Address(uri string) int {
	if !strings.Contains(uri, "[") {
		return 0
	}

	at := authority.FindStringSubmatchIndex(uri)
	if at == nil {
		return 0
	}

	if address, err := netip.ParseAddr(uri[at[2]:at[3]]); err != nil || !address.Is6() {
		return 0
	}
	return at[3] + len("]")
}

// neverInURI reports whether a character is illegal anywhere in a URI.
func neverInURI(r rune) bool {
	if r >= 0x80 {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

func isHex(b byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", b) >= 0 }

// IllegalURI returns a message that says why part, which NotURI returned, must not occur in uri.
func IllegalURI(uri, part string) string {
	if part == "#" {
		return fmt.Sprintf("%q: a URI has only one fragment; write each # after the first as %%23", Shorten(uri))
	}
	return fmt.Sprintf("%q: %q cannot be part of a URI; write it as %%XX, such as %%20 for a blank", Shorten(uri), part)
}
