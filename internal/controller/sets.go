package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// A driver may leave its executors to a StatefulSet or a Deployment (spark.kubernetes.allocation.pods.allocator). The set is the driver's, and goes with
// its pod; the executors have the labels of our template, and the set, or its ReplicaSet, as their only owner: Kubernetes takes none over from a
// template. By the labels they are counted and looked at. Anybody can set a label, so nothing is deleted by it, and nobody waits for them to go: they
// count as long as the driver goes on.

// inSet reports whether a workload controller keeps a pod.
func inSet(object metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	return ref != nil && ref.APIVersion == "apps/v1" && (ref.Kind == "StatefulSet" || ref.Kind == "ReplicaSet")
}

// inSetOf reports whether a pod is an executor of a set of the driver's: that has told it Spark's id of the application, and goes on.
func inSetOf(pod, driver *corev1.Pod) bool {
	id := driver.Labels[submit.SelectorLabel]
	if !inSet(pod) || id == "" || pod.Labels[submit.SelectorLabel] != id || attemptOf(pod) != attemptOf(driver) {
		return false
	}
	switch lifecycle.DriverFacts(driver, driverContainer).Phase {
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		return false
	}
	return true
}
