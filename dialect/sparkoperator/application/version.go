package application

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// ConditionSparkVersionMismatch is True while the attempt's pods show that the release line of Spark in the image (such
// as 4.1) differs from that of spec.sparkVersion. Otherwise the condition is absent. One event with the same reason is
// emitted.
const ConditionSparkVersionMismatch = "SparkVersionMismatch"

// reasonAnotherVersion is the reason of the condition ConditionSparkVersionMismatch.
const reasonAnotherVersion = "ImageRunsAnotherVersion"

// versionLine matches a Spark version and captures its release line, such as 4.1 of 4.1.4. The driver pod is built for
// that release line (submit.Build).
var versionLine = regexp.MustCompile(`^v?([0-9]+\.[0-9]+)(?:[.-].*)?$`)

func lineOf(version string) string {
	if match := versionLine.FindStringSubmatch(version); match != nil {
		return match[1]
	}
	return ""
}

// versionMismatch returns a message if the release line of Spark in the image differs from the one that the spec
// declares. Executors show the real version, since the Spark in the driver creates them. A driver shows the real
// version only if spark-submit created it, because a driver that the operator created shows the declared version. While
// no pod shows the real version, versionMismatch returns this attempt's previous message.
func versionMismatch(app *v1beta2.SparkApplication, m lifecycle.Memory, seen lifecycle.Observed) string {
	if !hasAttempt(m) {
		return ""
	}
	runs := ""
	if d := seen.Driver(m.Attempt); d != nil && d.Submitter != "" {
		runs = d.SparkVersion
	}
	for i := range seen.Executors {
		if e := &seen.Executors[i]; e.Attempt == m.Attempt && lineOf(e.SparkVersion) != "" {
			runs = e.SparkVersion
			break
		}
	}
	declared := app.Spec.SparkVersion
	switch line := lineOf(runs); {
	case line == "":
		if c := meta.FindStatusCondition(app.Status.Conditions, ConditionSparkVersionMismatch); c != nil {
			return c.Message
		}
		return ""
	case line == lineOf(declared):
		return ""
	}
	return fmt.Sprintf("spec.sparkVersion is %q and the image runs Spark %s; the driver pod is built for the declared version, so set spec.sparkVersion to %s",
		declared, runs, runs)
}

// mismatchNotice returns a notice if a mismatch is new. before is the previous status.
func mismatchNotice(before *v1beta2.SparkApplicationStatus, attempt int32, mismatch string) []lifecycle.Notice {
	if mismatch == "" || meta.FindStatusCondition(before.Conditions, ConditionSparkVersionMismatch) != nil {
		return nil
	}
	return []lifecycle.Notice{{
		Part: lifecycle.Application, Attempt: attempt, Cause: lifecycle.Cause{Reason: ConditionSparkVersionMismatch, Message: mismatch},
	}}
}
