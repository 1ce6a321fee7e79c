package operator

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
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// These tests play Kueue with its integration sparkoperator.k8s.io/sparkapplication. Kueue keeps an application
// suspended until there is quota. It then resumes the application and writes into the spec where the pods may run. It
// reverts both changes when it needs the quota for others. Kueue relies on the state in the status: an application in
// the state RUNNING uses its quota, and one in COMPLETED, FAILED or SUBMISSION_FAILED has released it.

// queued changes an application to the form in which a user submits it to Kueue: suspended, with the label of a queue.
// Kueue resumes it later.
func queued(app *v1beta2.SparkApplication) {
	scene.WithDriver(app)
	app.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high", "team": "a"}
	app.Spec.Mode = v1beta2.DeployModeCluster
	app.Spec.Suspend = new(true)
	app.Spec.Executor.Instances = new(int32(2))
	app.Spec.NodeSelector = nil
}

// admit resumes the application and gives the driver and the executors the settings of a flavor, all in one update as
// Kueue does.
func (w *world) admit(name, flavor string) {
	w.T.Helper()

	pod := fmt.Sprintf(`{"nodeSelector":{"flavor":%q},"tolerations":[{"key":"flavor","operator":"Exists"}],
		"labels":{"kueue.x-k8s.io/podset":"%%s"},"annotations":{"kueue.x-k8s.io/workload":"wl"},"template":{"metadata":{},"spec":{"containers":[]}}}`, flavor)
	w.Patch(name, `{"spec":{"suspend":false,"driver":`+fmt.Sprintf(pod, "driver")+`,"executor":`+fmt.Sprintf(pod, "executor")+`}}`)
}

// takeBack suspends the application again and removes the settings of the flavor, all in one update.
func (w *world) takeBack(name string) {
	w.T.Helper()
	const pod = `{"nodeSelector":null,"tolerations":null,"labels":null,"annotations":null}`
	w.Patch(name, `{"spec":{"suspend":true,"driver":`+pod+`,"executor":`+pod+`}}`)
}

// startExecutors creates n executors as a driver would, lets them run, and returns them.
func (w *world) startExecutors(app *v1beta2.SparkApplication, driver *corev1.Pod, n int) (executors []*corev1.Pod) {
	w.T.Helper()

	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Name: fmt.Sprintf("%s-%s-exec-%d", app.Name, driver.Labels[identity.AttemptLabel], i+1),
				Labels: map[string]string{
					identity.AppUIDLabel: string(app.UID), identity.AttemptLabel: driver.Labels[identity.AttemptLabel], identity.RoleLabel: identity.RoleExecutor,
					"spark-exec-id": fmt.Sprint(i + 1), "spark-app-selector": driver.Labels["spark-app-selector"],
				},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)},
					{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication", Name: app.Name, UID: app.UID},
				},
			},
			Spec: corev1.PodSpec{ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: overlay.ExecutorContainer, Image: "docker.io/apache/spark:4.1.4"}}},
		}
		w.Create(pod)
		w.kubelet(pod.Name, corev1.PodRunning, running())
		executors = append(executors, pod)
	}
	return executors
}

// waitAllReady waits until an application meets Kueue's criterion for ready pods: its state is RUNNING, and at least as
// many executors as requested run or have completed.
func (w *world) waitAllReady(name string) *v1beta2.SparkApplication {
	w.T.Helper()
	app := w.waitState(name, v1beta2.ApplicationStateRunning)
	kit.Wait(w.T, "all executors to be reported", func(context.Context) error {
		ready := 0

		app = w.Get(name)
		for _, state := range app.Status.ExecutorState {
			if state == v1beta2.ExecutorStateRunning || state == v1beta2.ExecutorStateCompleted {
				ready++
			}
		}
		return want(ready >= int(*app.Spec.Executor.Instances), true)
	})
	return app
}

