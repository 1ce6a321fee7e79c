package handlers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/churn"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// endedExecutor returns an executor of the application pi whose Spark container ended with the given exit code. A
// negative code means that the container has not ended.
func endedExecutor(uid string, code int32) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "pi-exec-" + uid, UID: types.UID(uid),
			Labels: map[string]string{identity.RoleLabel: identity.RoleExecutor, identity.AppUIDLabel: "app",
				identity.AttemptLabel: "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(),
				Kind: "SparkApplication", Name: "pi", UID: "app"}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: overlay.ExecutorContainer}}},
	}
	if code >= 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: overlay.ExecutorContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
	}
	return pod
}

// TestFailedExecutorIsNoted checks that an executor is noted by the event that first shows its failure, and only if
// this process leads.
func TestFailedExecutorIsNoted(t *testing.T) {
	t.Parallel()

	runs, failed, done := endedExecutor("1", -1), endedExecutor("1", 1), endedExecutor("1", 0)
	driver := endedExecutor("1", 1)
	driver.Labels[identity.RoleLabel] = identity.RoleDriver
	succeeded := endedExecutor("1", 0)
	succeeded.Labels[identity.RoleLabel] = identity.RoleDriver
	withNode := driver.DeepCopy()
	withNode.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1000, 0)}}
	open, closed := make(chan struct{}), make(chan struct{})
	close(closed)

	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	for _, test := range []struct {
		name        string
		leads       chan struct{}
		counts      bool
		before, now client.Object
		want        int
	}{
		{"fails", closed, true, runs, failed, 1},
		{"failed before its first event", closed, true, nil, failed, 1},
		{"failed before", closed, true, failed, failed, 0},
		{"completes", closed, true, runs, done, 0},
		{"runs", closed, true, runs, runs, 0},
		{"a driver", closed, true, nil, driver, 0},
		{"no pod", closed, true, nil, &corev1.ConfigMap{}, 0},
		{"fails while another replica leads", open, true, runs, failed, 0},
		{"is deleted", closed, true, runs, nil, 1},
		{"is deleted after it failed", closed, true, failed, nil, 1},
		{"is deleted while another replica leads", open, true, runs, nil, 0},
		{"a driver without a node is deleted", closed, true, driver, nil, 0},
		{"a driver is deleted", closed, true, withNode, nil, 1},
		{"a driver that exited with 0 is deleted", closed, true, succeeded, nil, 1},
		{"is deleted, kind does not count deletions", closed, false, runs, nil, 0},
		{"fails, kind does not count deletions", closed, false, runs, failed, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			owner := OwnerOf(v1beta2.Kind("SparkApplication"), "")

			w := Pods{handler.Funcs{}, owner, &churn.Ended{}, test.leads, test.counts, nil}
			switch {
			case test.now == nil:
				w.Delete(t.Context(), event.DeleteEvent{Object: test.before}, nil)
			case test.before == nil:
				w.Create(t.Context(), event.CreateEvent{Object: test.now}, nil)
			default:
				w.Update(t.Context(), event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.now}, nil)
			}

			got := w.Ended.Of(key)
			if len(got) != test.want {
				t.Errorf("noted %d, want %d", len(got), test.want)
			}

			for _, end := range got {
				if test.now == nil && end.Use.From > 0 && end.Use.Until == 0 {
					t.Errorf("the end of the pod is unknown: %+v", end.Use)
				}
			}
		})
	}
}

// TestLastState checks whether LastState counts a deleted executor as failed or as completed, for each last state of
// its pod.
func TestLastState(t *testing.T) {
	t.Parallel()

	runs := endedExecutor("1", -1)
	runs.Status.Phase = corev1.PodRunning
	evicted := runs.DeepCopy()

	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: "EvictionByEvictionAPI"}}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want lifecycle.DriverPhase
	}{
		"it ran":           {runs, lifecycle.DriverSucceeded},
		"it never ran":     {endedExecutor("1", -1), lifecycle.DriverSucceeded},
		"it had completed": {endedExecutor("1", 0), lifecycle.DriverSucceeded},
		"it had failed":    {endedExecutor("1", 1), lifecycle.DriverFailed},
		"it was evicted":   {evicted, lifecycle.DriverFailed},
	} {
		last := LastState(c.pod)

		facts := lifecycle.ExecutorFacts(&last)
		if facts.Phase != c.want || facts.Name != c.pod.Name || facts.Attempt != 1 || last.UID != c.pod.UID ||
			len(last.OwnerReferences) != 1 {
			t.Errorf("%s: %+v of %+v", name, facts, last)
		}
	}
}

