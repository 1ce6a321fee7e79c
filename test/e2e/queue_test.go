package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
)

// urgent is the WorkloadPriorityClass of the resources that take the quota of others.
const urgent = "urgent"

// queued runs resources of spark.apache.org in queues of Kueue, which the test plays. The pods are real, also those of
// Spark's own executors: they request what the Workloads requested, run where the flavor says, and never have more than
// the quota. Each queue has room for one resource at a time.
func (w *suite) queued(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.nodeName(t)}}
	w.patch(t, node, `{"metadata":{"labels":{"flavor":"default"}}}`)

	q := queues.On(t, w.Client, "default", "cpu", "700m", "memory", "3Gi")
	for queue, cpu := range map[string]string{"clusters": "300m", "servers": "500m"} {
		q.LocalQueues["default/"+queue] = queue
		q.ClusterQueues[queue] = &queues.ClusterQueue{Flavors: []string{"default"}, Preempts: true,
			Quota: map[string]corev1.ResourceList{"default": queues.Quantities("cpu", cpu, "memory", "2Gi")}}
	}

	w.create(t, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgent}, Value: 1000})

	ended := make(chan struct{})
	go func() { defer close(ended); q.Run(t.Context(), 250*time.Millisecond) }()

	t.Cleanup(func() { <-ended })

	t.Run("kinds", func(t *testing.T) {
		w.parallel(t, "application is preempted", func(t *testing.T) { w.queuedApplication(t, w.ledger(t, q, "shared")) })
		w.parallel(t, "server is preempted", func(t *testing.T) { w.queuedServer(t, w.ledger(t, q, "servers")) })
		w.parallel(t, "cluster is preempted", func(t *testing.T) { w.queuedCluster(t, w.ledger(t, q, "clusters")) })
	})
}

// queuedApplication checks that an application waits without a pod, runs when it is admitted, gives way to the example
// of the documentation, which is urgent, and succeeds when it is admitted again.
func (w *suite) queuedApplication(t *testing.T, l *ledger) {
	other := l.occupy(t, "research", "600m")

	app := scriptedApacheApp(t, "queue-waits", `{}`, "session", "sleep")
	app.Labels = map[string]string{kueue.QueueLabel: "research"}
	w.create(t, app)
	awaitObject(t, w, app, patience, "the wait for quota", func(a *sparkv1.SparkApplication) bool {
		return waitsForQuota(a.Status.Conditions) && a.Status.CurrentState == nil
	})

	if left := w.dependents(t, app); len(left) > 0 {
		t.Errorf("an application without quota has %v", left)
	}

	w.remove(t, other)
	w.awaitApache(t, app, patience, appHealthy)
	l.add(t, app, "sparkapplication")

	relabelled := app.DeepCopy()

	relabelled.Labels[kueue.QueueLabel] = "other"
	if err := w.Client.Patch(t.Context(), relabelled, client.MergeFrom(app)); !apierrors.IsForbidden(err) {
		t.Errorf("the queue of a running application changed: %v", err)
	}

	example := exampleOf(t, "apache-pi-kueue.yaml", func(a *sparkv1.SparkApplication) { a.Labels[kueue.PriorityLabel] = urgent })
	w.create(t, example)
	awaitObject(t, w, app, patience, "the wait after the eviction", func(a *sparkv1.SparkApplication) bool {
		return waitsForQuota(a.Status.Conditions)
	})
	w.patch(t, app, `{"spec":{"driverArgs":["session"]}}`)
	w.awaitApache(t, example, patience, appHealthy)
	l.add(t, example, "sparkapplication")
	w.awaitApache(t, example, patience, appReleased)
	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, toReadyAnd(appHealthy, appSucceeded, appReleased))

	if got := app.Status.CurrentAttemptSummary.AttemptInfo; *got != (sparkv1.AttemptInfo{ID: 1}) {
		t.Errorf("the attempt after the eviction is %+v", got)
	}

	transitions := app.Status.PreviousAttemptSummary.StateTransitionHistory
	if diff := cmp.Diff(toReadyAnd(appHealthy, sparkv1.ApplicationSuspended), history(t, transitions)); diff != "" {
		t.Errorf("history of the evicted attempt (-want +got):\n%s", diff)
	}

	if got := transitions[strconv.Itoa(len(toReady)+1)].SuspendReason; got != sparkv1.KueueEviction {
		t.Errorf("the reason of the suspension is %q", got)
	}

	for _, a := range []*sparkv1.SparkApplication{app, example} {
		w.awaitEvent(t, a, "KueueAdmitted", func(e corev1.Event) bool { return e.Reason == "KueueAdmitted" })
		w.waitNoDependents(t, a)
		w.waitNoWorkload(t, "sparkapplication-"+a.Name)
	}

	l.check(t)
}

