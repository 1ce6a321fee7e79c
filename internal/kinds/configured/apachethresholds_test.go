package configured_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestLackOutlivesTheOperator checks that the status shows a lack of executors as a state after a delay, although no
// event queues the application when the delay ends. If the operator restarts during the delay, the new process starts
// the delay again.
func TestLackOutlivesTheOperator(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	stop := resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "below",
		resources.WithTolerations(sparkv1.ApplicationTolerations{InstanceConfig: &sparkv1.InstanceConfig{
			InitExecutors: new(int64(1)), MinExecutors: new(int64(1))}}))
	driver := resources.ApacheDriver(w, app, 1)
	w.Ready(driver.Name)
	executor := apacheExecutor(w, app, driver, 1)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	resources.WaitApache(w, "below", sparkv1.ApplicationRunningHealthy)

	w.Kubelet(executor.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(executor)
	stop()

	begun := time.Now()
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	below := resources.WaitApache(w, "below", sparkv1.ApplicationRunningWithBelowThresholdExecutors).Status.CurrentState

	at, err := time.Parse(time.RFC3339Nano, below.LastTransitionTime)
	if err != nil {
		t.Fatal(err)
	}

	if took := at.Sub(begun); took < 5*time.Second {
		t.Errorf("the new process reported the lack of executors after %s", took)
	}
}
