// Package sparkoperator contains the code that all kinds of the API group sparkoperator.k8s.io share: labels, the
// exposure of a web UI (exposure.go), and the checks of single fields (settings.go). The package fields converts fields
// into Spark's configuration. The packages application, connect and schedule each contain the code for one kind.
package sparkoperator
