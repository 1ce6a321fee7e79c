package controller

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
)

// TestServerOnItsWayOutIsNotReady: from the deletion on nobody can connect, whatever the pod's own readiness says, and who waits for Ready is kept waiting.
func TestServerOnItsWayOutIsNotReady(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	goes := w.takesItsTime(pod)
	w.remove(pod)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady, holds("Ready", metav1.ConditionFalse, "DriverDeleting"),
		holds("ServerPodReady", metav1.ConditionFalse, "DriverDeleting"), holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		func(sc *v1alpha1.SparkConnect) error {
			return errors.Join(want(sc.Status.Server.PodName, "x-server"), want(sc.Status.Server.ServiceName, "x-server"))
		})
	w.waitEvent(sc, "SparkServerNotReady", "is being deleted")
	goes()
	w.waitServer("x", v1alpha1.SparkConnectStateFailed, holds("Progressing", metav1.ConditionTrue, "DriverDeleted"))
}

