// Package gang builds the objects and metadata that batch schedulers need for a Spark application:
//
//   - PodGroups for Volcano and for kube-scheduler's coscheduling plugin;
//   - task groups for YuniKorn;
//   - the labels and annotations that assign pods to these groups.
//
// The package does not depend on custom resources or Spark configuration, and its functions are pure.
//
// # Sums
//
// The resources of a gang are computed from its pods, as the scheduler will see the pods (Requests): native.Build
// returns the driver's pod, native.Executor an executor's pod. So the sums contain everything that the pods contain:
// memory sizes, overhead factors, core requests, Python's and off-heap memory, devices, sidecars and the additions of a
// template.
//
// # One member
//
// A Spark driver requests its executors while it runs, so a group that waited for all of its pods would wait forever.
// Therefore the PodGroups have a minimum of one member, the driver, but their minimum resources are the sum over all
// members. So the scheduler starts the driver only when there is room for the executors too. YuniKorn reserves that
// room with placeholder pods, one for each executor with which the application starts.
//
// The kinds are those of scheduling.volcano.sh/v1beta1, of scheduling.x-k8s.io/v1alpha1 (the sig-scheduling plugins)
// and of YuniKorn's gang scheduling by annotations. The package does not need their Go modules, because PodGroups are
// unstructured objects.
package gang
