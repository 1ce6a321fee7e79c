package dialect

import corev1 "k8s.io/api/core/v1"

// Pods is a group of equal pods that a custom resource needs when it starts.
type Pods struct {
	// Role is the role of the pods, such as "driver" or "executor".
	Role string
	// Pod is one of the pods, in the form in which it will be created.
	Pod *corev1.Pod
	// Count is the number of pods. Zero and negative numbers mean no pods.
	Count int32
}

// Once returns a function that renders a pod at its first call, and returns the same pod again later.
func Once(render func() (*corev1.Pod, error)) func() (*corev1.Pod, error) {
	var pod *corev1.Pod
	var err error
	return func() (*corev1.Pod, error) {
		if pod == nil && err == nil {
			pod, err = render()
		}
		return pod, err
	}
}

// DriverAndExecutors returns the pods of a submission: the driver, and the given number of executors, which the
// argument executor renders. It leaves out pods that cannot be rendered. Without a driver it returns none.
func DriverAndExecutors(driver *corev1.Pod, executor func() (*corev1.Pod, error), executors int32) (pods []Pods) {
	if driver == nil {
		return nil
	}
	pods = []Pods{{Role: "driver", Pod: driver, Count: 1}}
	if executors <= 0 {
		return pods
	}
	if pod, err := executor(); err == nil {
		pods = append(pods, Pods{Role: "executor", Pod: pod, Count: executors})
	}
	return pods
}
