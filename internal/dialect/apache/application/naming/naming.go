// Package naming computes what identifies the attempts of a SparkApplication of spark.apache.org: the id of an attempt
// (spark.app.id), the names that contain it, and the labels and the owner of an attempt's objects.
package naming

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
)

// Lengths of an id. The maximum is chosen so that the names of Services that contain the id are valid (RFC 1035). A
// longer id is cut to idStart characters, and idDigits characters of a digest make it unique.
const (
	idLimit  = 46
	idDigits = 36
	idStart  = idLimit - idDigits - len("-")
)

// NewID returns spark.app.id for an attempt that is about to be launched. This is the user's value if there is one,
// and otherwise "<name>-<number>" with attempts counted from 0. The names of all objects of an attempt contain this id.
// If the user sets the id, the objects of all attempts have the same names, so each attempt waits until the objects of
// the previous attempt are deleted.
func NewID(app *sparkv1.SparkApplication, attempt int32) string {
	if pinned := app.Spec.SparkConf[fields.AppID]; pinned != "" {
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

// ID returns spark.app.id of an attempt. It prefers the id stored in the status, so that launched objects are found
// even if spark.app.id was edited or another operator computed the id differently.
func ID(app *sparkv1.SparkApplication, attempt int32) string {
	if o := app.Status.Operator; o != nil && o.Attempt == attempt && o.AttemptID != "" {
		return o.AttemptID
	}
	return NewID(app, attempt)
}

// DriverPod returns the driver pod's name, which is "<id>-driver" unless the user sets another one.
func DriverPod(app *sparkv1.SparkApplication, id string) string {
	return cmp.Or(app.Spec.SparkConf[fields.DriverPodName], id+"-driver")
}

// ConfigMapName returns the name of the driver's ConfigMap.
func ConfigMapName(id string) string { return id + "-spark-drv-conf-map" }

// Labels returns the labels of every object of an attempt: our own labels, which identify the attempt, and the labels
// that this API group defines. If operatorName is empty, its label has the value apache.DefaultOperatorName.
func Labels(app *sparkv1.SparkApplication, attempt int32, operatorName string) map[string]string {
	return map[string]string{
		apache.LabelOperatorName: cmp.Or(operatorName, apache.DefaultOperatorName),
		apache.LabelAppName:      app.Name,
		apache.LabelAppUID:       string(app.UID),
		apache.LabelAttempt:      strconv.Itoa(int(attempt)),
		apache.LabelManaged:      "true",
	}
}

// Versions returns labels with the versions that spec.runtimeVersions declares. The pods of an attempt get these
// labels.
func Versions(versions sparkv1.RuntimeVersions) map[string]string {
	labels := map[string]string{}
	for label, version := range map[string]string{apache.LabelScalaVersion: versions.ScalaVersion, apache.LabelJDKVersion: versions.JDKVersion} {
		if fields.IsLabelValue(version) {
			labels[label] = version
		}
	}
	return labels
}

// Owner returns an owner reference that makes the application the controller of an object. The reference blocks the
// deletion of the owner, so a foreground deletion of the application waits for its pods.
func Owner(app *sparkv1.SparkApplication) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, sparkv1.GroupVersion.WithKind("SparkApplication"))
}
