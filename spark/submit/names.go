package submit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of Kubernetes names (k8s.io/apimachinery/pkg/util/validation).
const (
	labelLimit     = validation.LabelValueMaxLength
	subdomainLimit = validation.DNS1123SubdomainMaxLength
	serviceLimit   = validation.DNS1035LabelMaxLength
)

// ResourceNamePrefix returns the prefix that Spark makes from an application's name and a unique ID
// (KubernetesConf.getResourceNamePrefix): lower case, every other character a dash, runs of dashes collapsed, no
// leading dash, and an x in place of a leading digit. Its length is not limited; Build shortens the names it makes from
// it.
func ResourceNamePrefix(appName, uniqueID string) string {
	name := collapse(appName + "-" + uniqueID)
	name = strings.TrimPrefix(name, "-")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "x" + name[1:]
	}
	return name
}

// AppNameLabel returns the value of the label spark-app-name (KubernetesConf.getAppNameLabel): like the prefix, but cut
// to 63 characters and then without one leading and one trailing dash. It may be empty.
func AppNameLabel(appName string) string {
	name := collapse(appName)
	name = name[:min(len(name), labelLimit)]
	return strings.TrimSuffix(strings.TrimPrefix(name, "-"), "-")
}

// collapse trims text, lowers it and replaces every character that a DNS label cannot have. Spark works on UTF-16: a
// character beyond U+FFFF becomes two dashes there, but runs of dashes are collapsed anyway.
func collapse(text string) string {
	// Java lowers a dotted capital I to two characters, Go to one.
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

// DriverPodName returns the name of a driver pod whose Request does not set one.
func DriverPodName(resourceNamePrefix string) string {
	return bounded("", resourceNamePrefix, "-driver")
}

// ServiceName returns the name of the driver's headless Service: "<prefix>-driver-svc", or a name made from the
// application's ID if that is too long for a Service or not a valid Service name. Spark uses a fresh random ID there.
func ServiceName(resourceNamePrefix, appID string) string {
	name := resourceNamePrefix + "-driver-svc"
	if len(name) <= serviceLimit && len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return "spark-" + digest("driver-svc/"+appID, 16) + "-driver-svc"
}

// bounded joins the three parts. If the result is too long for a name, the middle is cut and ends in digits of its
// digest, so that two long names stay different.
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

// localDirUUID returns the part of the default local directory that Spark makes from a random UUID. Here it is made
// from the application's ID: from the ID's own digits if it has the usual form.
func localDirUUID(appID string) string {
	hexa := strings.TrimPrefix(appID, "spark-")
	if len(hexa) != 32 || strings.Trim(hexa, "0123456789abcdef") != "" {
		hexa = digest("local-dir/"+appID, 32)
	}
	return hexa[:8] + "-" + hexa[8:12] + "-" + hexa[12:16] + "-" + hexa[16:20] + "-" + hexa[20:]
}
