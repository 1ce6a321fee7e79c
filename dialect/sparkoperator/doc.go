// Package sparkoperator speaks sparkoperator.k8s.io/v1beta2: it reads a SparkApplication into the terms of lifecycle and spark/submit, and
// writes what was decided back into its status. It is pure.
//
// names.go holds every name and label; conf.go what a typed field becomes in Spark's configuration; render.go the objects of an attempt.
package sparkoperator
