package conf

import (
	"fmt"
	"strings"
)

// MaxImage is the length of an image's name, in bytes. Registries take 255 for the name and 128 for the tag.
const MaxImage = 4096

// VersionMarker stands for the version of Spark in the names of images.
const VersionMarker = "{{SPARK_VERSION}}"

// Substitute replaces every marker in a text. The length of the result is computed first: a text full of markers is an error that says so if the
// result is longer than a limit, in bytes. A text without markers is returned as it is, whatever its length.
func Substitute(text, marker, value string, limit int) (string, error) {
	n := strings.Count(text, marker)
	if n == 0 {
		return text, nil
	}
	if size := len(text) + n*(len(value)-len(marker)); size > limit {
		return "", fmt.Errorf("is %d bytes long with %s replaced; the limit is %d bytes", size, marker, limit)
	}
	return strings.ReplaceAll(text, marker, value), nil
}
