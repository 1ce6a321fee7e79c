package node

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/util/workqueue"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestStatusPatchesAreValid checks that each patch results in the status that a kubelet would write, and that no field
// of the previous status remains.
func TestStatusPatchesAreValid(t *testing.T) {
	now := []byte(`{"metadata":{"uid":"u"},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]}}`)

	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	for _, step := range []struct {
		patch string
		words []string
		phase corev1.PodPhase
		ready corev1.ConditionStatus
	}{
		{creating, nil, corev1.PodPending, corev1.ConditionFalse},
		{running, []string{"ADDRESS", "10.0.0.1"}, corev1.PodRunning, corev1.ConditionTrue},
		{ended, []string{"PHASE", "Failed", "CODE", "1"}, corev1.PodFailed, corev1.ConditionFalse},
	} {
		var err error
		if now, err = strategicpatch.StrategicMergePatch(now, fill(p, step.patch, noon, step.words...),
			&corev1.Pod{}); err != nil {
			t.Fatal(err)
		}

		var pod corev1.Pod
		if err := json.Unmarshal(now, &pod); err != nil {
			t.Fatal(err)
		}

		state, set := pod.Status.ContainerStatuses[0].State, 0
		for _, present := range []bool{state.Waiting != nil, state.Running != nil, state.Terminated != nil} {
			if present {
				set++
			}
		}

		if pod.Status.Phase != step.phase || set != 1 || len(pod.Status.ContainerStatuses) != 1 {
			t.Errorf("%s: the phase is %s, the container %+v", step.phase, pod.Status.Phase, state)
		}

		scheduled := false
		for _, c := range pod.Status.Conditions {
			scheduled = scheduled || c.Type == corev1.PodScheduled
			if c.Type == corev1.PodReady &&
				(c.Status != step.ready || (c.Reason == "ContainersNotReady") != (step.phase == corev1.PodPending)) {
				t.Errorf("%s: %+v", step.phase, c)
			}
		}

		if !scheduled {
			t.Errorf("%s: the patch removed the scheduler's condition", step.phase)
		}
	}
}

// driverPod returns the pod that the operator creates for an application of a load.
func driverPod(t *testing.T) (*v1beta2.SparkApplication, *corev1.Pod) {
	t.Helper()

	spec := load.Spec{Classes: []load.Class{{Name: "a", Namespace: "n", Count: 1, Executors: 2, Run: time.Second,
		Fail: 1}}}

	text, err := json.Marshal(spec.Applications()[0].Object)
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := json.Unmarshal(text, app); err != nil {
		t.Fatal(err)
	}

	app.UID = "app"
	attempt := lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}

	objects, err := application.Dialect{}.Render(app, attempt, noon)
	if err != nil {
		t.Fatal(err)
	}

	pod := objects.Driver
	pod.UID, pod.Spec.NodeName, pod.Status.Phase = "driver", "node-1", corev1.PodPending
	return app, pod
}

// TestDriverCreatesExecutorsLikeSpark checks that the operator copies a load.Program to the driver pod, and that the
// driver owns the executors that it creates.
func TestDriverCreatesExecutorsLikeSpark(t *testing.T) {
	app, driver := driverPod(t)

	program, err := load.ReadProgram(driver.Spec.Containers[0].Args)
	if diff := cmp.Diff(load.Program{Executors: 2, Run: time.Second, Exit: 1}, program); diff != "" || err != nil {
		t.Error(err, diff)
	}

	pods, err := executors(app, driver, program)
	if err != nil || len(pods) != 2 {
		t.Fatalf("%d executors, %v", len(pods), err)
	}

	for _, x := range pods {
		owner := metav1.GetControllerOf(x)
		if owner == nil || owner.UID != "driver" || x.Labels[selector] != driver.Labels[selector] ||
			x.Spec.NodeName != "" {
			t.Errorf("executor %s: %+v", x.Name, x.ObjectMeta)
		}
	}

	if made := configMaps(pods[0]); len(made) != 1 || made[0].OwnerReferences[0].UID != "driver" {
		t.Errorf("they mount %+v", made)
	}
}

// TestEventsBecomeTasks checks the tasks that the cache's events queue. A new pod gets one task to start it and, when
// it is deleted, one task to remove it. A pod that already runs gets no task to start it.
func TestEventsBecomeTasks(t *testing.T) {
	c := &Cluster{tasks: workqueue.NewTypedDelayingQueue[task]()}
	defer c.tasks.ShutDown()

	_, fresh := driverPod(t)
	c.add(fresh)
	c.add(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}})

	leaving := fresh.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}

	c.update(fresh, fresh)
	c.update(fresh, leaving)
	c.update(leaving, leaving)
	c.add(leaving)

	for _, want := range []act{start, remove} {
		if got, _ := c.tasks.Get(); got != taskFor(fresh, want) {
			t.Errorf("%+v, want %d", got, want)
		}
	}

	if n := c.tasks.Len(); n != 0 {
		t.Errorf("%d more tasks", n)
	}
}
