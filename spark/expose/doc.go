// Package expose builds the auxiliary objects of a driver pod. These are the PodDisruptionBudget that prevents
// evictions of the driver, the Services, Ingresses and HTTPRoutes through which users reach the driver's web UI and
// Prometheus reaches its metrics, and the configuration files of the metrics exporter. The package computes names and
// addresses of these objects, and decides which of them a platform's configuration allows to be reachable from outside
// the cluster. It does not depend on custom resources, and its functions are pure.
package expose
