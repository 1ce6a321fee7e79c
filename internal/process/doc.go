// Package process has no code: the packages below it are the running operator, from its flags to its endpoints.
//
// The package operator connects everything: the manager of controller-runtime with its caches and their scope, the
// served kinds with their queues, the lock of the leader, the webhook, and the endpoints for probes. cmd/spark-
// operator reads the configuration and starts it. The package metricsauth serves the metrics to clients that may read
// them.
//
// The order of a start matters, and operator.NewOperator has it in one place. First come the transport and its
// fences, because each client is made from them. Then come the manager with its caches, which begin with the
// namespaces that the operator may read, and the lock of the leader. Then come the kinds, each of which begins as
// soon as its definition is served, so that a missing one stops no other. A replica that does not lead fills its
// caches and answers reviews, but writes nothing.
//
// A process ends if it loses its lease or if a part of it cannot go on, and Kubernetes starts it again. Nothing that
// a user could write into a custom resource is a reason to end.
//
// Nothing imports these packages except cmd/spark-operator, the bench, and tests.
package process
