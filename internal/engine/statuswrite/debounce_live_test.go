package statuswrite_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestExecutorsAreStoredTogether checks that executor churn causes at most one status write every two seconds, however
// fast executors are created, start and end. In the end the counts are right.
func TestExecutorsAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 30
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	driver := w.DriverOf(app, 1)
	w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	w.Ready(driver.Name)
	w.StartExecutors(app, driver, 1)

	counts := func(want v1beta2.ExecutorCounts) {
		t.Helper()
		kit.Wait(t, fmt.Sprintf("%+v executors", want), func(context.Context) error {
			if got := w.Get("pi").Status.Executors; got == nil || *got != want {
				return fmt.Errorf("they are %+v", got)
			}
			return nil
		})
	}
	counts(v1beta2.ExecutorCounts{Running: 1})

	before, began := w.Metric("sparkoperator_status_writes_total"), time.Now()
	for id := 2; id < 2+many; id++ {
		executor := w.Executor(app, driver, id)
		w.Create(executor)
		w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
		w.Kubelet(executor.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	}

	counts(v1beta2.ExecutorCounts{Running: 1, Completed: many})

	writes, most := w.Metric("sparkoperator_status_writes_total")-before,
		2+time.Since(began).Seconds()/world.Quiet.Seconds()
	if t.Logf("%v writes in %s", writes, time.Since(began)); writes > most {
		t.Errorf("%v writes for %d executors, want at most %v", writes, many, most)
	}

	// Another change is stored at once, together with the debounced ones.
	w.Create(w.Executor(app, driver, many+2))
	w.Create(w.Executor(app, driver, many+3))
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))

	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	if n := len(got.Status.ExecutorState); n < many+1 {
		t.Errorf("%d executors are named in the end", n)
	}
}

// still is a clock that only the test advances. The field readCount is the number of times that the operator has read
// the clock; every pass reads it.
type still struct {
	began             time.Time
	offset, readCount atomic.Int64
}

func (s *still) now() time.Time {
	s.readCount.Add(1)
	return s.began.Add(time.Duration(s.offset.Load()))
}

// TestExecutorsThatAreGoneBeforeTheirDriver checks that an application causes only four status writes in its whole
// life, although its executors are created one by one, start late, and are deleted long before the driver ends. A
// temporary lack of executors causes no additional write.
func TestExecutorsThatAreGoneBeforeTheirDriver(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &still{began: time.Now()}
	var cached client.Client
	w.RunWith(world.Config(w.Namespace), clock.now, func(env *operator.Environment) {
		env.Wrap = func(inner client.Client) client.Client { cached = inner; return inner }
	})
	w.GrantSparkRights()
	const executors = 5
	app := w.Application("pi", scene.WithDriver,
		func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(executors)) })
	// waitPass waits until the cache shows the given number of executors, advances the clock by the given time, and
	// waits until a later pass has ended.
	waitPass := func(executors int, after time.Duration) {
		t.Helper()
		kit.Wait(t, "the cache", func(ctx context.Context) error {
			var pods corev1.PodList
			err := cached.List(ctx, &pods, client.InNamespace(w.Namespace),
				client.MatchingLabels{identity.RoleLabel: identity.RoleExecutor})
			return errors.Join(err, world.Want(len(pods.Items), executors))
		})
		clock.offset.Add(int64(after))

		for range 2 {
			before := clock.readCount.Load()
			kit.Wait(t, "a pass", func(context.Context) error {
				w.TriggerPass("pi")
				return world.Want(clock.readCount.Load() > before+2, true) // a pass reads the time twice
			})
		}
	}
	writes := func(most float64) {
		t.Helper()
		// A pass that met a conflict with the test's own write has stored nothing, and is not counted.
		if got := w.MetricOf("sparkoperator_status_writes_total", "result", "stored"); got > most {
			t.Fatalf("%v status writes, want at most %v; the status is %+v", got, most, w.Get("pi").Status)
		}
	}
	driver := w.DriverOf(app, 1)
	w.Ready(driver.Name)
	w.WaitState("pi", v1beta2.ApplicationStateRunning)

	for id := 1; id <= executors; id++ {
		w.Create(w.Executor(app, driver, id))
		waitPass(id, world.Arrival/2)
		writes(2)
	}

	for id := 1; id <= executors; id++ {
		w.Kubelet(fmt.Sprintf("pi-exec-%d", id), corev1.PodRunning, world.Running())
		waitPass(executors, world.Arrival/10)
	}

	waitAllRunning(w, "pi", executors)
	writes(3)

	for id := 1; id <= executors; id++ {
		executor := w.Executor(app, driver, id)
		w.Kubelet(executor.Name, corev1.PodSucceeded, scene.Exited(0, ""))

		if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}

		w.WaitGone(executor)
	}

	waitPass(0, 0)
	waitPass(0, world.Arrival/2)
	writes(3)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := w.WaitState("pi", v1beta2.ApplicationStateCompleted)

	writes(4)

	if diff := cmp.Diff(&v1beta2.ExecutorCounts{Completed: executors}, got.Status.Executors); diff != "" {
		t.Errorf("the executors in the end: %s", diff)
	}
}

// waitAllRunning waits until the status counts n running executors.
func waitAllRunning(w *world.World, name string, n int32) {
	w.T.Helper()
	kit.Wait(w.T, "all executors to run", func(context.Context) error {
		if got := w.Get(name).Status.Executors; got == nil || got.Running != n {
			return fmt.Errorf("they are %+v", got)
		}
		return nil
	})
}
