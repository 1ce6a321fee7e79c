package trim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// ServerVariable is what the container of a server has in its environment, whoever made it.
const ServerVariable = "SPARK_NO_DAEMONIZE"

// SparkContainer is the name of a driver pod's container that Spark runs in. Of a server it may be one that the user's template named, among others of
// it; the cache keeps that one last (Pod), which is the one that counts where none has the name that is returned.
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

// ConfVolume is the volume of a driver pod with the ConfigMap that spark-submit makes last (KubernetesClientApplication).
const ConfVolume = "spark-conf-volume-driver"
