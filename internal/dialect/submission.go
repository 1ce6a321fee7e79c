package dialect

import (
	"maps"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/runner"
)

// SubmissionMode says how the driver pods of attempts are created. Its values are those of spec.submission.mode in the
// API group sparkoperator.k8s.io, and of submission.mode in the operator's configuration.
type SubmissionMode string

// These are the submission modes.
const (
	// SubmissionAuto means that the operator creates the driver pod, unless the application needs spark-submit.
	SubmissionAuto SubmissionMode = "Auto"
	// SubmissionNative means that the operator creates the driver pod. Applications that need spark-submit fail.
	SubmissionNative SubmissionMode = "Native"
	// SubmissionSparkSubmit means that spark-submit creates the driver pod. It runs in a pod of its own.
	SubmissionSparkSubmit SubmissionMode = "SparkSubmit"
)

// reasonSparkSubmit is the wait reason of an attempt whose driver pod spark-submit creates.
const reasonSparkSubmit = "SparkSubmit"

// SparkSubmitCause returns the wait reason of an attempt whose driver pod is created by spark-submit. The argument is
// the reason why the operator does not create this pod itself.
func SparkSubmitCause(why string) *lifecycle.Cause {
	return &lifecycle.Cause{Reason: reasonSparkSubmit, Message: "spark-submit creates the driver pod: " + why}
}

// Runner builds the pod that runs spark-submit to create the driver pod of a submission request. In the result,
// Objects.Driver is this runner pod, and Objects.Before contains the objects that the runner pod needs.
//
// An annotation on the driver pod names the runner pod. With it, the operator recognizes a driver whose runner ended
// before the submission was complete.
func Runner(r submit.Request) (submit.Objects, error) {
	annotations := map[string]string{}
	maps.Copy(annotations, r.Driver.Annotations)
	annotations[lifecycle.SubmitterAnnotation] = submit.RunnerName(r.ResourceNamePrefix)
	r.Driver.Annotations = annotations

	made, err := runner.Build(r)
	if err != nil {
		return submit.Objects{}, err
	}

	before := []submit.Object{made.Secret}
	if made.Policy != nil {
		before = append(before, made.Policy)
	}
	return submit.Objects{Before: before, Driver: made.Pod, Warnings: made.Warnings}, nil
}

// RunnersOff is the text by which messages name the settings of the operator that switch spark-submit off.
const RunnersOff = "submission.runners: false, or submission.mode: Native; chart: controller.submission.runners=true switches it on"
