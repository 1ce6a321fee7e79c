package configured_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// These tests play Kueue with its integration sparkoperator.k8s.io/sparkapplication. Kueue keeps an application
// suspended until there is quota. It then resumes the application and writes into the spec where the pods may run. It
// reverts both changes when it needs the quota for others. Kueue relies on the state in the status: an application in
// the state RUNNING uses its quota, and one in COMPLETED, FAILED or SUBMISSION_FAILED has released it.

// queued changes an application to the form in which a user submits it to Kueue: suspended, with the label of a queue.
// Kueue resumes it later.
func queued(app *v1beta2.SparkApplication) {
	scene.WithDriver(app)
	app.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high",
		"team": "a"}
	app.Spec.Mode = v1beta2.DeployModeCluster
	app.Spec.Suspend = new(true)
	app.Spec.Executor.Instances = new(int32(2))
	app.Spec.NodeSelector = nil
}

// admit resumes the application and gives the driver and the executors the settings of a flavor, all in one update as
// Kueue does.
func admit(w *world.World, name, flavor string) {
	w.T.Helper()

	pod := fmt.Sprintf(`{"nodeSelector":{"flavor":%q},"tolerations":[{"key":"flavor","operator":"Exists"}],
		"labels":{"kueue.x-k8s.io/podset":"%%s"},"annotations":{"kueue.x-k8s.io/workload":"wl"},"template":{"metadata":{},"spec":{"containers":[]}}}`, flavor)
	w.Patch(name, `{"spec":{"suspend":false,"driver":`+fmt.Sprintf(pod, "driver")+`,"executor":`+fmt.Sprintf(pod,
		"executor")+`}}`)
}

// takeBack suspends the application again and removes the settings of the flavor, all in one update.
func takeBack(w *world.World, name string) {
	w.T.Helper()
	const pod = `{"nodeSelector":null,"tolerations":null,"labels":null,"annotations":null}`
	w.Patch(name, `{"spec":{"suspend":true,"driver":`+pod+`,"executor":`+pod+`}}`)
}

// waitAllReady waits until an application meets Kueue's criterion for ready pods: its state is RUNNING, and at least as
// many executors as requested run or have completed.
func waitAllReady(w *world.World, name string) *v1beta2.SparkApplication {
	w.T.Helper()
	app := w.WaitState(name, v1beta2.ApplicationStateRunning)
	kit.Wait(w.T, "all executors to be reported", func(context.Context) error {
		ready := 0

		app = w.Get(name)
		for _, state := range app.Status.ExecutorState {
			if state == v1beta2.ExecutorStateRunning || state == v1beta2.ExecutorStateCompleted {
				ready++
			}
		}
		return world.Want(ready >= int(*app.Spec.Executor.Instances), true)
	})
	return app
}

// usingQuota returns the names of all pods of an application that have not ended, whatever their attempt. Only such
// pods use quota.
func usingQuota(w *world.World, app *v1beta2.SparkApplication) (names []string) {
	w.T.Helper()

	var pods corev1.PodList
	if err := w.API.List(w.T.Context(), &pods, client.InNamespace(w.Namespace),
		client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
		w.T.Fatal(err)
	}

	for i := range pods.Items {
		if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			names = append(names, pods.Items[i].Name)
		}
	}

	slices.Sort(names)
	return names
}

