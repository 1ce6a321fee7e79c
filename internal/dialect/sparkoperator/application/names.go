package application

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// confDriverPodName is the configuration key that users may set instead of spec.driver.podName to name the driver pod.
const confDriverPodName = "spark.kubernetes.driver.pod.name"

// DriverPodName returns the name of the driver pod, which is the same for every attempt: spec.driver.podName, or else
// spark.kubernetes.driver.pod.name, or else "<app>-driver".
func DriverPodName(app *v1beta2.SparkApplication) string {
	if name := app.Spec.Driver.PodName; name != nil && *name != "" {
		return *name
	}

	if name := app.Spec.SparkConf[confDriverPodName]; name != "" {
		return name
	}
	return app.Name + "-driver"
}

// attemptLabels returns the labels of every object of an attempt: our own labels, which identify the attempt, and the
// labels of the API group.
func attemptLabels(app *v1beta2.SparkApplication, attempt int32, submissionID string) map[string]string {
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

// namePrefixLimit is the largest length of namePrefix. It leaves room for "-driver-svc" in a Service name of 63
// characters (RFC 1035).
const namePrefixLimit = 63 - len("-driver-svc")

// namePrefix returns the beginning of the names of an attempt's ConfigMaps and Service. It consists of the
// application's name, cut to the limit, and eight hexadecimal digits of a hash of the submission id. The digits
// distinguish two attempts, and two applications whose shortened names are equal.
func namePrefix(app *v1beta2.SparkApplication, submissionID string) string {
	sum := sha256.Sum256([]byte(submissionID))
	suffix := "-" + hex.EncodeToString(sum[:4])

	name := app.Name
	if limit := namePrefixLimit - len(suffix); len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
	}
	return name + suffix
}

// appID returns the value of spark.app.id: "spark-" and 32 hexadecimal digits, like the ids that Spark generates. It is
// derived from the submission id.
func appID(submissionID string) string {
	return "spark-" + strings.ReplaceAll(submissionID, "-", "")
}

// instancesKey is the key of the number of executors.
var instancesKey = podKey("executor", "instances")

// podKey returns the configuration key of a field of the driver or of the executors (fields.Application).
func podKey(role, field string) string { return fields.Application.Key("spec." + role + "." + field) }

func envPrefix(role string) string { return podKey(role, "envVars") }

// podSpec returns the fields that driver and executor have in common. The argument role is "driver" or "executor".
func podSpec(spec *v1beta2.SparkApplicationSpec, role string) *v1beta2.SparkPodSpec {
	if role == "driver" {
		return &spec.Driver.SparkPodSpec
	}
	return &spec.Executor.SparkPodSpec
}
