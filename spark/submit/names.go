package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// subdomainLimit is the maximum length of the names of most objects.
const subdomainLimit = validation.DNS1123SubdomainMaxLength

// ResourceNamePrefix returns the prefix that Spark builds from an application's name and a unique ID
// (KubernetesConf.getResourceNamePrefix). The prefix is in lower case. Every character other than letters and digits
// becomes a dash, several dashes in a row become one dash, a leading dash is removed, and a leading digit is replaced
// by an x. The length of the prefix is not limited; Build shortens the names that it builds from the prefix.
func ResourceNamePrefix(appName, uniqueID string) string {
	name := collapse(appName + "-" + uniqueID)
	name = strings.TrimPrefix(name, "-")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "x" + name[1:]
	}
	return name
}

// AppNameLabel returns the value of the label spark-app-name (KubernetesConf.getAppNameLabel). AppNameLabel builds the
// value like ResourceNamePrefix, cuts it to 63 characters, and then removes one leading and one trailing dash. The
// value may be empty.
func AppNameLabel(appName string) string {
	name := collapse(appName)
	name = name[:min(len(name), validation.LabelValueMaxLength)]
	return strings.TrimSuffix(strings.TrimPrefix(name, "-"), "-")
}

// collapse trims text, converts it to lower case, replaces every character that a DNS label cannot have by a dash, and
// joins several dashes in a row. Spark works on UTF-16, in which a character beyond U+FFFF becomes two dashes, but the
// result is the same because dashes are joined.
func collapse(text string) string {
	// Java's lower case of a dotted capital I has two characters, Go's has one.
	trimmed := strings.ReplaceAll(strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }), "\u0130", "i\u0307")
	var b strings.Builder
	for _, r := range strings.ToLower(trimmed) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			r = '-'
		}
		if r == '-' && strings.HasSuffix(b.String(), "-") {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// DriverPodName returns the name of the driver pod for a Request that does not set one.
func DriverPodName(resourceNamePrefix string) string {
	return bounded("", resourceNamePrefix, "-driver")
}

// ServiceName returns the name of the driver's headless Service: "<prefix>-driver-svc". If this name is not valid for a
// Service, or is too long, ServiceName derives the name from the application's ID instead. Spark uses a random ID in
// that case.
func ServiceName(resourceNamePrefix, appID string) string {
	name := resourceNamePrefix + "-driver-svc"
	if len(name) <= validation.DNS1035LabelMaxLength && len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return "spark-" + digest("driver-svc/"+appID, 16) + "-driver-svc"
}

// bounded joins before, middle and after. If the result is too long for a name, the middle part is cut and extended by
// digits of its digest, so that different names stay different.
func bounded(before, middle, after string) string {
	if len(before)+len(middle)+len(after) <= subdomainLimit {
		return before + middle + after
	}
	room := subdomainLimit - len(before) - len(after) - 9
	return before + strings.TrimRight(middle[:room], "-.") + "-" + digest(middle, 8) + after
}

// digest returns n hexadecimal digits of the SHA-256 of text.
func digest(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}

// localDirUUID returns the UUID in the name of the default local directory. Spark uses a random UUID; this function
// derives it from the application's ID. If the ID has the usual form, the UUID consists of the digits of the ID.
func localDirUUID(appID string) string {
	hexa := strings.TrimPrefix(appID, "spark-")
	if len(hexa) != 32 || strings.Trim(hexa, "0123456789abcdef") != "" {
		hexa = digest("local-dir/"+appID, 32)
	}
	return hexa[:8] + "-" + hexa[8:12] + "-" + hexa[12:16] + "-" + hexa[16:20] + "-" + hexa[20:]
}
