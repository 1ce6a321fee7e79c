package conf

import "regexp"

// Redacted is what stands for a value that must not be shown.
const Redacted = "*********(redacted)"

var sensitive = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)

// Redact returns value, or Redacted if key or value looks like a secret by Spark's default spark.redaction.regex. For logs and messages;
// what is written to spark.properties is never redacted.
func Redact(key, value string) string {
	if sensitive.MatchString(key) || sensitive.MatchString(value) {
		return Redacted
	}
	return value
}
