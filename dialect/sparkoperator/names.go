package sparkoperator

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Labels that readers of this API group select by. Dashboards, Airflow and Kueue rely on them.
const (
	LabelAppName          = "sparkoperator.k8s.io/app-name"
	LabelScheduledAppName = "sparkoperator.k8s.io/scheduled-app-name"
	LabelSubmissionID     = "sparkoperator.k8s.io/submission-id"
	LabelLaunchedBy       = "sparkoperator.k8s.io/launched-by-spark-operator"
	LabelCreatedBy        = "sparkoperator.k8s.io/created-by-spark-operator"
)

// ownPrefix begins labels and annotations of ours.
const ownPrefix = dialect.OwnPrefix

// Labels of ours: the identity of everything that an attempt creates.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// Names of the Spark containers in driver and executor pods, unless a pod template names its own.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)

// confDriverPodName is the Spark configuration key by which a user may also name the driver pod.
const confDriverPodName = "spark.kubernetes.driver.pod.name"

// DriverPodName is the name of every attempt's driver pod: spec.driver.podName, else spark.kubernetes.driver.pod.name, else "<app>-driver".
func DriverPodName(app *v1beta2.SparkApplication) string {
	if name := app.Spec.Driver.PodName; name != nil && *name != "" {
		return *name
	}
	if name := app.Spec.SparkConf[confDriverPodName]; name != "" {
		return name
	}
	return app.Name + "-driver"
}

// attemptLabels are put on everything of an attempt: ours for identity, the group's for its readers.
func attemptLabels(app *v1beta2.SparkApplication, attempt int32, submissionID string) map[string]string {
	labels := map[string]string{
		LabelAppName:      app.Name,
		LabelLaunchedBy:   "true",
		LabelSubmissionID: submissionID,
		LabelAppUID:       string(app.UID),
		LabelAttempt:      strconv.Itoa(int(attempt)),
		LabelManaged:      "true",
	}
	if schedule := app.Labels[LabelScheduledAppName]; schedule != "" {
		labels[LabelScheduledAppName] = schedule
	}
	return labels
}

// namePrefixLimit leaves room for "-driver-svc" in a Service name of 63 characters (RFC 1035).
const namePrefixLimit = 63 - len("-driver-svc")

// namePrefix begins the names of an attempt's ConfigMaps and Service: the application's name, cut, and eight digits that follow from the
// attempt's submission id, so that the objects of two attempts, or of two applications whose names are cut alike, never meet.
func namePrefix(app *v1beta2.SparkApplication, submissionID string) string {
	sum := sha256.Sum256([]byte(submissionID))
	suffix := "-" + hex.EncodeToString(sum[:4])
	name := app.Name
	if limit := namePrefixLimit - len(suffix); len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
	}
	return name + suffix
}

// appID is spark.app.id: "spark-" and 32 hexadecimal digits, as Spark makes them, here of the attempt's submission id.
func appID(submissionID string) string {
	return "spark-" + strings.ReplaceAll(submissionID, "-", "")
}
