package native

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/executor"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// Build returns the objects of one submission. It is a pure function: the same Request gives the same objects, and
// Build does not change r. If a Request cannot work, Build returns an *Error.
func Build(r submit.Request) (submit.Objects, error) {
	d, err := steps.Run(r)
	if err != nil {
		return submit.Objects{}, err
	}

	if err := finish(d); err != nil {
		return submit.Objects{}, submit.AsError(err)
	}

	if d.NotNative != nil {
		return submit.Objects{}, d.NotNative
	}
	return submit.Objects{Before: d.Before, Driver: d.Pod, DriverExtra: d.Extra, Warnings: d.Warns.All()}, nil
}

// Driver returns the driver pod of a submission. Callers use the pod to compute the application's resource requests,
// which are the sum of the requests of this pod and of the pods that Executor returns.
//
// Driver returns the same pod as Build, but it also accepts requests that need a JVM (Error.NotNative). Package runner
// submits such requests with the image's own spark-submit, which rewrites some values in the pod, such as the addresses
// of files that it uploads. The result of Driver has the values of the configuration instead. Its containers, resources
// and node placement equal those of the real pod. The result lacks the template's fields that the types of k8s.io/api
// do not have. Driver rejects all other requests that Build rejects, with the same error.
func Driver(r submit.Request) (*corev1.Pod, error) {
	d, err := steps.Run(r)
	if err != nil {
		return nil, err
	}

	if err := finish(d); err != nil {
		return nil, submit.AsError(err)
	}
	return d.Pod, nil
}

// Executor returns the pod that the driver of a submission would create for the executor with this ID (Spark counts
// from 1). The pod has the default resource profile. Executor builds the pod as Spark of the Request's version would,
// from the configuration and the template that Build gives the driver (KubernetesExecutorBuilder and its feature steps,
// ExecutorPodsAllocator), and changes the pod as its admission would (Request.Admitted). The argument driver is the UID
// of the driver pod, which owns and controls the executor; if driver is empty, the pod has no owner.
//
// Only drivers create executors. This pod serves two other purposes: the operator sends it to the API server in a dry
// run, to find out whether the API server would accept it, and computes quotas and queues from it. The pod equals
// Spark's own except for values that exist only in a running driver:
//   - The prefix of the pod's name and the name of the ConfigMap have the same form and length as in Spark, but other
//     digits. If spark.kubernetes.executor.podNamePrefix is set, it is the prefix.
//   - The secret of spark.authenticate is missing.
//   - If the executors use the IP address of the driver's pod, the pod contains documentationAddress instead.
//   - Claims on demand have the names that Spark gives them, but are not created.
//   - The template's fields that the types of k8s.io/api do not have are missing.
//
// Executor accepts requests for which Build needs a JVM (Error.NotNative). It rejects all other requests that Build
// rejects, with the same error.
func Executor(r submit.Request, id int, driver types.UID) (*corev1.Pod, error) {
	return executor.Pod(r, id, driver)
}
