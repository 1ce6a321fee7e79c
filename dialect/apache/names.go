package apache

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"strconv"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Labels that readers of this API group select by.
const (
	LabelOperatorName = "spark.operator/name"
	LabelAppName      = "spark.operator/spark-app-name"
)

// Labels of ours: the identity of everything that an attempt creates.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// Labels of ours, on pods, for what the image is said to have; nothing depends on them but who selects by them.
const (
	LabelScalaVersion = dialect.OwnPrefix + "scala-version"
	LabelJDKVersion   = dialect.OwnPrefix + "jdk-version"
)

// Names of the Spark containers in driver and executor pods, unless a pod template names its own.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)

// Spark configuration keys that name things.
const (
	confAppID         = "spark.app.id"
	confDriverPodName = "spark.kubernetes.driver.pod.name"
)

// An id is at most idLimit characters long, so that Services named after it fit (RFC 1035). One that would be longer is cut to idStart characters, and
// told apart by idDigits of a digest.
const (
	idLimit  = 46
	idDigits = 36
	idStart  = idLimit - idDigits - len("-")
)

// newAppID is spark.app.id of an attempt that is launched: the user's, else "<name>-<number>", counted from 0. All of an attempt's objects are named after
// it, so that the user's gives all attempts the same names: each waits until what the one before it had is gone.
func newAppID(app *sparkv1.SparkApplication, attempt int32) string {
	if pinned := app.Spec.SparkConf[confAppID]; pinned != "" {
		return pinned
	}
	number := strconv.Itoa(int(attempt) - 1)
	id := app.Name + "-" + number
	if len(id) <= idLimit {
		return id
	}
	sum := sha256.Sum256([]byte(app.Namespace + "/" + app.Name + "/" + number))
	digits := new(big.Int).SetBytes(sum[:]).Text(36)
	return id[:idStart] + "-" + digits[:min(len(digits), idDigits)]
}

// appID is spark.app.id of an attempt. One that was remembered is used again: an edit of spark.app.id, or an operator that computes other ids, finds what
// was launched.
func appID(app *sparkv1.SparkApplication, attempt int32) string {
	if m := decodeMemory(&app.Status); m.Attempt == attempt && m.AttemptID != "" {
		return m.AttemptID
	}
	return newAppID(app, attempt)
}

// driverPodName is the driver pod's name: the user's, else "<id>-driver".
func driverPodName(app *sparkv1.SparkApplication, id string) string {
	return cmp.Or(app.Spec.SparkConf[confDriverPodName], id+"-driver")
}

// configMapName is the name of the driver's ConfigMap.
func configMapName(id string) string { return id + "-spark-drv-conf-map" }

// operatorName is the value of the label of that name.
func (a Applications) operatorName() string { return cmp.Or(a.OperatorName, DefaultOperatorName) }

// attemptLabels are put on everything of an attempt: ours for identity, the group's for its readers.
func (a Applications) attemptLabels(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	return map[string]string{
		LabelOperatorName: a.operatorName(),
		LabelAppName:      app.Name,
		LabelAppUID:       string(app.UID),
		LabelAttempt:      strconv.Itoa(int(attempt)),
		LabelManaged:      "true",
	}
}

// versionLabels are put on an attempt's pods.
func versionLabels(versions sparkv1.RuntimeVersions) map[string]string {
	labels := map[string]string{}
	for label, version := range map[string]string{LabelScalaVersion: versions.ScalaVersion, LabelJDKVersion: versions.JDKVersion} {
		if isLabelValue(version) {
			labels[label] = version
		}
	}
	return labels
}
