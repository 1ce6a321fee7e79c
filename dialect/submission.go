package dialect

import (
	"maps"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ReasonSparkSubmit is the wait reason of an attempt whose driver pod spark-submit creates.
const ReasonSparkSubmit = "SparkSubmit"

// SparkSubmitCause returns the wait reason of an attempt whose driver pod is created by spark-submit. The argument is
// the reason why the operator does not create this pod itself.
func SparkSubmitCause(why string) *lifecycle.Cause {
	return &lifecycle.Cause{Reason: ReasonSparkSubmit, Message: "spark-submit creates the driver pod: " + why}
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
