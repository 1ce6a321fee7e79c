// Package v1 contains the types of spark.apache.org/v1: SparkApplication and SparkCluster. The version v1beta1 of the
// group is served with the same schema and has no types of its own.
//
// The JSON form is compatible with the API that Spark users know under this group: the schema of this package accepts
// and keeps everything that the schema of that API accepts. Kubernetes' own types in a spec (pod templates,
// StatefulSet, Service, Ingress, route and autoscaler specs) are kept raw. The reason is that clients list and watch
// all objects of a kind at once, and one object that cannot be decoded would hide all others. Fields that only this
// package has are optional and absent by default, and are marked in their descriptions.
//
// Durations are milliseconds and integers have 64 bits, as in that API. An encoded status contains no null, because the
// schema of that API accepts none.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1
