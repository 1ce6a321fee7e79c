package submit

import corev1 "k8s.io/api/core/v1"

// Driver returns the driver pod of a submission. Callers use the pod to compute the application's resource requests,
// which are the sum of the requests of this pod and of the pods that Executor returns.
//
// Driver returns the same pod as Build, but it also accepts requests that need a JVM (Error.NotNative). BuildRunner
// submits such requests with the image's own spark-submit, which rewrites some values in the pod, such as the addresses
// of files that it uploads. The result of Driver has the values of the configuration instead. Its containers, resources
// and node placement equal those of the real pod. The result lacks the template's fields that the types of k8s.io/api
// do not have. Driver rejects all other requests that Build rejects, with the same error.
func Driver(r Request) (*corev1.Pod, error) {
	d, err := runSteps(r)
	if err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, AsError(err)
	}
	return d.pod, nil
}
