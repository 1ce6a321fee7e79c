package dialect

import (
	"maps"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ReasonSparkSubmit is the wait reason of an attempt whose driver pod is created by spark-submit.
const ReasonSparkSubmit = "SparkSubmit"

// SparkSubmitCause returns the wait reason of such an attempt; why says what makes spark-submit necessary.
func SparkSubmitCause(why string) *lifecycle.Cause {
	return &lifecycle.Cause{Reason: ReasonSparkSubmit, Message: "spark-submit makes the driver pod: " + why}
}

// Runner builds the pod that runs spark-submit to create the driver pod of a request. The pod is Objects.Driver; the
// objects it needs are Objects.Before. An annotation on the driver names the runner pod, so that a driver that the
// runner left incomplete can be recognized. The error is BuildRunner's.
func Runner(r submit.Request) (submit.Objects, error) {
	annotations := map[string]string{}
	maps.Copy(annotations, r.Driver.Annotations)
	annotations[lifecycle.SubmitterAnnotation] = submit.RunnerName(r.ResourceNamePrefix)
	r.Driver.Annotations = annotations
	made, err := submit.BuildRunner(r)
	if err != nil {
		return submit.Objects{}, err
	}
	before := []submit.Object{made.Secret}
	if made.Policy != nil {
		before = append(before, made.Policy)
	}
	return submit.Objects{Before: before, Driver: made.Pod, Warnings: made.Warnings}, nil
}
