package dialect

import (
	"maps"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ReasonSparkSubmit is the reason of what an attempt waits for that spark-submit makes the driver pod of.
const ReasonSparkSubmit = "SparkSubmit"

// BySparkSubmit says why that way is taken.
func BySparkSubmit(why string) *lifecycle.Cause {
	return &lifecycle.Cause{Reason: ReasonSparkSubmit, Message: "spark-submit makes the driver pod: " + why}
}

// Runner builds the pod that makes the driver pod of a request by spark-submit, as Objects.Driver, and what it needs. The driver says which pod that was:
// one that it left half made is known by it. An error is BuildRunner's.
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
