package application

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"strconv"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect/apache"
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
func (a Applications) operatorName() string {
	return cmp.Or(a.OperatorName, apache.DefaultOperatorName)
}

// attemptLabels are put on everything of an attempt: ours for identity, the group's for its readers.
func (a Applications) attemptLabels(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	return map[string]string{
		apache.LabelOperatorName: a.operatorName(),
		apache.LabelAppName:      app.Name,
		apache.LabelAppUID:       string(app.UID),
		apache.LabelAttempt:      strconv.Itoa(int(attempt)),
		apache.LabelManaged:      "true",
	}
}

// versionLabels are put on an attempt's pods.
func versionLabels(versions sparkv1.RuntimeVersions) map[string]string {
	labels := map[string]string{}
	for label, version := range map[string]string{apache.LabelScalaVersion: versions.ScalaVersion, apache.LabelJDKVersion: versions.JDKVersion} {
		if isLabelValue(version) {
			labels[label] = version
		}
	}
	return labels
}
