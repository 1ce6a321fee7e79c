// Package v1alpha1 contains the type of sparkoperator.k8s.io/v1alpha1: SparkConnect.
//
// The JSON form is compatible with the API that Spark users know under this group and version. As in package v1beta2,
// the types can decode everything that the schema accepts, and pod templates are kept raw. Fields that only this
// package has are optional and absent by default, and are marked in their descriptions.
//
// +kubebuilder:object:generate=true
// +groupName=sparkoperator.k8s.io
package v1alpha1