// TestDeletedRunningExecutorIsTaken checks End.Taken, which means that somebody else deleted a running executor. It
// must be true if the pod was running in its last state before the deletion. If the watch was broken, the last state
// may be outdated, so Taken must be false.
func TestDeletedRunningExecutorIsTaken(t *testing.T) {
	t.Parallel()

	runs, leads := endedExecutor("1", -1), make(chan struct{})
	runs.Status.Phase = corev1.PodRunning

	close(leads)

	owner := OwnerOf(v1beta2.Kind("SparkApplication"), "")
	for name, c := range map[string]struct {
		deleted event.DeleteEvent
		want    bool
	}{
		"it ran":                       {event.DeleteEvent{Object: runs}, true},
		"it ran before a broken watch": {event.DeleteEvent{Object: runs, DeleteStateUnknown: true}, false},
		"it had ended":                 {event.DeleteEvent{Object: endedExecutor("1", 0)}, false},
		"it had not begun":             {event.DeleteEvent{Object: endedExecutor("1", -1)}, false},
		"it had no grace period":       {event.DeleteEvent{Object: graceless(runs)}, false},
	} {
		w := Pods{handler.Funcs{}, owner, &churn.Ended{}, leads, true, nil}
		w.Delete(t.Context(), c.deleted, nil)

		got := w.Ended.Of(types.NamespacedName{Namespace: "ns", Name: "pi"})
		if len(got) != 1 || !got[0].Gone || got[0].Taken != c.want {
			t.Errorf("%s: noted %+v", name, got)
		}
	}
}

// graceless returns a copy of a pod, in the form in which the cache holds it, with a grace period of zero.
func graceless(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))

	trimmed, err := trim.Pod(pod)
	if err != nil {
		panic(err)
	}
	return trimmed.(*corev1.Pod)
}

// strictQueue is a queue that records Add and AddAfter, and fails the test on AddRateLimited.
type strictQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	t     *testing.T
	added []reconcile.Request
	later map[time.Duration]int
}

func (q *strictQueue) Add(r reconcile.Request) { q.added = append(q.added, r) }

func (q *strictQueue) AddRateLimited(r reconcile.Request) {
	q.t.Errorf("%v has to pass the rate limiter", r)
}

func (q *strictQueue) AddAfter(_ reconcile.Request, after time.Duration) {
	q.later[after]++
}

// TestEventsAreNotRateLimited checks that each event of a pod queues its application without the queue's rate limiter,
// which is for failed passes. Most events queue the application at once. Events of an executor that does not fail and
// of a driver that is starting queue the application with a delay.
func TestEventsAreNotRateLimited(t *testing.T) {
	t.Parallel()

	leads := make(chan struct{})
	close(leads)

	owner := OwnerOf(v1beta2.Kind("SparkApplication"), "")
	w := Pods{handler.EnqueueRequestsFromMapFunc(owner), owner, &churn.Ended{}, leads, true, nil}
	driver := endedExecutor("d", -1)
	driver.Labels[identity.RoleLabel] = identity.RoleDriver
	waits := driver.DeepCopy()
	driver.Status.Phase = corev1.PodRunning
	stuck, going := waits.DeepCopy(), waits.DeepCopy()
	stuck.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable}}
	going.DeletionTimestamp = new(metav1.Now())

	runs, failed := endedExecutor("1", -1), endedExecutor("1", 1)
	for _, test := range []struct {
		name        string
		before, now *corev1.Pod
		atOnce      int
		later       map[time.Duration]int
	}{
		{"of a driver", driver, driver, 102, map[time.Duration]int{}},
		{"of a driver that is about to start", waits, waits, 1, map[time.Duration]int{gatherDelay: 101}},
		{"of an unschedulable driver", stuck, stuck, 102, map[time.Duration]int{}},
		{"of a driver that is deleted before it starts", going, going, 102, map[time.Duration]int{}},
		{"of a driver that starts", waits, driver, 101, map[time.Duration]int{gatherDelay: 1}},
		{"of an executor that fails", runs, failed, 100, map[time.Duration]int{gatherDelay: 2}},
		{"of an executor", runs, runs, 0, map[time.Duration]int{gatherDelay: 102}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := &strictQueue{t: t, later: map[time.Duration]int{}}
			w.Create(t.Context(), event.CreateEvent{Object: test.before}, q)

			for range 100 {
				w.Update(t.Context(), event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.now}, q)
			}

			w.Delete(t.Context(), event.DeleteEvent{Object: test.now}, q)

			if len(q.added) != test.atOnce {
				t.Errorf("102 events are added at once %d times, want %d", len(q.added), test.atOnce)
			}

			for _, added := range q.added {
				if added.NamespacedName != (types.NamespacedName{Namespace: "ns", Name: "pi"}) {
					t.Errorf("%v is added", added)
				}
			}

			if diff := cmp.Diff(test.later, q.later); diff != "" {
				t.Errorf("added later (-want +got):\n%s", diff)
			}
		})
	}
}
