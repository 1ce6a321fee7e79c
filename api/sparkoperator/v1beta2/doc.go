// Package v1beta2 holds the types of sparkoperator.k8s.io/v1beta2: SparkApplication and ScheduledSparkApplication.
//
// The JSON form is compatible with the API that Spark users know under this group and version: every manifest that its
// custom resource definitions accept is accepted and kept by ours. Fields that exist only here are optional and absent
// by default, and are marked in their descriptions.
//
// Two rules hold for every field. First, these types decode everything that the schema accepts, because one object that
// cannot be decoded stops an informer. Second, pod templates, which Kubernetes may change from release to release, are
// kept raw and decoded object by object where they are used.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1beta2
