// Package names shortens names to the limits of Kubernetes and derives IDs that Spark would choose at random. The same
// input always gives the same name.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// subdomainLimit is the maximum length of the names of most objects.
const subdomainLimit = validation.DNS1123SubdomainMaxLength

// Bounded joins before, middle and after. If the result is too long for a name, the middle part is cut and extended by
// digits of its digest, so that different names stay different.
func Bounded(before, middle, after string) string {
	if len(before)+len(middle)+len(after) <= subdomainLimit {
		return before + middle + after
	}

	room := subdomainLimit - len(before) - len(after) - 9
	return before + strings.TrimRight(middle[:room], "-.") + "-" + Digest(middle, 8) + after
}

// Digest returns n hexadecimal digits of the SHA-256 of text.
func Digest(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}

// LocalDirUUID returns the UUID in the name of the default local directory. Spark uses a random UUID; this function
// derives it from the application's ID. If the ID has the usual form, the UUID consists of the digits of the ID.
func LocalDirUUID(appID string) string {
	hexa := strings.TrimPrefix(appID, "spark-")
	if len(hexa) != 32 || strings.Trim(hexa, "0123456789abcdef") != "" {
		hexa = Digest("local-dir/"+appID, 32)
	}
	return hexa[:8] + "-" + hexa[8:12] + "-" + hexa[12:16] + "-" + hexa[16:20] + "-" + hexa[20:]
}
