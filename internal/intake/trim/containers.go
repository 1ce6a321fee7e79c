package trim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// ServerVariable is an environment variable by which SparkContainer recognizes the container of a server. Every such
// container has it, whether the operator or a user's template defines the container.
const ServerVariable = "SPARK_NO_DAEMONIZE"

// SparkContainer returns the name of the container that runs Spark in a driver pod. The template of a server may give
// this container another name and add other containers.
//
// The cache moves the container that runs Spark to the end (see Pod), because readers take the last container if none
// has the expected name.
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

// ConfVolume is the name of a volume in a driver pod. The volume holds the ConfigMap that spark-submit creates as its
// last object (KubernetesClientApplication).
const ConfVolume = "spark-conf-volume-driver"
