package conf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redacted is the text that is shown instead of a secret value.
const Redacted = "*********(redacted)"

// sensitive is Spark's default for spark.redaction.regex.
var sensitive = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)

// secretWords are the words that the pattern sensitive matches, in lower case.
var secretWords = []string{"secret", "password", "token", "accesskey", "access.key", "credential"}

// looksSecret reports whether the pattern sensitive matches text. For speed, it searches for secretWords instead of
// matching the pattern: every value of a configuration is checked, and matching takes about 50 ns for each byte. The
// search takes a fiftieth of this time.
func looksSecret(text string) bool {
	// Two letters beyond ASCII are equal to k and s if case is ignored.
	if strings.Contains(text, "\u212a") || strings.Contains(text, "\u017f") {
		return sensitive.MatchString(text)
	}

	lower := strings.ToLower(text)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) })
}

// Redact returns value, or Redacted if key or value looks like a secret by Spark's default for spark.redaction.regex.
// It is for logs and messages; values in spark.properties are never redacted.
func Redact(key, value string) string {
	if looksSecret(key) || looksSecret(value) {
		return Redacted
	}
	return value
}

// RedactionKey is the key of the configuration's own pattern for secrets, which is used in addition to Spark's default
// pattern.
const RedactionKey = "spark.redaction.regex"

// Secrets returns a function that reports whether a key or value of a configuration looks like a secret, by Spark's
// default pattern or by the configuration's own pattern. The operator cannot use a pattern that only Java supports, or
// a pattern that would take too long to match. If the configuration has such a pattern, the function returns true for
// everything and the error gives the reason.
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

// searchedLimit is the number of bytes at the beginning of a text in which Shorten searches for URIs. It limits the
// time, because a value may contain half a megabyte of URIs.
const searchedLimit = 4 << 10

// Quote returns value in quotes, for a message about key. It returns Redacted for a value that looks like a secret (see
// Redact), and shortens a long value (see Shorten). A message may become a condition or an event: everybody in the
// namespace can read it, and its length is limited.
func Quote(key, value string) string {
	if shown := Redact(key, value); shown != value {
		return shown
	}
	return strconv.Quote(Shorten(value))
}

// Quote returns text in quotes for a message about key, redacted and shortened like the function Quote. The argument
// text is the value of key, or a part of it, in which references are already replaced.
//
// If text does not occur in the value as the user wrote it, Quote shows the user's value instead. The replacement of a
// reference may be the secret of another key, which a message must not show.
func (c *Conf) Quote(key, text string) string {
	if _, raw, ok := c.Lookup(key); ok && !strings.Contains(raw, text) {
		text = raw
	}
	return Quote(key, text)
}

// addresses matches the URIs in a text. Its first group is the scheme or schemes (k8s://https:// has two), and its
// second group is the rest of the URI.
var addresses = regexp.MustCompile(`((?:[A-Za-z][A-Za-z0-9+.-]*://)+)([^\s,"'<>]*)`)

// afterAddress contains the characters that end a URI in the pattern addresses.
const afterAddress = " \t\n\f\r,\"'<>"

// HideAddresses removes user, password and query from all URIs in a text. The query is removed because a signed URL has
// its signature there.
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

// Shorten cuts a text to 200 bytes for a message, and appends three dots if it cut the text. It also removes users,
// passwords and queries from URIs (HideAddresses).
func Shorten(text string) string {
	head, cut := text, false
	if len(text) > searchedLimit {
		// The text is cut at the end of a URI, because a URI that is cut inside could show the part that must be
		// hidden.
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
