package expose

import (
	"crypto/md5" // the digits only keep cut names different; nothing secret depends on MD5
	"encoding/hex"
	"strings"
)

// nameLimit is the maximum length of a Service's name (RFC 1035) and of a label value.
const nameLimit = 63

// Name returns an application's name with a suffix. A name that is too long for a Service is cut, and the first eight
// digits of the MD5 sum of the application's name keep it different from other cut names, as users of the
// sparkoperator.k8s.io API expect it.
func Name(application, suffix string) string {
	if name := application + suffix; len(name) <= nameLimit {
		return name
	}
	sum := md5.Sum([]byte(application))
	digits := hex.EncodeToString(sum[:])[:8]
	room := max(0, min(len(application), nameLimit-len(suffix)-len(digits)-1))
	return strings.TrimRight(application[:room], "-.") + "-" + digits + suffix
}
