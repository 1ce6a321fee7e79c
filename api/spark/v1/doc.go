// Package v1 holds the types of spark.apache.org/v1: SparkApplication and SparkCluster. The version v1beta1 of the group is served with the
// same schema and has no types of its own.
//
// The JSON form is a drop-in for the API that Spark users know under this group: what its schema accepts is accepted and kept. Kubernetes'
// own types that a spec embeds (pod templates, StatefulSet, Service, Ingress, route and autoscaler specs) are kept raw, because clients list
// and watch all objects of a kind at once: a single object that cannot be decoded would blind them to every other one. Fields that exist
// only here are optional, absent by default, and say so.
//
// Durations are milliseconds and whole numbers are 64 bits wide, as in that API. A status that is encoded holds no null: its schema
// accepts none.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1
