package dialect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Pods are equal pods that a custom resource needs when it starts.
type Pods struct {
	// Role is the role of one of the pods, such as "driver" or "executor".
	Role string
	// Pod is one of the pods, in the form in which it will be created.
	Pod *corev1.Pod
	// Count is the number of pods. Zero and negative numbers mean no pods.
	Count int32
}

// DriverAndExecutors returns the pods of a submission: the driver, and the executors with which Spark starts. If driver
// is nil, DriverAndExecutors renders the driver. It omits a pod that cannot be rendered.
func DriverAndExecutors(r submit.Request, driver *corev1.Pod, executors int32) (pods []Pods) {
	if driver == nil {
		var err error
		if driver, err = submit.Driver(r); err != nil {
			return nil
		}
	}
	pods = []Pods{{Role: "driver", Pod: driver, Count: 1}}
	if executors <= 0 {
		return pods
	}
	if executor, err := submit.Executor(r, 1, ""); err == nil {
		pods = append(pods, Pods{Role: "executor", Pod: executor, Count: executors})
	}
	return pods
}
