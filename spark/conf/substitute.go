package conf

import (
	"fmt"
	"strings"
)

// MaxImage is the maximum length of an image's name in bytes. It is generous: registries accept only 255 bytes for the
// name and 128 for the tag.
const MaxImage = 4096

// VersionMarker is the text in names of images that is replaced by the version of Spark.
const VersionMarker = "{{SPARK_VERSION}}"

// Substitute replaces every marker in text by value. It computes the length of the result first and returns an error if
// that length exceeds limit, in bytes. It returns a text without markers unchanged, whatever its length.
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
