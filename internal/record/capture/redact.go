package capture

import (
	"bytes"
	"regexp"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// setting matches a key with its value, such as spark.hadoop.fs.s3a.secret.key=VALUE or "password": "VALUE".
var setting = regexp.MustCompile(`([\w.\-]+)("?\s*[=:]\s*"?|\s+->\s+)([^\s",;&]+)`)

// Redacted hides the values in a piece of a log that look like secrets, and the passwords in addresses, as the
// operator's messages do. The text has whole lines, except of lines that are longer than a chunk.
func Redacted(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text))

	for line := range bytes.Lines(text) {
		shown := conf.HideAddresses(string(line))
		shown = setting.ReplaceAllStringFunc(shown, func(found string) string {
			parts := setting.FindStringSubmatch(found)
			return parts[1] + parts[2] + conf.Redact(parts[1], parts[3])
		})
		out.WriteString(shown)
	}
	return out.Bytes()
}
