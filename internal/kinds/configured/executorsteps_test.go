package configured_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorSteps checks that the status of an ended application has the number of its executors over time, although
// their pods were deleted.
func TestExecutorSteps(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.RunningDriver(app, 1)
	begun := time.Now().Truncate(time.Second)

	set := func(executor *corev1.Pod, from time.Time, phase corev1.PodPhase, state corev1.ContainerState) {
		t.Helper()

		before := executor.DeepCopy()
		executor.Status.Phase = phase
		executor.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(from)}}

		executor.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: executor.Spec.Containers[0].Name, State: state}}
		if err := w.API.Status().Patch(t.Context(), executor, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}

	// The operator observes the first executor only when it has ended.
	first, second := w.Executor(app, driver, 1), w.Executor(app, driver, 2)
	w.Create(first)

	exited := scene.Exited(0, "")
	exited.Terminated.FinishedAt = metav1.NewTime(begun.Add(-20 * time.Second))
	set(first, begun.Add(-50*time.Second), corev1.PodSucceeded, exited)
	w.Remove(first)
	w.WaitGone(first)

	w.Create(second)
	set(second, begun, corev1.PodRunning, world.Running())
	kit.Wait(t, "some time of the second executor", func(context.Context) error {
		if lived := time.Since(begun); lived < 3*time.Second {
			return fmt.Errorf("it has lived for %s", lived)
		}
		return nil
	})
	set(second, begun, corev1.PodSucceeded, scene.Exited(0, ""))
	w.Remove(second)
	w.WaitGone(second)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	text := w.WaitState("pi", v1beta2.ApplicationStateCompleted).Status.Operator.Usage.ExecutorSteps
	steps, at := usage.ParseSteps(text), begun.Unix()

	// A status that was written just before an executor was observed makes it begin then.
	if len(steps) != 4 || steps[2].N != 1 || steps[2].At > at+2 || steps[3].N != 0 || steps[3].At < at+2 || steps[3].At > time.Now().Unix() ||
		steps[0] != (usage.Step{At: at - 50, N: 1}) || steps[1] != (usage.Step{At: at - 20}) {
		t.Errorf("the steps are %q, and the second executor began at %d", text, at)
	}
}
