// Package v1beta2 contains the types of sparkoperator.k8s.io/v1beta2: SparkApplication and ScheduledSparkApplication.
//
// The JSON form is compatible with the API that Spark users know under this group and version: the definitions of this
// package accept and keep every manifest that the definitions of that API accept. Fields that only this package has are
// optional and absent by default, and are marked in their descriptions.
//
// Two rules apply to every field. First, these types can decode everything that the schema accepts, because one object
// that cannot be decoded stops an informer. Second, pod templates, which Kubernetes may change from release to release,
// are kept raw. Each template is decoded when it is used.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1beta2
