// Package expose builds the auxiliary objects of a driver pod: the PodDisruptionBudget that prevents evictions of the
// driver, the Services, Ingresses and HTTPRoutes through which users reach its web UI and Prometheus its metrics, and
// the configuration files of the metrics exporter. It computes names and addresses of these objects, and checks which
// of them a platform's configuration makes reachable from outside the cluster. It does not know custom resources, and
// its functions are pure.
package expose
