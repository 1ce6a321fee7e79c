package trim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// ServerVariable is set in the environment of every server container, whether the operator or a user's template defines
// it.
const ServerVariable = "SPARK_NO_DAEMONIZE"

// SparkContainer returns the name of the container in a driver pod that runs Spark. For a server, a user's template may
// name this container and add others. If no container has the returned name, the last container counts, and the cache
// keeps Spark's container last (Pod).
func SparkContainer(pod *corev1.Pod) string {
	if pod.Labels[identity.RoleLabel] != identity.RoleServer || slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == overlay.DriverContainer }) {
		return overlay.DriverContainer
	}
	for _, c := range pod.Spec.Containers {
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == ServerVariable }) {
			return c.Name
		}
	}
	return overlay.DriverContainer
}

// ConfVolume is the driver pod's volume for the ConfigMap that spark-submit creates last (KubernetesClientApplication).
const ConfVolume = "spark-conf-volume-driver"
