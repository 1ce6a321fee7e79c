package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// takenExecutors simulates an application whose executor pods are deleted by a user, by Spark or by the kubelet, while
// the driver runs or after it has ended.
type takenExecutors struct {
	*world.World
	app    client.Object
	driver *corev1.Pod
	// executor creates an executor pod, and counts reads the status.
	executor func(id int) *corev1.Pod
	counts   func() *v1beta2.ExecutorCounts
}

// TestTakenExecutors checks that an executor counts as failed if somebody deletes it without a grace period while its
// driver runs, and that an event names this executor. An executor counts as completed if Spark deletes it, or if
// somebody deletes it after the end of its driver.
func TestTakenExecutors(t *testing.T) {
	t.Parallel()
	t.Run("sparkoperator.k8s.io", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		w.RunReal()
		app := w.Application("pi", scene.WithDriver,
			func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(4)) })
		driver := w.DriverOf(app, 1)
		play := takenExecutors{World: w, app: app, driver: driver}
		play.executor = func(id int) *corev1.Pod { return w.Executor(app, driver, id) }
		play.counts = func() *v1beta2.ExecutorCounts { return w.Get("pi").Status.Executors }
		play.play()

		want := map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateFailed,
			"pi-exec-2": v1beta2.ExecutorStateCompleted,
			"pi-exec-3": v1beta2.ExecutorStateCompleted, "pi-exec-4": v1beta2.ExecutorStateCompleted}
		if diff := cmp.Diff(want, w.Get("pi").Status.ExecutorState); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
	t.Run("spark.apache.org", func(t *testing.T) {
		t.Parallel()
		w := world.New(t)
		resources.RunApache(w, world.Config(w.Namespace), time.Now)
		app := resources.CreateApache(w, "pi",
			resources.WithTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways}))
		driver := resources.ApacheDriver(w, app, 1)
		play := takenExecutors{World: w, app: app, driver: driver}
		play.executor = func(id int) *corev1.Pod { return resources.ApacheExecutorPod(w, app, driver, id) }
		play.counts = func() *v1beta2.ExecutorCounts { return resources.GetApache(w, "pi").Status.Executors }
		play.play()
	})
}

func (p takenExecutors) play() {
	p.T.Helper()
	p.Ready(p.driver.Name)

	var executors []*corev1.Pod
	for id := 1; id <= 4; id++ {
		executor := p.executor(id)
		executor.Spec.NodeName, executor.Spec.TerminationGracePeriodSeconds = "node", nil
		p.Create(executor)
		p.Kubelet(executor.Name, corev1.PodRunning, world.Running())
		executors = append(executors, executor)
	}

	p.await(v1beta2.ExecutorCounts{Running: 4})

	p.delete(executors[0], client.GracePeriodSeconds(0)) // somebody
	p.delete(executors[1])                               // Spark, which no longer needs it
	p.Kubelet(executors[1].Name, corev1.PodFailed, scene.Exited(143, ""))
	p.delete(executors[1], client.GracePeriodSeconds(0))                   // the kubelet
	p.Kubelet(executors[2].Name, corev1.PodSucceeded, scene.Exited(0, "")) // its driver stopped it
	p.delete(executors[2])
	p.await(v1beta2.ExecutorCounts{Running: 1, Completed: 2, Failed: 1})
	p.WaitEvent(p.app, "SparkExecutorFailed", executors[0].Name+": ExecutorDeleted: ")

	p.Kubelet(p.driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	p.await(v1beta2.ExecutorCounts{Completed: 3, Failed: 1})
	p.delete(executors[3], client.GracePeriodSeconds(0))
	p.WaitGone(executors[3])

	if reported := p.EventsOf(p.app)["SparkExecutorFailed"]; strings.Contains(reported, "\n") {
		p.T.Errorf("the events say %q", reported)
	}
}

func (p takenExecutors) delete(pod *corev1.Pod, options ...client.DeleteOption) {
	p.T.Helper()

	if err := p.API.Delete(p.T.Context(), pod, options...); client.IgnoreNotFound(err) != nil {
		p.T.Fatal(err)
	}
}

// await waits until the status has the given counts.
func (p takenExecutors) await(want v1beta2.ExecutorCounts) {
	p.T.Helper()
	kit.Wait(p.T, fmt.Sprintf("the counts %+v", want), func(context.Context) error {
		if got := p.counts(); got == nil || *got != want {
			return fmt.Errorf("they are %+v", got)
		}
		return nil
	})
}

// TestTakenExecutorWithoutGracePeriod checks that a deleted executor counts as completed if the spec of its pod has a
// grace period of zero. The deletion of such a pod does not show whether Spark or somebody else requested it.
func TestTakenExecutorWithoutGracePeriod(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	executor := w.Executor(app, driver, 1)
	executor.Spec.NodeName, executor.Spec.TerminationGracePeriodSeconds = "node", new(int64(0))
	w.Create(executor)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	play := takenExecutors{World: w, counts: func() *v1beta2.ExecutorCounts { return w.Get("pi").Status.Executors }}
	play.await(v1beta2.ExecutorCounts{Running: 1})
	play.delete(executor)
	play.await(v1beta2.ExecutorCounts{Completed: 1})
}
