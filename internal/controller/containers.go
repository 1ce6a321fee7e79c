package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// The containers that Spark runs in, unless a user's template names its own.
const (
	driverContainer   = overlay.DriverContainer
	executorContainer = overlay.ExecutorContainer
)

// serverVariable is what the container of a server has in its environment, whoever made it.
const serverVariable = "SPARK_NO_DAEMONIZE"

// sparkContainer is the name of a driver pod's container that Spark runs in. Of a server it may be one that the user's template named, among others of
// it; the cache keeps that one last (trimPod), which is the one that counts where none has the name that is returned.
func sparkContainer(pod *corev1.Pod) string {
	if pod.Labels[identity.RoleLabel] != identity.RoleServer || slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == driverContainer }) {
		return driverContainer
	}
	for _, c := range pod.Spec.Containers {
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == serverVariable }) {
			return c.Name
		}
	}
	return driverContainer
}

// confVolume is the volume of a driver pod with the ConfigMap that spark-submit makes last (KubernetesClientApplication).
const confVolume = "spark-conf-volume-driver"
