// Package gang makes what batch schedulers want of a Spark application: the PodGroups of Volcano and of the coscheduling plugin of kube-scheduler,
// the task groups of YuniKorn, and the labels and annotations by which pods belong to them. It knows no custom resource and no Spark configuration,
// and its functions are pure: the same arguments give the same objects.
//
// # Sums
//
// What a gang needs is computed from the pods themselves, as the scheduler will see them (Requests): submit.Build gives the driver's, submit.Executor
// an executor's. Memory sizes, overhead factors, core requests, Python's and off-heap memory, devices, sidecars and what a template adds are right in
// a sum because they are right in the pods.
//
// # One member
//
// A Spark driver asks for its executors when it runs, so a group that waited for all of its pods would wait for ever. The PodGroups have a minimum of
// one member, the driver, and the resources of all: the scheduler lets the driver start when there is room for the executors as well. YuniKorn keeps
// that room by placeholders, one for each executor that the application starts with.
//
// The kinds are those of scheduling.volcano.sh/v1beta1, of scheduling.x-k8s.io/v1alpha1 (the sig-scheduling plugins) and of YuniKorn's gang scheduling
// by annotations. None of their Go modules is needed: PodGroups are unstructured objects.
package gang
