package application

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"strconv"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect/apache"
)

// Spark configuration keys that set names.
const (
	confAppID         = "spark.app.id"
	confDriverPodName = "spark.kubernetes.driver.pod.name"
)

// The maximum length of an id, so that the names of Services made from it fit (RFC 1035). A longer id is cut to idStart
// characters and made unique by idDigits characters of a digest.
const (
	idLimit  = 46
	idDigits = 36
	idStart  = idLimit - idDigits - len("-")
)

// newAppID returns spark.app.id for an attempt that is launched: the user's value, else "<name>-<number>", counted from
// 0. All objects of an attempt are named after it. With the user's value all attempts have the same names, so each
// waits until the objects of the previous one are gone.
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

// appID returns spark.app.id of an attempt. A stored id is used again, so that launched objects are found after an edit
// of spark.app.id, and by an operator that computes ids differently.
func appID(app *sparkv1.SparkApplication, attempt int32) string {
	if m := decodeMemory(&app.Status); m.Attempt == attempt && m.AttemptID != "" {
		return m.AttemptID
	}
	return newAppID(app, attempt)
}

// driverPodName returns the driver pod's name: the user's, else "<id>-driver".
func driverPodName(app *sparkv1.SparkApplication, id string) string {
	return cmp.Or(app.Spec.SparkConf[confDriverPodName], id+"-driver")
}

// configMapName returns the name of the driver's ConfigMap.
func configMapName(id string) string { return id + "-spark-drv-conf-map" }

// operatorName returns the value of the label spark.operator/name.
func (a Applications) operatorName() string {
	return cmp.Or(a.OperatorName, apache.DefaultOperatorName)
}

// attemptLabels returns the labels of every object of an attempt: ours, which identify it, and those of the API group.
func (a Applications) attemptLabels(app *sparkv1.SparkApplication, attempt int32) map[string]string {
	return map[string]string{
		apache.LabelOperatorName: a.operatorName(),
		apache.LabelAppName:      app.Name,
		apache.LabelAppUID:       string(app.UID),
		apache.LabelAttempt:      strconv.Itoa(int(attempt)),
		apache.LabelManaged:      "true",
	}
}

// versionLabels returns the labels with the declared versions, for an attempt's pods.
func versionLabels(versions sparkv1.RuntimeVersions) map[string]string {
	labels := map[string]string{}
	for label, version := range map[string]string{apache.LabelScalaVersion: versions.ScalaVersion, apache.LabelJDKVersion: versions.JDKVersion} {
		if isLabelValue(version) {
			labels[label] = version
		}
	}
	return labels
}
