package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// cutStride is how far apart the points are at which TestCrashInALongLife kills the operator. CRASH_POINTS=all takes each, which lasts minutes.
const cutStride = 9

// TestCrashInALongLife kills the operator before and after writes of a submission, a suspension, its end, an edit and a retry, one in each life. Another
// process goes on. No life has two drivers at once, starts an attempt twice, or counts a run that was none.
func TestCrashInALongLife(t *testing.T) {
	t.Parallel()
	stride := cutStride
	if os.Getenv("CRASH_POINTS") == "all" {
		stride = 1
	}
	const points = 140 // twice the writes of a life, and some more, at which nobody dies
	ended := map[bool]int{}
	var mu sync.Mutex
	t.Run("cut", func(t *testing.T) {
		for point := 0; point < points; point += stride {
			t.Run(fmt.Sprintf("at-%d-%t", point/2+1, point%2 == 1), func(t *testing.T) {
				t.Parallel()
				died := longLife(t, &crashing{at: point/2 + 1, after: point%2 == 1, killed: make(chan struct{})})
				mu.Lock()
				defer mu.Unlock()
				ended[died]++
			})
		}
	})
	if t.Failed() {
		return
	}
	t.Logf("%d lives with a crash, %d without", ended[true], ended[false])
	if ended[true] < points/stride/2 || ended[false] == 0 && stride == 1 {
		t.Errorf("the points do not fit the writes of a life: %v", ended)
	}
}

// longLife plays one life whose operator dies as given, and reports whether it did.
func longLife(t *testing.T, crash *crashing) (died bool) {
	w := newWorld(t)
	stop := w.runReal(func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	var others sync.WaitGroup
	over := make(chan struct{})
	others.Go(func() {
		select {
		case <-crash.killed:
			died = true
			stop()
			w.runReal()
		case <-over:
		}
	})
	app := w.application("pi", withDriver, withBudget, onFailure(1))
	started := w.witnessDrivers(app, over, &others)

	w.attemptRuns(1)
	w.patchPi(`{"spec":{"suspend":true}}`)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.patchPi(`{"spec":{"suspend":false}}`)
	w.attemptRuns(2)
	w.patchPi(`{"spec":{"arguments":["9"]}}`)
	w.attemptRuns(3)
	w.kubelet("pi-driver", corev1.PodFailed, exited(3, "again"))
	w.attemptRuns(4)
	w.kubelet("pi-driver", corev1.PodSucceeded, exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.waitBudgets(app, 0)
	close(over)
	others.Wait()
	for attempt, pods := range started {
		if len(pods) > 1 {
			t.Errorf("attempt %s was started %d times", attempt, len(pods))
		}
	}
	if got.Status.ExecutionAttempts != 2 || got.Status.Operator.Attempt != 4 || len(started) != 4 {
		t.Errorf("%d runs since the edit, the last is attempt %d; started: %v", got.Status.ExecutionAttempts, got.Status.Operator.Attempt, started)
	}
	return died
}

// witnessDrivers watches an application's drivers until a life is over: never two at once. It returns those of each attempt, to be read after that.
func (w *world) witnessDrivers(app client.Object, over <-chan struct{}, others *sync.WaitGroup) map[string]map[types.UID]bool {
	started := map[string]map[types.UID]bool{}
	look := func() {
		var pods corev1.PodList
		if err := w.api.List(context.Background(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{
			labelAppUID: string(app.GetUID()), labelRole: roleDriver,
		}); err != nil {
			w.t.Error(err)
		}
		if len(pods.Items) > 1 {
			w.t.Errorf("%d drivers at once", len(pods.Items))
		}
		for i := range pods.Items {
			attempt := pods.Items[i].Labels[labelAttempt]
			seen := map[types.UID]bool{pods.Items[i].UID: true}
			maps.Copy(seen, started[attempt])
			started[attempt] = seen
		}
	}
	others.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
				look()
			}
		}
	})
	return started
}

// attemptRuns plays the kubelet until an attempt's driver runs and the status says so.
func (w *world) attemptRuns(attempt int32) {
	w.t.Helper()
	testkit.Wait(w.t, fmt.Sprintf("attempt %d to run", attempt), func(ctx context.Context) error {
		driver := &corev1.Pod{}
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: driverName("pi")}, driver); err != nil {
			return err
		}
		if driver.Labels[labelAttempt] != fmt.Sprint(attempt) {
			return errors.New("there is no driver of it")
		}
		if driver.DeletionTimestamp == nil && driver.Status.Phase != corev1.PodRunning {
			before := driver.DeepCopy()
			driver.Status.Phase = corev1.PodRunning
			driver.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driverContainer, State: running()}}
			if err := w.api.Status().Patch(ctx, driver, client.MergeFrom(before)); err != nil {
				return err
			}
		}
		status := w.get("pi").Status
		if status.Operator == nil || status.Operator.Attempt != attempt {
			return errors.New("it is not in the status")
		}
		return want(status.AppState.State, v1beta2.ApplicationStateRunning)
	})
}

// patchPi patches the application pi.
func (w *world) patchPi(patch string) {
	w.t.Helper()
	app := w.get("pi")
	if err := w.api.Patch(w.t.Context(), app, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}
