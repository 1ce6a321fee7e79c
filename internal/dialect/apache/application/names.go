package application

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"strconv"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
)

// Spark configuration keys that set names.
const (
	confAppID         = "spark.app.id"
	confDriverPodName = "spark.kubernetes.driver.pod.name"
)

// Lengths of an id. The maximum is chosen so that the names of Services that contain the id are valid (RFC 1035). A
// longer id is cut to idStart characters, and idDigits characters of a digest make it unique.
const (
	idLimit  = 46
	idDigits = 36
	idStart  = idLimit - idDigits - len("-")
)

// newAppID returns spark.app.id for an attempt that is about to be launched. This is the user's value if there is one,
// and otherwise "<name>-<number>" with attempts counted from 0. The names of all objects of an attempt contain this id.
// If the user sets the id, the objects of all attempts have the same names, so each attempt waits until the objects of
// the previous attempt are deleted.
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

// appID returns spark.app.id of an attempt. It prefers the id stored in the status, so that launched objects are found
// even if spark.app.id was edited or another operator computed the id differently.
func appID(app *sparkv1.SparkApplication, attempt int32) string {
	if m := decodeMemory(&app.Status); m.Attempt == attempt && m.AttemptID != "" {
		return m.AttemptID
	}
	return newAppID(app, attempt)
}

// driverPodName returns the driver pod's name, which is "<id>-driver" unless the user sets another one.
func driverPodName(app *sparkv1.SparkApplication, id string) string {
	return cmp.Or(app.Spec.SparkConf[confDriverPodName], id+"-driver")
}

// configMapName returns the name of the driver's ConfigMap.
func configMapName(id string) string { return id + "-spark-drv-conf-map" }

// operatorName returns the value of the label spark.operator/name.
func (a Applications) operatorName() string {
	return cmp.Or(a.OperatorName, apache.DefaultOperatorName)
}

// attemptLabels returns the labels of every object of an attempt: our own labels, which identify the attempt, and the
// labels that this API group defines.
func (a Applications) attemptLabels(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	return map[string]string{
		apache.LabelOperatorName: a.operatorName(),
		apache.LabelAppName:      app.Name,
		apache.LabelAppUID:       string(app.UID),
		apache.LabelAttempt:      strconv.Itoa(int(attempt)),
		apache.LabelManaged:      "true",
	}
}

// versionLabels returns labels with the versions that spec.runtimeVersions declares. The pods of an attempt get these
// labels.
func versionLabels(versions sparkv1.RuntimeVersions) map[string]string {
	labels := map[string]string{}
	for label, version := range map[string]string{apache.LabelScalaVersion: versions.ScalaVersion, apache.LabelJDKVersion: versions.JDKVersion} {
		if isLabelValue(version) {
			labels[label] = version
		}
	}
	return labels
}
