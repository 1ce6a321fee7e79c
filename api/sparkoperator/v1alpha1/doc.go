// Package v1alpha1 holds the type of sparkoperator.k8s.io/v1alpha1: SparkConnect.
//
// The JSON form is compatible with the API that Spark users know under this group and version, by the same rules as
// v1beta2: everything that the schema accepts is decoded, pod templates are kept raw, and fields that exist only here
// are optional, absent by default and marked in their descriptions.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1alpha1
