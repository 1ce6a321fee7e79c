package controller

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// keptBy makes an executor that a workload controller has made: the template's labels are all that it has of its application.
func keptBy(pod *corev1.Pod, kind string) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "spark-s-1-0", UID: "set", Controller: new(true)}}
	pod.Labels["spark-exec-id"] = "EXECID"
	return pod
}

func TestExecutorsOfSetsAreTold(t *testing.T) {
	t.Parallel()
	driver := func(change ...func(*corev1.Pod)) corev1.Pod {
		pod := endedExecutor("driver", -1)
		pod.Labels[identity.RoleLabel], pod.Labels[submit.SelectorLabel] = identity.RoleDriver, "spark-1"
		pod.Spec.Containers[0].Name, pod.OwnerReferences[0].Controller = overlay.DriverContainer, new(true)
		for _, c := range change {
			c(pod)
		}
		return *pod
	}
	executor := func(kind string, change ...func(*corev1.Pod)) corev1.Pod {
		pod := keptBy(endedExecutor("executor", -1), kind)
		pod.Labels[submit.SelectorLabel] = "spark-1"
		for _, c := range change {
			c(pod)
		}
		return *pod
	}
	label := func(key, value string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Labels[key] = value } }
	for _, test := range []struct {
		name             string
		driver, executor corev1.Pod
		want             int
	}{
		{"of a StatefulSet", driver(), executor("StatefulSet"), 1},
		{"of a Deployment", driver(), executor("ReplicaSet"), 1},
		{"of a Job", driver(), executor("Job"), 0},
		{"of a set that is no workload controller's", driver(), executor("StatefulSet", func(pod *corev1.Pod) { pod.OwnerReferences[0].APIVersion = "example.com/v1" }), 0},
		{"of nobody", driver(), executor("StatefulSet", func(pod *corev1.Pod) { pod.OwnerReferences = nil }), 0},
		{"of another application of Spark's", driver(), executor("StatefulSet", label(submit.SelectorLabel, "spark-2")), 0},
		{"of another attempt", driver(), executor("StatefulSet", label(identity.AttemptLabel, "2")), 0},
		{"of no application of Spark's", driver(label(submit.SelectorLabel, "")), executor("StatefulSet", label(submit.SelectorLabel, "")), 0},
		{"of no role", driver(), executor("StatefulSet", label(identity.RoleLabel, "other")), 0},
		{"whose driver has ended", driver(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }), executor("StatefulSet"), 0},
		{"whose driver is another's", driver(func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "other" }), executor("StatefulSet"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pass{children: dependents.Sort([]corev1.Pod{test.executor, test.driver}, types.UID("app"))}
			if got := len(p.children.Executors); got != test.want {
				t.Errorf("%d executors, want %d", got, test.want)
			}
			for _, part := range []lifecycle.Part{lifecycle.Attempt, lifecycle.Executors} {
				for _, target := range p.targets(lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: 1}) {
					if target.GetLabels()[identity.RoleLabel] == identity.RoleExecutor {
						t.Errorf("to delete part %v deletes it", part)
					}
				}
			}
		})
	}
}

// TestExecutorsOfAStatefulSet: with Spark's allocator for sets an application is as healthy as its executors, from their own events on; and neither its
// suspension nor its end waits for them or takes them.
func TestExecutorsOfAStatefulSet(t *testing.T) {
	t.Parallel()
	testkit.NeedsControllers(t, podsOfSets)
	w := newWorld(t)
	w.runReal()
	app := w.application("pi", withDriver, func(app *v1beta2.SparkApplication) {
		app.Spec.SparkConf = map[string]string{"spark.kubernetes.allocation.pods.allocator": "statefulset"}
	})
	driver := w.runningDriver(app, 1)
	w.ready(driver.Name)
	template := w.executor(app, driver, 1)
	template.Labels["sparkoperator.k8s.io/app-name"] = app.Name
	// Not the driver's, so that nobody takes the pod away unless the operator does.
	w.create(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "spark-s-1-0"},
		Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}},
	})
	executor := w.waitPod("spark-s-1-0-0")
	w.kubelet(executor.Name, corev1.PodRunning, running())
	testkit.Wait(t, "the application to be ready", func(context.Context) error {
		got := w.get("pi")
		if err := want(got.Status.ExecutorState[executor.Name], v1beta2.ExecutorStateRunning); err != nil {
			return err
		}
		return want(condition(got, "Ready").Status == metav1.ConditionTrue, true)
	})
	w.suspend("pi", true)
	w.waitState("pi", v1beta2.ApplicationStateSuspended)
	if left := w.waitPod(executor.Name); left.UID != executor.UID || left.DeletionTimestamp != nil {
		t.Error("a pod was deleted by its labels")
	}
}
