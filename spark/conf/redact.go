package conf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redacted is what stands for a value that must not be shown.
const Redacted = "*********(redacted)"

// sensitive is Spark's default of spark.redaction.regex.
var sensitive = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)

// secretWords are what sensitive finds, in lower case.
var secretWords = []string{"secret", "password", "token", "accesskey", "access.key", "credential"}

// looksSecret reports whether sensitive matches a text. The pattern takes some 50 ns for each byte, and every value of a configuration is looked at;
// the words are found in a fiftieth of that.
func looksSecret(text string) bool {
	// Two letters beyond ASCII are a k and an s without regard to case.
	if strings.Contains(text, "\u212a") || strings.Contains(text, "\u017f") {
		return sensitive.MatchString(text)
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) })
}

// Redact returns value, or Redacted if key or value looks like a secret by Spark's default spark.redaction.regex. For logs and messages;
// what is written to spark.properties is never redacted.
func Redact(key, value string) string {
	if looksSecret(key) || looksSecret(value) {
		return Redacted
	}
	return value
}

// RedactionKey is the configuration's own pattern of what is secret, beside Spark's.
const RedactionKey = "spark.redaction.regex"

// Secrets returns what reports whether a pair of a configuration looks secret: by Spark's own pattern, or by the configuration's. Where the operator cannot
// use the latter, as Java's patterns know more than Go's or as it is too much work, everything looks secret, and the error says why.
func Secrets(c *Conf) (func(key, value string) bool, error) {
	said, ok := c.Get(RedactionKey)
	if !ok {
		return func(key, value string) bool { return Redact(key, value) != value }, nil
	}
	pattern, err := boundedPattern(said, c)
	if err != nil {
		return func(string, string) bool { return true }, err
	}
	return func(key, value string) bool {
		return key != RedactionKey && (Redact(key, value) != value || pattern.MatchString(key) || pattern.MatchString(value))
	}, nil
}

// shownLimit is how much of a text a message shows, in bytes.
const shownLimit = 200

// searchedLimit is how much of a text is searched for URIs before it is shortened, in bytes: a value may have half a megabyte of them.
const searchedLimit = 4 << 10

// Quote returns value in quotes as a message about key should show it: redacted where it looks like a secret (see Redact), and shortened
// (see Shorten). A message may become a condition or an event, which everybody in the namespace reads and which have limits of their own.
func Quote(key, value string) string {
	if shown := Redact(key, value); shown != value {
		return shown
	}
	return strconv.Quote(Shorten(value))
}

// Quote returns text, a part of what key's value is with its references replaced, as a message should show it: redacted and shortened. If the
// user did not write the text, it is the reference instead, since the reference may bring the secret of another key.
func (c *Conf) Quote(key, text string) string {
	if _, raw, ok := c.Lookup(key); ok && !strings.Contains(raw, text) {
		text = raw
	}
	return Quote(key, text)
}

// addresses are the URIs in a text: their schemes, of which k8s://https:// has two, and what follows.
var addresses = regexp.MustCompile(`((?:[A-Za-z][A-Za-z0-9+.-]*://)+)([^\s,"'<>]*)`)

// afterAddress are the characters that end a URI, as in addresses.
const afterAddress = " \t\n\f\r,\"'<>"

// HideAddresses returns a text in which no URI has a user, a password or a query: signed URLs carry their signature there.
func HideAddresses(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return addresses.ReplaceAllStringFunc(text, func(address string) string {
		parts := addresses.FindStringSubmatch(address)
		scheme, rest := parts[1], parts[2]
		// A password may hold what ends an authority: what is behind the colon is none of a port's then.
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

// Shorten cuts a text to the 200 bytes that a message shows of it, and says so by three dots. Its URIs are without users and queries (HideAddresses).
func Shorten(text string) string {
	head, cut := text, false
	if len(text) > searchedLimit {
		// Up to the end of a URI: one that is cut could show what is to be hidden.
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
