// Package expose builds the auxiliary objects of a driver pod:
//
//   - the PodDisruptionBudget that prevents evictions of the driver;
//   - the Services, Ingresses and HTTPRoutes through which users reach the driver's web UI and Prometheus reaches its
//     metrics;
//   - the ConfigMap with the configuration files for the driver's and the executors' metrics.
//
// The package computes the names and addresses of these objects. It also checks the Services of users, and can make
// them internal for a platform that does not allow exposure outside the cluster. The package does not depend on custom
// resources, and its functions are pure.
package expose
