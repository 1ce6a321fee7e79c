// Package expose builds the objects beside a driver pod that are for others than Spark: the PodDisruptionBudget that keeps Kubernetes from evicting
// the driver, the Services, Ingresses and HTTPRoutes by which users reach its web UI and Prometheus its metrics, and the configuration files of the
// metrics exporter. It computes names and addresses of these objects, and checks which of them a platform's configuration lets users reach from
// outside the cluster. It knows no custom resource, and its functions are pure: the same arguments give the same objects.
package expose
