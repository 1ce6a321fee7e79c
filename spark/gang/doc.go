// Package gang builds what batch schedulers need for a Spark application: the PodGroups of Volcano and of the
// coscheduling plugin of kube-scheduler, the task groups of YuniKorn, and the labels and annotations that assign pods
// to them. It does not know custom resources or Spark configuration, and its functions are pure.
//
// # Sums
//
// The resources of a gang are computed from the pods themselves, as the scheduler will see them (Requests):
// submit.Build returns the driver's pod, submit.Executor an executor's. Memory sizes, overhead factors, core requests,
// Python's and off-heap memory, devices, sidecars and the additions of a template are right in a sum because they are
// right in the pods.
//
// # One member
//
// A Spark driver requests its executors when it runs, so a group that waited for all of its pods would wait forever.
// The PodGroups have a minimum of one member, the driver, and the resources of all: the scheduler starts the driver
// when there is room for the executors too. YuniKorn reserves that room with placeholders, one for each executor that
// the application starts with.
//
// The kinds are those of scheduling.volcano.sh/v1beta1, of scheduling.x-k8s.io/v1alpha1 (the sig-scheduling plugins)
// and of YuniKorn's gang scheduling by annotations. None of their Go modules is needed: PodGroups are unstructured
// objects.
package gang
