package submit

import corev1 "k8s.io/api/core/v1"

// Driver returns the driver pod of a submission. Callers use the pod to compute the application's resource requests,
// which are the sum of the requests of this pod and of the pods that Executor returns.
//
// The pod is the one that Build returns, but Driver also accepts requests that need a JVM (Error.NotNative), such as
// those that BuildRunner submits with the image's own spark-submit. Where spark-submit would rewrite values in the pod,
// such as addresses of files that it uploads, the pod has the values of the configuration. Containers, resources and
// node placement are the same. The pod lacks the template's fields that the types of k8s.io/api do not have. Driver
// rejects all other requests that Build rejects, with the same error.
func Driver(r Request) (*corev1.Pod, error) {
	d, err := runSteps(r)
	if err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, asError(err)
	}
	return d.pod, nil
}
