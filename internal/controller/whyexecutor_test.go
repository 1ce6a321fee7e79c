package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// countedReads counts lists.
type countedReads struct {
	client.Reader
	lists int
}

func (c *countedReads) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, options...)
}

// warn writes an Event about a pod.
func (w *world) warn(uid types.UID, name, reason, message string) {
	w.t.Helper()
	w.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "event-"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: name, UID: uid},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, LastTimestamp: metav1.Now(),
	})
}

// TestWaitingExecutorIsExplained: of the executors that wait in silence one is asked about, every few seconds at most.
func TestWaitingExecutorIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.warn("old", "exec-1", "FailedMount", "secret not found")
	w.warn("young", "exec-2", "FailedMount", "of another")
	waits := func(name, uid string, age time.Duration) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(noon.Add(-age)), Labels: map[string]string{identity.AttemptLabel: "1"},
		}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	}
	pod := func(change func(*corev1.Pod)) corev1.Pod {
		made := waits("exec-1", "old", time.Minute)
		change(&made)
		return made
	}
	for _, test := range []struct {
		name   string
		driver lifecycle.DriverPhase
		pods   []corev1.Pod
		why    map[string]string
		lists  int
		check  time.Duration
	}{
		{"the oldest", lifecycle.DriverRunning, []corev1.Pod{waits("exec-2", "young", 20*time.Second), waits("exec-1", "old", time.Minute)},
			map[string]string{"exec-1": "FailedMount"}, 1, 4 * time.Second},
		{"one of hours", lifecycle.DriverRunning, []corev1.Pod{waits("exec-1", "old", 9*time.Hour)}, map[string]string{"exec-1": "FailedMount"}, 1, time.Minute},
		{"one of a few seconds", lifecycle.DriverRunning, []corev1.Pod{waits("exec-1", "old", 4*time.Second)}, nil, 0, 6 * time.Second},
		{"one of a clock ahead of ours", lifecycle.DriverRunning, []corev1.Pod{waits("exec-1", "old", -time.Hour)}, nil, 0, submittedGrace},
		{"another says it", lifecycle.DriverRunning, []corev1.Pod{waits("exec-1", "old", time.Minute), pod(func(p *corev1.Pod) {
			p.Name = "exec-3"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: waiting("ImagePullBackOff", "no such image")}}
		})}, map[string]string{"exec-3": "ImagePullBackOff"}, 0, 0},
		{"one that goes", lifecycle.DriverRunning, []corev1.Pod{pod(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) })}, nil, 0, 0},
		{"one that runs", lifecycle.DriverRunning, []corev1.Pod{pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })}, nil, 0, 0},
		{"of another attempt", lifecycle.DriverRunning, []corev1.Pod{pod(func(p *corev1.Pod) { p.Labels = map[string]string{identity.AttemptLabel: "2"} })}, nil, 0, 0},
		{"their driver ended", lifecycle.DriverFailed, []corev1.Pod{waits("exec-1", "old", time.Minute)}, nil, 0, 0},
		{"nobody knows", lifecycle.DriverRunning, []corev1.Pod{waits("exec-4", "silent", time.Minute)}, nil, 1, 4 * time.Second},
		{"none", lifecycle.DriverRunning, nil, nil, 0, 0},
	} {
		reads := &countedReads{Reader: w.api}
		r := &Reconciler{live: reads}
		for range 3 { // of which the first asks
			p := &pass{now: noon, stored: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}}}
			p.children.executors = test.pods
			p.seen = p.children.facts()
			p.seen.Drivers = []lifecycle.Driver{{Attempt: 1, Phase: test.driver}}
			r.explainExecutor(t.Context(), p)
			why := map[string]string{}
			for _, e := range p.seen.Executors {
				if e.Why.Reason != "" {
					why[e.Name] = e.Why.Reason
				}
			}
			if len(why) != len(test.why) || why["exec-1"] != test.why["exec-1"] || why["exec-3"] != test.why["exec-3"] || p.check != test.check {
				t.Errorf("%s: told %v, want %v; look again after %s, want %s", test.name, why, test.why, p.check, test.check)
			}
		}
		if reads.lists != test.lists {
			t.Errorf("%s: %d reads, want %d", test.name, reads.lists, test.lists)
		}
	}
}

// TestExecutorIsAskedAboutAgain: an explanation is looked at anew after a while, and stays where the Events cannot be read.
func TestExecutorIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &Reconciler{live: w.api}
	ask := func(after time.Duration) string {
		p := &pass{now: noon.Add(after), stored: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}}}
		p.children.executors = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "e", UID: "e", CreationTimestamp: metav1.NewTime(noon)}}}
		p.seen = p.children.facts()
		p.seen.Drivers = []lifecycle.Driver{{Phase: lifecycle.DriverRunning}}
		r.explainExecutor(t.Context(), p)
		return p.seen.Executors[0].Why.Reason
	}
	first := ask(20 * time.Second)
	w.warn("e", "e", "FailedMount", "secret not found")
	second, third := ask(23*time.Second), ask(24*time.Second)
	r.live = w.powerless()
	if got, want := [4]string{first, second, third, ask(40 * time.Second)}, [4]string{"", "", "FailedMount", "FailedMount"}; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestExecutorThatWaitsIsShown: an executor that waits for a Secret says so nowhere but in an Event; condition and event of the application have it.
func TestExecutorThatWaitsIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runReal()
	app := w.application("pi", withDriver)
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	executor := w.executor(app, driver, 1)
	w.create(executor)
	w.kubelet(executor.Name, corev1.PodPending, waiting("ContainerCreating", ""))
	w.warn(executor.UID, executor.Name, "FailedMount", `secret "absent" not found`)
	w.waitReady("pi", "FailedMount", "executor pod pi-exec-1 waits: ", `secret "absent" not found`)
	w.waitEvent(app, "SparkExecutorPending", "pi-exec-1", `secret "absent" not found`)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	w.waitReady("pi", "Running")
	if told := w.get("pi").Status.Conditions; condition(w.get("pi"), "Degraded").Status == metav1.ConditionTrue {
		t.Errorf("the conditions are %+v", told)
	}
}
