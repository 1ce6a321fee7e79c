package expose

import (
	"crypto/md5" // the digits only keep cut names different; nothing secret depends on MD5
	"encoding/hex"
	"strings"
)

// nameLimit is the maximum length of a Service's name (RFC 1035) and of a label value.
const nameLimit = 63

// Name returns an application's name with a suffix. If the result would be too long for the name of a Service, Name
// cuts the application's name and adds the first eight digits of its MD5 sum, so that different applications have
// different names. Users of the sparkoperator.k8s.io API expect names of this form.
func Name(application, suffix string) string {
	if name := application + suffix; len(name) <= nameLimit {
		return name
	}

	sum := md5.Sum([]byte(application))
	digits := hex.EncodeToString(sum[:])[:8]
	room := max(0, min(len(application), nameLimit-len(suffix)-len(digits)-1))
	return strings.TrimRight(application[:room], "-.") + "-" + digits + suffix
}
