package submit

import corev1 "k8s.io/api/core/v1"

// Driver returns the driver pod of a submission, for sizing: the resource requests of this pod and of Executor's are
// those of the application.
//
// It is the pod that Build returns, except that Driver also accepts requests that need a JVM (Error.NotNative), such as
// those that BuildRunner submits with the image's own spark-submit. Values that spark-submit would rewrite in the pod,
// such as addresses of files that it uploads, are those of the configuration; containers, resources and node placement
// are the same. Fields of the template that k8s.io/api does not know are missing. Driver rejects all other requests
// that Build rejects, with the same error.
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
