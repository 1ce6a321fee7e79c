package conf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redacted replaces a value that must not be shown.
const Redacted = "*********(redacted)"

// sensitive is Spark's default of spark.redaction.regex.
var sensitive = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)

// secretWords are the words that sensitive matches, in lower case.
var secretWords = []string{"secret", "password", "token", "accesskey", "access.key", "credential"}

// looksSecret reports whether sensitive matches a text. The pattern takes some 50 ns for each byte, and every value of
// a configuration is checked; searching for the words takes a fiftieth of that.
func looksSecret(text string) bool {
	// Two letters beyond ASCII are equal to k and s if case is ignored.
	if strings.Contains(text, "\u212a") || strings.Contains(text, "\u017f") {
		return sensitive.MatchString(text)
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) })
}

// Redact returns value, or Redacted if key or value looks like a secret by Spark's default spark.redaction.regex. It is
// for logs and messages; values in spark.properties are never redacted.
func Redact(key, value string) string {
	if looksSecret(key) || looksSecret(value) {
		return Redacted
	}
	return value
}

// RedactionKey sets the configuration's own pattern for secrets, in addition to Spark's.
const RedactionKey = "spark.redaction.regex"

// Secrets returns a function that reports whether a pair of a configuration looks secret: by Spark's own pattern, or by
// the configuration's. If the operator cannot use the latter, because only Java supports it or because it is too much
// work, everything looks secret and the error says why.
func Secrets(c *Conf) (func(key, value string) bool, error) {
	text, ok := c.Get(RedactionKey)
	if !ok {
		return func(key, value string) bool { return Redact(key, value) != value }, nil
	}
	pattern, err := boundedPattern(text, c)
	if err != nil {
		return func(string, string) bool { return true }, err
	}
	return func(key, value string) bool {
		return key != RedactionKey && (Redact(key, value) != value || pattern.MatchString(key) || pattern.MatchString(value))
	}, nil
}

// shownLimit is the maximum length in bytes of a text in a message.
const shownLimit = 200

// searchedLimit is the length in bytes of the part of a text that is searched for URIs before it is shortened: a value
// may have half a megabyte of them.
const searchedLimit = 4 << 10

// Quote returns value in quotes for a message about key. It redacts a value that looks like a secret (see Redact) and
// shortens it (see Shorten). A message may become a condition or an event, which everybody in the namespace can read
// and whose length is limited.
func Quote(key, value string) string {
	if shown := Redact(key, value); shown != value {
		return shown
	}
	return strconv.Quote(Shorten(value))
}

// Quote returns text for a message: redacted, shortened and in quotes. Text is a part of key's value after references
// are replaced. If the user did not write the text, Quote returns the raw value instead, since a reference may bring
// the secret of another key.
func (c *Conf) Quote(key, text string) string {
	if _, raw, ok := c.Lookup(key); ok && !strings.Contains(raw, text) {
		text = raw
	}
	return Quote(key, text)
}

// addresses matches the URIs in a text: the schemes, of which k8s://https:// has two, and the rest.
var addresses = regexp.MustCompile(`((?:[A-Za-z][A-Za-z0-9+.-]*://)+)([^\s,"'<>]*)`)

// afterAddress are the characters that end a URI in addresses.
const afterAddress = " \t\n\f\r,\"'<>"

// HideAddresses removes user, password and query from all URIs in a text: signed URLs carry their signature there.
func HideAddresses(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return addresses.ReplaceAllStringFunc(text, func(address string) string {
		parts := addresses.FindStringSubmatch(address)
		scheme, rest := parts[1], parts[2]
		// A password may contain characters that end an authority. If the text after the colon is not a port, it may be
		// such a password.
		end := len(rest)
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
		if _, port, found := strings.Cut(rest[:end], ":"); found && !strings.Contains(port, "@") && strings.Trim(port, "0123456789") != "" {
			end = len(rest)
		}
		if i := strings.LastIndexByte(rest[:end], '@'); i >= 0 {
			rest = rest[i+1:]
		}
		if i := strings.IndexByte(rest, '?'); i >= 0 {
			rest = rest[:i] + "?..."
		}
		return scheme + rest
	})
}

// Shorten cuts a text to 200 bytes for a message, and appends three dots if it cut. It removes users and queries from
// URIs (HideAddresses).
func Shorten(text string) string {
	head, cut := text, false
	if len(text) > searchedLimit {
		// The text is cut at the end of a URI: a URI that is cut inside could show what must be hidden.
		if end := strings.IndexAny(text[searchedLimit:], afterAddress); end >= 0 {
			head, cut = text[:searchedLimit+end], true
		}
	}
	head = HideAddresses(head)
	if !cut && len(head) <= shownLimit {
		return head
	}
	return strings.ToValidUTF8(head[:min(len(head), shownLimit)], "") + "..."
}
