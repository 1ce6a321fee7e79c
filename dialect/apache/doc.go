// Package apache is the dialect of the API group spark.apache.org: SparkApplications and SparkClusters, as the operator of the Apache Spark project has
// them. It reads custom resources into what the machines decide by (lifecycle.App, Memory), writes what follows into their statuses, and renders what a
// decision asks for. It is pure: nothing here reads anything but its arguments.
package apache
