// Package sparkoperator contains the code that all kinds of the API group sparkoperator.k8s.io share: labels, the
// exposure of a web UI (exposure.go), and the conversion of single fields into Spark's configuration (settings.go). The
// packages application, connect and schedule in this directory each contain the code for one kind.
package sparkoperator
