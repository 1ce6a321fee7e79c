package native

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/executor"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/steps"
)

// Submission is one submission whose driver's steps have run. All its pods are built from these steps, so it costs less
// than Build, Driver and Executor by themselves. It is not safe for concurrent use, and its methods return parts of it:
// callers must not change what others still read.
type Submission struct {
	draft     *draft.Draft
	executors *executor.Source
	finished  bool
	// err is the error of the steps, and of the finished driver pod.
	err error
}

// New runs the driver's steps for a Request, and does not change r. If the Request cannot work, all methods of the
// Submission return the error.
func New(r submit.Request) *Submission {
	d, err := steps.Run(&r)
	if err != nil {
		return &Submission{err: err}
	}
	return &Submission{draft: d, executors: executor.Of(d)}
}

// finish finishes the driver pod at the first call.
func (s *Submission) finish() error {
	if s.draft != nil && !s.finished {
		s.finished = true
		s.err = submit.AsError(finish(s.draft, s.executors))
	}
	return s.err
}

// Build returns what the function Build returns.
func (s *Submission) Build() (submit.Objects, error) {
	switch err := s.finish(); {
	case err != nil:
		return submit.Objects{}, err
	case s.draft.NotNative != nil:
		return submit.Objects{}, s.draft.NotNative
	}
	return submit.Objects{Before: s.draft.Before, Driver: s.draft.Pod, DriverExtra: s.draft.Extra, Warnings: s.draft.Warns.All()}, nil
}

// Driver returns what the function Driver returns.
func (s *Submission) Driver() (*corev1.Pod, error) {
	if err := s.finish(); err != nil {
		return nil, err
	}
	return s.draft.Pod, nil
}

// Executor returns what the function Executor returns.
func (s *Submission) Executor(id int, driver types.UID) (*corev1.Pod, error) {
	if s.draft == nil {
		return nil, s.err
	}
	return s.executors.Pod(id, driver)
}

// Bound returns what the function Bound returns.
func (s *Submission) Bound() (*corev1.Pod, error) {
	if s.draft == nil {
		return nil, s.err
	}
	return s.executors.Bound()
}

// Build returns the objects of one submission. It is a pure function: the same Request gives the same objects, and
// Build does not change r. If a Request cannot work, Build returns an *Error.
func Build(r submit.Request) (submit.Objects, error) { return New(r).Build() }

// Driver returns the driver pod of a submission. Callers use the pod to compute the application's resource requests,
// which are the sum of the requests of this pod and of the pods that Executor returns.
//
// Driver returns the same pod as Build, but it also accepts requests that need a JVM (Error.NotNative). Package runner
// submits such requests with the image's own spark-submit, which rewrites some values in the pod, such as the addresses
// of files that it uploads. The result of Driver has the values of the configuration instead. Its containers, resources
// and node placement equal those of the real pod. The result lacks the template's fields that the types of k8s.io/api
// do not have. Driver rejects all other requests that Build rejects, with the same error.
func Driver(r submit.Request) (*corev1.Pod, error) { return New(r).Driver() }

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
	return New(r).Executor(id, driver)
}

// Bound returns an executor pod that is an upper bound for quotas, queues and the rules of a platform: whatever Spark
// line the image has, the driver creates no larger executor and none with more rights. Executor instead trusts the
// Request's version. The two differ in these keys, which only some lines read:
//   - The overhead is at least spark.executor.minMemoryOverhead and at least 384 MiB.
//   - The container has allowPrivilegeEscalation only if a template sets it or the configuration allows it, because
//     false is no default before 4.3.
//   - No step is excluded. Bound rejects an exclusion of the step that sets image and resources.
//
// Bound rejects references that only the driver can replace in keys that name steps or the template's Spark container.
// Request.Bound has the same effect on Driver, for a driver that spark-submit creates.
func Bound(r submit.Request) (*corev1.Pod, error) { return New(r).Bound() }
