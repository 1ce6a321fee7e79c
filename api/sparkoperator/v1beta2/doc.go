// Package v1beta2 holds the types of sparkoperator.k8s.io/v1beta2: SparkApplication and ScheduledSparkApplication.
//
// The JSON form is a drop-in for the API that Spark users know under this group and version: every manifest that its custom resource
// definitions accept is accepted and kept by ours. Fields that exist only here are optional, absent by default, and say so.
//
// Two rules hold for every field. What the schema accepts, these types decode: an informer must never stop for one object. And what
// Kubernetes itself may change from release to release, pod templates, is kept raw and decoded object by object where it is used.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1beta2
