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
