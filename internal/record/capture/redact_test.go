package capture

import (
	"strings"
	"testing"
)

// TestRedaction checks which parts of a log are hidden, and that all others stay as they are.
func TestRedaction(t *testing.T) {
	for text, want := range map[string]string{
		"spark.hadoop.fs.s3a.secret.key=abc\n":             "spark.hadoop.fs.s3a.secret.key=*********(redacted)\n",
		`{"password": "abc", "user": "me"}`:                `{"password": "*********(redacted)", "user": "me"}`,
		"jdbc:postgresql://me:abc@db/x?sslmode=off done\n": "",
		"26/11/29 10:00:00 INFO SparkContext: ready\n\n":   "26/11/29 10:00:00 INFO SparkContext: ready\n\n",
		"no line end, \xff\x00 binary":                     "no line end, \xff\x00 binary",
	} {
		got := string(Redacted([]byte(text)))
		if want != "" && got != want || strings.Contains(got, "abc") {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