// queuedCluster checks that a cluster runs when it is admitted, is stopped when its quota is needed, returns the quota
// when its pods are gone, and runs a job when it is admitted again.
func (w *suite) queuedCluster(t *testing.T, l *ledger) {
	c := smallCluster("queue-cluster", 1)
	c.Labels = map[string]string{kueue.QueueLabel: "clusters"}
	w.create(t, c)
	w.awaitCluster(t, c, patience, sparkv1.ClusterRunningHealthy)
	l.add(t, c, "sparkcluster")

	other := l.occupy(t, "clusters", "300m")
	w.awaitEvicted(t, c)
	awaitObject(t, w, c, patience, "the wait after the eviction", func(c *sparkv1.SparkCluster) bool {
		return waitsForQuota(c.Status.Conditions)
	})
	w.waitNoStatefulSets(t, c)
	w.remove(t, other)
	w.awaitCluster(t, c, patience, sparkv1.ClusterRunningHealthy)
	w.awaitWorkers(t, c, 1)
	w.submitTo(t, c, "queued")
	w.remove(t, c)
	w.waitNoWorkload(t, "sparkcluster-"+c.Name)
	l.check(t)
}

// queuedServer checks the same of a Spark Connect server, whose session runs on executors of the admitted attempt.
func (w *suite) queuedServer(t *testing.T, l *ledger) {
	server := w.connectServer(t, "queue-server", func(s *v1alpha1.SparkConnect) { s.Labels = map[string]string{kueue.QueueLabel: "servers"} })
	w.create(t, server)
	first := w.awaitServer(t, server, "")
	w.awaitExecutors(t, server, 1)
	l.add(t, server, "sparkconnect")

	other := l.occupy(t, "servers", "500m")
	w.awaitEvicted(t, server)
	awaitObject(t, w, server, patience, "the wait after the eviction", func(s *v1alpha1.SparkConnect) bool {
		return waitsForQuota(s.Status.Conditions)
	})

	w.remove(t, other)
	second := w.awaitServer(t, server, first.UID)
	w.checkRanOnExecutors(t, server, second, w.session(t, server))
	w.remove(t, server)
	w.waitNoWorkload(t, "sparkconnect-"+server.Name)
	l.check(t)
}

// waitsForQuota reports whether the condition Ready says that the queue has not admitted the resource.
func waitsForQuota(conditions []metav1.Condition) bool {
	ready := meta.FindStatusCondition(conditions, "Ready")
	return ready != nil && ready.Reason == "KueueAdmissionPending"
}

func (w *suite) awaitEvicted(t *testing.T, o client.Object) {
	t.Helper()
	w.awaitEvent(t, o, "an event about the eviction", func(e corev1.Event) bool {
		return strings.Contains(e.Message, "Kueue evicted")
	})
}

// occupy creates an urgent Workload that nobody owns, as a job of another kind would have, and waits until it has its
// quota. At that moment no pod of the queue may be left.
func (l *ledger) occupy(t *testing.T, queue, cpu string) *kueue.Workload {
	t.Helper()

	other := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "other-" + queue, Namespace: "default"}, Spec: kueue.WorkloadSpec{
		QueueName: queue, Priority: new(int32(1000)),
		PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: queues.Quantities("cpu", cpu)},
		}}}}}},
	}}
	l.create(t, other)
	awaitObject(t, l.suite, other, patience, "the quota", func(o *kueue.Workload) bool { return queues.Is(o, kueue.Admitted) })

	var pods corev1.PodList
	if err := l.Client.List(t.Context(), &pods, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}

	for i := range pods.Items {
		if w := l.of(&pods.Items[i]); w != nil {
			t.Errorf("pod %s of %s exists, although its quota was given to another", pods.Items[i].Name, w.Name)
		}
	}
	return other
}

func (w *suite) waitNoWorkload(t *testing.T, name string) {
	t.Helper()
	eventually(t, time.Minute, "the deletion of the Workload "+name, func() (string, bool) {
		found := &kueue.Workload{}
		err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, found)
		return fmt.Sprintf("%v %+v", err, found.Status), apierrors.IsNotFound(err)
	})
}

// ledger records every change of pods, and what the Workloads of some resources requested.
type ledger struct {
	*suite
	quota     corev1.ResourceList
	watch     watch.Interface
	changes   []watch.Event
	ended     chan struct{}
	requested map[types.UID]*kueue.Workload // by the resource
}

