// Package v1alpha1 holds the type of sparkoperator.k8s.io/v1alpha1: SparkConnect.
//
// The JSON form is a drop-in for the API that Spark users know under this group and version, by the rules of its sibling v1beta2: what the
// schema accepts is decoded, pod templates are kept raw, and fields that exist only here are optional, absent by default, and say so.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1alpha1
