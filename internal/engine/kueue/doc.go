// Package kueue requests quota for custom resources from the queue Kueue, in the form of Workloads of
// kueue.x-k8s.io/v1beta2. It implements what state machines see as lifecycle.Quota.
//
// A custom resource with the label QueueLabel has one Workload, whose name follows from its kind and its name. The
// operator creates the Workload before a launch, and Kueue admits it when its queue has quota. Afterwards, a decision
// sees only whether Kueue wants the quota back.
//
//   - judge.go decides, without any I/O, what a Workload means and what to do with it.
//   - podsets.go describes the pods of a launch to Kueue.
//   - placement.go collects what an admission adds to the pods.
//   - queue.go sends the requests.
//
// Kueue's own module cannot be imported, so types.go has the fields that the operator reads and writes. All updates are
// patches, so that other fields survive.
//
// +kubebuilder:object:generate=true
package kueue
