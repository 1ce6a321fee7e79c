package observe_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorsOfAStatefulSet checks an application whose executors belong to a StatefulSet (Spark's allocator
// "statefulset"). The application becomes Ready when such an executor runs. A suspension neither waits for these
// executors nor deletes them.
func TestExecutorsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, resources.PodsOfSets)
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.allocation.pods.allocator": "statefulset"}
	})
	driver := w.RunningDriver(app, 1)
	w.Ready(driver.Name)
	template := w.Executor(app, driver, 1)
	template.Labels["sparkoperator.k8s.io/app-name"] = app.Name
	// The pod does not belong to the driver, so that only the operator could delete it.
	w.Create(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "spark-s-1-0"},
		Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels},
				Spec: template.Spec}},
	})
	executor := w.WaitPod("spark-s-1-0-0")
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	kit.Wait(t, "the application to be ready", func(context.Context) error {
		got := w.Get("pi")
		if err := world.Want(got.Status.ExecutorState[executor.Name], v1beta2.ExecutorStateRunning); err != nil {
			return err
		}
		return world.Want(world.Condition(got, "Ready").Status == metav1.ConditionTrue, true)
	})
	w.Suspend("pi", true)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)

	if left := w.WaitPod(executor.Name); left.UID != executor.UID || left.DeletionTimestamp != nil {
		t.Error("a pod was deleted by its labels")
	}
}
