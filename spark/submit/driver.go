package submit

import corev1 "k8s.io/api/core/v1"

// Driver returns the driver pod of a submission: Build's, also where only a JVM could make what it needs (Error.NotNative), with the image's own
// spark-submit for instance (BuildRunner). What spark-submit would rewrite in it, such as the addresses of files that it uploads, is as the
// configuration has it; the containers, what they ask for and where the pod may run are the same. Fields of the template that k8s.io/api does not know
// are missing.
//
// It is for sizing: what it and Executor ask for is what the application asks for. Anything else that Build refuses is refused with the same error.
func Driver(r Request) (*corev1.Pod, error) {
	d, err := stepped(r)
	if err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, asError(err)
	}
	return d.pod, nil
}
