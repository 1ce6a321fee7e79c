package dialect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Pods is a group of equal pods that a custom resource needs when it starts.
type Pods struct {
	// Role is the role of the pods, such as "driver" or "executor".
	Role string
	// Pod is one of the pods, in the form in which it will be created.
	Pod *corev1.Pod
	// Count is the number of pods. Zero and negative numbers mean no pods.
	Count int32
}

// DriverAndExecutors returns the pods of a submission: the driver, and the given number of executors. If the argument
// driver is nil, DriverAndExecutors renders the driver pod itself. It leaves out pods that cannot be rendered.
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
