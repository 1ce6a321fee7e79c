package conf

import (
	"regexp"
	"strconv"
	"strings"
)

// Redacted is what stands for a value that must not be shown.
const Redacted = "*********(redacted)"

var sensitive = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)

// Redact returns value, or Redacted if key or value looks like a secret by Spark's default spark.redaction.regex. For logs and messages;
// what is written to spark.properties is never redacted.
func Redact(key, value string) string {
	if sensitive.MatchString(key) || sensitive.MatchString(value) {
		return Redacted
	}
	return value
}

// shownLimit is how much of a text a message shows, in bytes.
const shownLimit = 200

// Quote returns value in quotes as a message about key should show it: redacted where it looks like a secret (see Redact), and shortened
// (see Shorten). A message may become a condition or an event, which everybody in the namespace reads and which have limits of their own.
func Quote(key, value string) string {
	if shown := Redact(key, value); shown != value {
		return shown
	}
	return strconv.Quote(Shorten(value))
}

// Shorten cuts a text to the 200 bytes that a message shows of it, and says so by three dots.
func Shorten(text string) string {
	if len(text) <= shownLimit {
		return text
	}
	return strings.ToValidUTF8(text[:shownLimit], "") + "..."
}
