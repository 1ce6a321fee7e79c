package trim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// ServerVariable is an environment variable that every server container has, whether the operator or a user's template
// defines the container.
const ServerVariable = "SPARK_NO_DAEMONIZE"

// SparkContainer returns the name of the container that runs Spark in a driver pod. The template of a server may give
// this container another name and add other containers. If no container has the returned name, readers take the last
// container. Therefore the cache moves the container that runs Spark to the end (see Pod).
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

// ConfVolume is the name of the volume in a driver pod that holds the ConfigMap that spark-submit creates last
// (KubernetesClientApplication).
const ConfVolume = "spark-conf-volume-driver"
