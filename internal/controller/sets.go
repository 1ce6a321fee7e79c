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

// setDriver is how a driver is named by the executors of its sets: Spark's id of the application, and the attempt.
type setDriver struct {
	id      string
	attempt int32
}

func setDriverOf(pod *corev1.Pod) setDriver {
	return setDriver{pod.Labels[submit.SelectorLabel], attemptOf(pod)}
}

// goesOnWithSets reports whether executors of a set can be a driver's: it has told Spark's id of the application, and goes on.
func goesOnWithSets(driver *corev1.Pod) bool {
	if driver.Labels[submit.SelectorLabel] == "" {
		return false
	}
	switch lifecycle.DriverFacts(driver, driverContainer).Phase {
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		return false
	}
	return true
}
