package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ConditionSparkVersionMismatch is True if the pods of the attempt run a release line of Spark, such as 4.1, that
// differs from that of spec.sparkVersion. Otherwise the condition is absent. When the mismatch is found, one event with
// the reason SparkVersionMismatch reports it.
const ConditionSparkVersionMismatch = "SparkVersionMismatch"

// reasonAnotherVersion is the reason of the condition ConditionSparkVersionMismatch.
const reasonAnotherVersion = "ImageRunsAnotherVersion"

// versionMismatch returns a message if the image runs a release line of Spark that differs from that of
// spec.sparkVersion.
//
// The labels of executors show the real version, because the Spark in the driver creates them. The labels of a driver
// show the real version only if spark-submit created it. If no pod shows the real version, versionMismatch returns the
// previous message of this attempt.
func versionMismatch(app *v1beta2.SparkApplication, m lifecycle.Memory, seen lifecycle.Observed) string {
	if !hasAttempt(m) {
		return ""
	}

	runs := ""
	if d := seen.Driver(m.Attempt); d != nil && d.Submitter != "" {
		runs = d.SparkVersion
	}

	for i := range seen.Executors {
		if e := &seen.Executors[i]; e.Attempt == m.Attempt && sparkoperator.ReleaseLine(e.SparkVersion) != "" {
			runs = e.SparkVersion
			break
		}
	}

	declared := app.Spec.SparkVersion
	switch line := sparkoperator.ReleaseLine(runs); {
	case line == "":
		if c := meta.FindStatusCondition(app.Status.Conditions, ConditionSparkVersionMismatch); c != nil {
			return c.Message
		}
		return ""
	case line == sparkoperator.ReleaseLine(declared):
		return ""
	}
	return fmt.Sprintf("spec.sparkVersion is %q and the image runs Spark %s; the driver pod is built for the declared version, so set spec.sparkVersion to %s",
		declared, runs, runs)
}

// mismatchNotice returns a notice of the given mismatch, the message that versionMismatch returned. It returns no
// notice if there is no mismatch, or if the previous status already reports one.
func mismatchNotice(before *v1beta2.SparkApplicationStatus, attempt int32, mismatch string) []lifecycle.Notice {
	if mismatch == "" || meta.FindStatusCondition(before.Conditions, ConditionSparkVersionMismatch) != nil {
		return nil
	}
	return []lifecycle.Notice{{
		Part: lifecycle.Application, Attempt: attempt, Cause: lifecycle.Cause{Reason: ConditionSparkVersionMismatch, Message: mismatch},
	}}
}
