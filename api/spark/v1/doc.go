// Package v1 holds the types of spark.apache.org/v1: SparkApplication and SparkCluster. The version v1beta1 of the
// group is served with the same schema and has no types of its own.
//
// The JSON form is compatible with the API that Spark users know under this group: what its schema accepts is accepted
// and kept. Kubernetes' own types that a spec embeds (pod templates, StatefulSet, Service, Ingress, route and
// autoscaler specs) are kept raw. Clients list and watch all objects of a kind at once, and one object that cannot be
// decoded would hide all others. Fields that exist only here are optional and absent by default, and are marked in
// their descriptions.
//
// Durations are milliseconds and integers have 64 bits, as in that API. An encoded status contains no null, because
// that API's schema accepts none.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1
