// Package sparkoperator holds what the kinds of the API group sparkoperator.k8s.io have in common: their labels, the names of their conditions and
// events, the exposure of a web UI (exposure.go), and how single fields become Spark's configuration (settings.go). The kinds themselves are the
// packages below it: application, connect and schedule.
package sparkoperator