// waitQuotaFree waits until the application uses no quota.
func waitQuotaFree(w *world.World, app *v1beta2.SparkApplication) {
	w.T.Helper()
	kit.Wait(w.T, "the quota to be free", func(context.Context) error {
		if left := usingQuota(w, app); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

// TestQueueHoldsWhatItHasNotAdmitted checks that the operator creates no pod for an application that waits for
// admission, even if the application is edited.
func TestQueueHoldsWhatItHasNotAdmitted(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", queued)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	w.Patch("pi", `{"spec":{"executor":{"instances":3}}}`)
	kit.Wait(t, "a pass over the edit", func(context.Context) error {
		now := w.Get("pi")
		return world.Want(now.Status.ObservedGeneration, now.Generation)
	})

	if made := usingQuota(w, app); len(made) > 0 ||
		w.Get("pi").Status.AppState.State != v1beta2.ApplicationStateSuspended {
		t.Errorf("the pods %v exist in state %s", made, w.Get("pi").Status.AppState.State)
	}
}

// TestQueueAdmitsAndEvicts checks that an admitted run has the placement that the queue chose. The pods of an evicted
// run, including its executors, are gone before the status is SUSPENDED. An eviction is neither a failure nor the end
// of the application, which can run again with another placement.
func TestQueueAdmitsAndEvicts(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", queued)
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)

	for attempt, flavor := range []string{"spot", "reserved"} {
		admit(w, "pi", flavor)
		driver := w.DriverOf(app, attempt+1)
		checkAdmitted(w, driver, flavor)
		w.Kubelet(driver.Name, corev1.PodRunning, world.Running())
		w.StartExecutors(app, driver, 2)
		waitAllReady(w, "pi")

		takeBack(w, "pi")

		got := w.WaitState("pi", v1beta2.ApplicationStateSuspended)
		if left := usingQuota(w, app); len(left) > 0 {
			t.Errorf("the state is SUSPENDED, but %v still use quota", left)
		}

		if got.Status.ExecutionAttempts != int32(attempt+1) || len(got.Status.ExecutorState) > 2 {
			t.Errorf("after eviction %d: %d attempts, executors %v", attempt+1, got.Status.ExecutionAttempts,
				got.Status.ExecutorState)
		}
	}

	admit(w, "pi", "reserved")
	driver := w.DriverOf(app, 3)
	w.Execute(driver, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	waitQuotaFree(w, app)
}

// checkAdmitted checks that the driver pod has the placement that the queue chose and the label of its pod set, and
// that it has no label by which Kueue would queue it as a workload of its own.
func checkAdmitted(w *world.World, driver *corev1.Pod, flavor string) {
	w.T.Helper()

	if driver.Spec.NodeSelector["flavor"] != flavor ||
		!slices.ContainsFunc(driver.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "flavor" }) {
		w.T.Errorf("node selector %v, tolerations %v", driver.Spec.NodeSelector, driver.Spec.Tolerations)
	}

	if driver.Labels["kueue.x-k8s.io/podset"] != "driver" || driver.Annotations["kueue.x-k8s.io/workload"] != "wl" ||
		driver.Labels["team"] != "a" {
		w.T.Errorf("labels %v, annotations %v", driver.Labels, driver.Annotations)
	}

	for _, ofWorkload := range []string{"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"} {
		if _, found := driver.Labels[ofWorkload]; found {
			w.T.Errorf("the driver has the workload's label %s, by which it would be queued itself", ofWorkload)
		}
	}

	if ref := metav1.GetControllerOf(driver); ref == nil || ref.Kind != "SparkApplication" ||
		!strings.HasPrefix(ref.APIVersion, "sparkoperator.k8s.io/") {
		w.T.Errorf("the driver's controller is %v, not the application that the queue has admitted", ref)
	}
}

// TestQuotaOfARestart checks that the pods of an attempt do not exist before the pods of the previous attempt have
// ended, so that both never use quota at the same time. This holds after an edit and for a retry.
func TestQuotaOfARestart(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.RunReal()
	app := w.Application("pi", queued, func(app *v1beta2.SparkApplication) {
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1))}
	})
	w.WaitState("pi", v1beta2.ApplicationStateSuspended)
	admit(w, "pi", "spot")
	first := w.DriverOf(app, 1)
	w.Kubelet(first.Name, corev1.PodRunning, world.Running())
	executors := w.StartExecutors(app, first, 2)
	waitAllReady(w, "pi")

	// A driver that dies leaves its executors. The operator does not wait until they notice.
	w.Kubelet(first.Name, corev1.PodFailed, scene.Exited(1, "lost"))

	second := w.DriverOf(app, 2)
	for _, executor := range executors {
		w.WaitGone(executor)
	}

	if left := usingQuota(w, app); len(left) != 1 {
		t.Errorf("when the retry has its driver, %v use quota", left)
	}

	// Somebody edits the size although the queue has admitted another one: the old run is gone before the new one
	// exists.
	w.Kubelet(second.Name, corev1.PodRunning, world.Running())
	w.StartExecutors(app, second, 2)
	waitAllReady(w, "pi")
	w.Patch("pi", `{"spec":{"arguments":["1000"]}}`)

	third := w.DriverOf(app, 3)
	if left := usingQuota(w, app); !slices.Equal(left, []string{third.Name}) {
		t.Errorf("when the edited run has its driver, %v use quota", left)
	}

	// At the end no quota is used, even if the driver was killed and its executors run on.
	w.Kubelet(third.Name, corev1.PodRunning, world.Running())
	w.StartExecutors(app, third, 2)
	waitAllReady(w, "pi")
	w.Kubelet(third.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	waitQuotaFree(w, app)
}