// ledger returns the record of a ClusterQueue, which begins now.
func (w *suite) ledger(t *testing.T, q *queues.Queues, queue string) *ledger {
	t.Helper()

	changes, err := w.Client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}

	l := &ledger{suite: w, quota: q.ClusterQueues[queue].Quota["default"], watch: changes, ended: make(chan struct{}),
		requested: map[types.UID]*kueue.Workload{}}
	go func() {
		defer close(l.ended)

		for change := range changes.ResultChan() {
			l.changes = append(l.changes, change)
		}
	}()

	t.Cleanup(changes.Stop)
	return l
}

// add reads the Workload of a resource that has been admitted.
func (l *ledger) add(t *testing.T, owner client.Object, kind string) {
	t.Helper()

	w := &kueue.Workload{}
	if err := l.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: kind + "-" + owner.GetName()}, w); err != nil {
		t.Fatal(err)
	}

	if !queues.Is(w, kueue.Admitted) || !metav1.IsControlledBy(w, owner) {
		t.Errorf("%s runs, and its Workload is %+v", owner.GetName(), w)
	}

	l.requested[owner.GetUID()] = w
}

// check replays the record. After each change, the pods may request no more than the quota, and belong to one resource.
// Each pod must request what the Workload requested for its role, and each role must have had all its pods at once.
func (l *ledger) check(t *testing.T) {
	t.Helper()

	select {
	case <-l.ended:
		t.Fatalf("the watch of pods ended early, after %d changes", len(l.changes))
	default:
	}

	l.watch.Stop()
	<-l.ended

	exist, most := map[types.UID]*corev1.Pod{}, map[string]int{}
	for _, change := range l.changes {
		pod, isPod := change.Object.(*corev1.Pod)
		if !isPod { // the error of the stream that was stopped
			continue
		}

		if change.Type == watch.Deleted {
			delete(exist, pod.UID)
		} else if l.of(pod) != nil {
			exist[pod.UID] = pod
		}

		sum, owners, counts := corev1.ResourceList{}, map[string]bool{}, map[string]int{}
		for _, pod := range exist {
			w := l.of(pod)
			owners[w.Name] = true
			role := w.Name + " " + roleOf(pod)
			counts[role]++
			most[role] = max(most[role], counts[role])

			for name, quantity := range requests(&pod.Spec) {
				all := sum[name]
				all.Add(quantity)
				sum[name] = all
			}
		}

		for name, quota := range l.quota {
			if used := sum[name]; used.Cmp(quota) > 0 || len(owners) > 1 {
				t.Errorf("pods of %v request %s of %s, the quota is %s", owners, &used, name, &quota)
			}
		}

		if change.Type == watch.Added && l.of(pod) != nil {
			l.checkPod(t, pod)
		}
	}

	for _, w := range l.requested {
		for _, set := range w.Spec.PodSets {
			if got := most[w.Name+" "+set.Name]; got != int(set.Count) {
				t.Errorf("%s requested %d pods of the set %s, and %d existed together", w.Name, set.Count, set.Name, got)
			}
		}
	}
}

// of returns the Workload of a pod's owner, or nil.
func (l *ledger) of(pod *corev1.Pod) *kueue.Workload {
	return l.requested[types.UID(pod.Labels[labelAppUID])]
}

// roleOf returns the pod set to which a pod belongs. A server's pod is a driver.
func roleOf(pod *corev1.Pod) string {
	if role := pod.Labels["spark-role"]; role != "connect-server" {
		return role
	}
	return "driver"
}

// checkPod compares a pod with the pod set of its role.
func (l *ledger) checkPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()

	w := l.of(pod)

	at := slices.IndexFunc(w.Spec.PodSets, func(set kueue.PodSet) bool { return set.Name == roleOf(pod) })
	if at < 0 {
		t.Errorf("nothing was requested for pod %s", pod.Name)
		return
	}

	got, want := requests(&pod.Spec), requests(&w.Spec.PodSets[at].Template.Spec)
	if len(want) == 0 || !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("pod %s requests %v, and its Workload requested %v", pod.Name, got, want)
	}

	if got := pod.Spec.NodeSelector["flavor"]; got != "default" {
		t.Errorf("pod %s runs on nodes of flavor %q", pod.Name, got)
	}
}

// requests returns what a pod requests.
func requests(spec *corev1.PodSpec) corev1.ResourceList {
	return queues.Requests(&kueue.PodSet{Count: 1, Template: corev1.PodTemplateSpec{Spec: *spec}})
}
