package submit

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// DefaultMaster is the value of spark.master for a Request without a master: the API server's address inside a cluster.
const DefaultMaster = "k8s://https://kubernetes.default.svc"

// Spark's labels (org.apache.spark.deploy.k8s.Constants) and the values of RoleLabel. The labels are reserved for
// Spark: users cannot set them.
const (
	VersionLabel  = "spark-version"
	SelectorLabel = "spark-app-selector"
	AppNameKey    = "spark-app-name"
	RoleLabel     = "spark-role"

	RoleDriver   = "driver"
	RoleExecutor = "executor"
	// RoleSubmitter is the value of RoleLabel on a runner pod, which does not have the label SelectorLabel, because a
	// stopping driver deletes objects with that label.
	RoleSubmitter = "submitter"

	// ExecutorIDLabel is the label of executor pods with the executor's ID.
	ExecutorIDLabel = "spark-exec-id"
)

// Owners returns the owner reference, marked as the controller, or nil if the owner has no UID.
func Owners(owner metav1.OwnerReference) []metav1.OwnerReference {
	if owner.UID == "" {
		return nil
	}

	controller := *owner.DeepCopy()
	controller.Controller = new(true)
	return []metav1.OwnerReference{controller}
}

// DefaultContainerAnnotation is the annotation with the name of the container that kubectl uses by default.
const DefaultContainerAnnotation = "kubectl.kubernetes.io/default-container"

// ConfVolume is the volume of a driver pod with the driver's configuration.
const ConfVolume = "spark-conf-volume-driver"

// ResourceNamePrefix returns the prefix that Spark builds from an application's name and a unique ID
// (KubernetesConf.getResourceNamePrefix). The prefix is in lower case. Every character other than letters and digits
// becomes a dash, several dashes in a row become one dash, a leading dash is removed, and a leading digit is replaced
// by an x. The length of the prefix is not limited; native.Build shortens the names that it builds from the prefix.
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
	return names.Bounded("", resourceNamePrefix, "-driver")
}

// ServiceName returns the name of the driver's headless Service: "<prefix>-driver-svc". If this name is not valid for a
// Service, or is too long, ServiceName derives the name from the application's ID instead. Spark uses a random ID in
// that case.
func ServiceName(resourceNamePrefix, appID string) string {
	name := resourceNamePrefix + "-driver-svc"
	if len(name) <= validation.DNS1035LabelMaxLength && len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	return "spark-" + names.Digest("driver-svc/"+appID, 16) + "-driver-svc"
}

// RunnerContainer is the container of a runner pod that runs spark-submit.
const RunnerContainer = "spark-submit"

// RunnerName returns the name of the runner pod and of its Secret.
func RunnerName(resourceNamePrefix string) string {
	return names.Bounded("", resourceNamePrefix, "-submit")
}