// usingQuota returns the names of all pods of an application that have not ended, whatever their attempt. Only such
// pods use quota.
func (w *world) usingQuota(app *v1beta2.SparkApplication) (names []string) {
	w.T.Helper()

	var pods corev1.PodList
	if err := w.API.List(w.T.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
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
func (w *world) waitQuotaFree(app *v1beta2.SparkApplication) {
	w.T.Helper()
	kit.Wait(w.T, "the quota to be free", func(context.Context) error {
		if left := w.usingQuota(app); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

// TestQueueHoldsWhatItHasNotAdmitted checks that the operator creates no pod for an application that waits for
// admission, even if the application is edited.
func TestQueueHoldsWhatItHasNotAdmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", queued)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.Patch("pi", `{"spec":{"executor":{"instances":3}}}`)
	kit.Wait(t, "a pass over the edit", func(context.Context) error {
		now := w.Get("pi")
		return want(now.Status.ObservedGeneration, now.Generation)
	})

	if made := w.usingQuota(app); len(made) > 0 || w.Get("pi").Status.AppState.State != v1beta2.ApplicationStateSuspended {
		t.Errorf("the pods %v exist in state %s", made, w.Get("pi").Status.AppState.State)
	}
}

// TestQueueAdmitsAndEvicts checks that an admitted run has the placement that the queue chose. The pods of an evicted
// run, including its executors, are gone before the status is SUSPENDED. An eviction is neither a failure nor the end
// of the application, which can run again with another placement.
func TestQueueAdmitsAndEvicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", queued)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)

	for attempt, flavor := range []string{"spot", "reserved"} {
		w.admit("pi", flavor)
		driver := w.driverOf(app, attempt+1)
		w.checkAdmitted(driver, flavor)
		w.kubelet(driver.Name, corev1.PodRunning, running())
		w.startExecutors(app, driver, 2)
		w.waitAllReady("pi")

		w.takeBack("pi")

		got := w.waitState("pi", v1beta2.ApplicationStateSuspended)
		if left := w.usingQuota(app); len(left) > 0 {
			t.Errorf("the state is SUSPENDED, but %v still use quota", left)
		}

		if got.Status.ExecutionAttempts != int32(attempt+1) || len(got.Status.ExecutorState) > 2 {
			t.Errorf("after eviction %d: %d attempts, executors %v", attempt+1, got.Status.ExecutionAttempts, got.Status.ExecutorState)
		}
	}

	w.admit("pi", "reserved")
	driver := w.driverOf(app, 3)
	w.execute(driver, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.waitQuotaFree(app)
}

// checkAdmitted checks that the driver pod has the placement that the queue chose and the label of its pod set, and
// that it has no label by which Kueue would queue it as a workload of its own.
func (w *world) checkAdmitted(driver *corev1.Pod, flavor string) {
	w.T.Helper()

	if driver.Spec.NodeSelector["flavor"] != flavor || !slices.ContainsFunc(driver.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "flavor" }) {
		w.T.Errorf("node selector %v, tolerations %v", driver.Spec.NodeSelector, driver.Spec.Tolerations)
	}

	if driver.Labels["kueue.x-k8s.io/podset"] != "driver" || driver.Annotations["kueue.x-k8s.io/workload"] != "wl" || driver.Labels["team"] != "a" {
		w.T.Errorf("labels %v, annotations %v", driver.Labels, driver.Annotations)
	}

	for _, ofWorkload := range []string{"kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"} {
		if _, found := driver.Labels[ofWorkload]; found {
			w.T.Errorf("the driver has the workload's label %s, by which it would be queued itself", ofWorkload)
		}
	}

	if ref := metav1.GetControllerOf(driver); ref == nil || ref.Kind != "SparkApplication" || !strings.HasPrefix(ref.APIVersion, "sparkoperator.k8s.io/") {
		w.T.Errorf("the driver's controller is %v, not the application that the queue has admitted", ref)
	}
}

// TestQuotaOfARestart checks that the pods of an attempt do not exist before the pods of the previous attempt have
// ended, so that both never use quota at the same time. This holds after an edit and for a retry.
func TestQuotaOfARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", queued, func(app *v1beta2.SparkApplication) {
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1))}
	})
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	w.admit("pi", "spot")
	first := w.driverOf(app, 1)
	w.kubelet(first.Name, corev1.PodRunning, running())
	executors := w.startExecutors(app, first, 2)
	w.waitAllReady("pi")

	// A driver that dies leaves its executors. The operator does not wait until they notice.
	w.kubelet(first.Name, corev1.PodFailed, scene.Exited(1, "lost"))

	second := w.driverOf(app, 2)
	for _, executor := range executors {
		w.WaitGone(executor)
	}

	if left := w.usingQuota(app); len(left) != 1 {
		t.Errorf("when the retry has its driver, %v use quota", left)
	}

	// Somebody edits the size although the queue has admitted another one: the old run is gone before the new one
	// exists.
	w.kubelet(second.Name, corev1.PodRunning, running())
	w.startExecutors(app, second, 2)
	w.waitAllReady("pi")
	w.Patch("pi", `{"spec":{"arguments":["1000"]}}`)

	third := w.driverOf(app, 3)
	if left := w.usingQuota(app); !slices.Equal(left, []string{third.Name}) {
		t.Errorf("when the edited run has its driver, %v use quota", left)
	}

	// At the end no quota is used, even if the driver was killed and its executors run on.
	w.kubelet(third.Name, corev1.PodRunning, running())
	w.startExecutors(app, third, 2)
	w.waitAllReady("pi")
	w.kubelet(third.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitState("pi", v1beta2.ApplicationStateCompleted)
	w.waitQuotaFree(app)
}
