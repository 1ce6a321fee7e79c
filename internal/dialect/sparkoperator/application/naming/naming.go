// Package naming contains the names and labels of the objects of a SparkApplication. Tools of this API, the operator's
// selectors and the packages that build objects rely on the same names.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// DriverPodNameKey is the configuration key that users may set instead of spec.driver.podName to name the driver pod.
const DriverPodNameKey = "spark.kubernetes.driver.pod.name"

// DriverPodName returns the name of the driver pod, which is the same for every attempt: spec.driver.podName, or else
// spark.kubernetes.driver.pod.name, or else "<app>-driver".
func DriverPodName(app *v1beta2.SparkApplication) string {
	if name := app.Spec.Driver.PodName; name != nil && *name != "" {
		return *name
	}

	if name := app.Spec.SparkConf[DriverPodNameKey]; name != "" {
		return name
	}
	return app.Name + "-driver"
}

// AttemptLabels returns the labels of every object of an attempt: our own labels, which identify the attempt, and the
// labels of the API group.
func AttemptLabels(app *v1beta2.SparkApplication, attempt int32, submissionID string) map[string]string {
	labels := map[string]string{
		sparkoperator.LabelAppName:      app.Name,
		sparkoperator.LabelLaunchedBy:   "true",
		sparkoperator.LabelSubmissionID: submissionID,
		sparkoperator.LabelAppUID:       string(app.UID),
		sparkoperator.LabelAttempt:      strconv.Itoa(int(attempt)),
		sparkoperator.LabelManaged:      "true",
	}
	if schedule := app.Labels[sparkoperator.LabelScheduledAppName]; schedule != "" {
		labels[sparkoperator.LabelScheduledAppName] = schedule
	}
	return labels
}

// AuxiliaryLabels returns the labels of an attempt's auxiliary objects. They include the label by which tools of this
// API find the objects that the operator created.
func AuxiliaryLabels(app *v1beta2.SparkApplication, attempt int32, id string) map[string]string {
	labels := AttemptLabels(app, attempt, id)
	labels[sparkoperator.LabelCreatedBy] = "true"
	return labels
}

// DriverSelector returns the labels by which the auxiliary objects select the driver, whichever attempt it belongs to.
// Tools of this API expect this selector.
func DriverSelector(app *v1beta2.SparkApplication) map[string]string {
	return map[string]string{sparkoperator.LabelAppName: app.Name, submit.RoleLabel: submit.RoleDriver}
}

// prefixLimit is the largest length of Prefix. It leaves room for "-driver-svc" in a Service name of 63
// characters (RFC 1035).
const prefixLimit = 63 - len("-driver-svc")

// Prefix returns the beginning of the names of an attempt's ConfigMaps and Service. It consists of the
// application's name, cut to the limit, and eight hexadecimal digits of a hash of the submission id. The digits
// distinguish two attempts, and two applications whose shortened names are equal.
func Prefix(app *v1beta2.SparkApplication, submissionID string) string {
	sum := sha256.Sum256([]byte(submissionID))
	suffix := "-" + hex.EncodeToString(sum[:4])

	name := app.Name
	if limit := prefixLimit - len(suffix); len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
	}
	return name + suffix
}

// AppID returns the value of spark.app.id: "spark-" and 32 hexadecimal digits, like the ids that Spark generates. It is
// derived from the submission id.
func AppID(submissionID string) string {
	return "spark-" + strings.ReplaceAll(submissionID, "-", "")
}

// Owner returns a reference that makes the application the controller of an object. A foreground deletion of
// the application waits until the objects with this reference are deleted.
func Owner(app *v1beta2.SparkApplication) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
}
