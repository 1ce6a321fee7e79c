package kueue_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
)

const workloadName = "configmap-pi"

// bench is a queue with an owner on a real API server. The owner is a ConfigMap, since the package knows no kind of
// custom resources.
type bench struct {
	*queues.Queues
	t     *testing.T
	queue *kueue.Queue
	owner *corev1.ConfigMap
	pods  []dialect.Pods
}

func newBench(t *testing.T, quota ...string) *bench {
	t.Helper()

	namespace := kit.Namespace(t)
	b := &bench{t: t, Queues: queues.New(t, namespace, quota...)}
	b.queue = &kueue.Queue{
		Client: client.WithFieldOwner(b.API, identity.FieldOwner), Live: b.API, Cached: func(string) client.Reader { return b.API },
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, NameLabel: identity.ApacheAppNameLabel,
	}

	b.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pi", Labels: map[string]string{kueue.QueueLabel: "research", "team": "a"}}}
	if err := b.API.Create(t.Context(), b.owner); err != nil {
		t.Fatal(err)
	}

	b.pods = []dialect.Pods{{Role: "driver", Pod: pod("1", "1Gi"), Count: 1}, {Role: "executor", Pod: pod("2", "2Gi"), Count: 3}}
	return b
}

func pod(cpu, memory string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "spark", Image: "spark", Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}},
		Resources: corev1.ResourceRequirements{Requests: queues.Quantities("cpu", cpu, "memory", memory)},
	}}}}
}

// downReader is a client of an API server that does not answer.
type downReader struct{ client.Reader }

func (downReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the API server does not answer")
}

// TestUnreadWorkload checks that a Workload which cannot be read counts as one that may exist, and that the other facts
// count as unknown.
func TestUnreadWorkload(t *testing.T) {
	t.Parallel()

	q := kueue.Queue{Live: downReader{}, Cached: func(string) client.Reader { return downReader{} }, Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "pi", Labels: map[string]string{kueue.QueueLabel: "research"}}}

	want := &lifecycle.Quota{Name: workloadName, Requested: true, Unread: true}
	if diff := cmp.Diff(want, q.Observe(t.Context(), owner, nil, true, time.Now())); diff != "" {
		t.Error(diff)
	}
}

// ask requests quota for an attempt.
func (b *bench) ask(attempt int32) lifecycle.Quota {
	b.t.Helper()

	answer, refusal, err := b.queue.Request(b.t.Context(), b.owner, attempt, b.pods, time.Now())
	if err != nil || refusal != nil {
		b.t.Fatalf("ask: %v, %v", refusal, err)
	}

	if !answer.Asked || answer.Wait != nil && answer.RequeueAfter == 0 {
		b.t.Errorf("answer %+v", answer)
	}
	return answer
}

// waits checks that a request has to wait, with a part of its message.
func (b *bench) waits(answer lifecycle.Quota, reason, message string) {
	b.t.Helper()

	if answer.Wait == nil || answer.Wait.Reason != reason || !strings.Contains(answer.Wait.Message, message) {
		b.t.Errorf("the answer is %+v, wait %+v; want %s: ...%s...", answer, answer.Wait, reason, message)
	}
}

// admitted checks that a request is admitted.
func (b *bench) admitted(answer lifecycle.Quota) {
	b.t.Helper()

	if answer.Wait != nil || !answer.Reserved {
		b.t.Fatalf("the answer is %+v, wait %+v", answer, answer.Wait)
	}
}

func (b *bench) cycle() {
	b.t.Helper()

	if err := b.Cycle(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) relabel(queue string) {
	b.t.Helper()

	b.owner.Labels[kueue.QueueLabel] = queue
	if queue == "" {
		delete(b.owner.Labels, kueue.QueueLabel)
	}

	if err := b.API.Update(b.t.Context(), b.owner); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) must(err error) {
	b.t.Helper()

	if err != nil {
		b.t.Fatal(err)
	}
}

// TestLifeOfARequest plays the life of a request: it waits, is admitted, is evicted and queued again with a growing
// back-off, is deactivated and active again, and is deleted at the end. One Workload does all of it, so it keeps its
// place in the queue and its count of evictions.
func TestLifeOfARequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7", "memory", "7Gi")
	b.Backoff, b.BackoffLimit = time.Hour, 2

	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "Workload configmap-pi waits for quota in LocalQueue research")

	first := b.Workload(workloadName)

	labels := map[string]string{kueue.QueueLabel: "research", "team": "a", identity.ApacheAppNameLabel: "pi", identity.AppUIDLabel: string(b.owner.UID), identity.ManagedLabel: "true"}
	switch {
	case !maps.Equal(first.Labels, labels):
		t.Errorf("labels %v, want %v", first.Labels, labels)
	case !metav1.IsControlledBy(first, b.owner), first.Spec.QueueName != "research", *first.Spec.Priority != 0, first.Spec.PriorityClassRef != nil, first.Annotations[kueue.AttemptAnnotation] != "1":
		t.Errorf("the Workload is %+v", first)
	case len(first.Spec.PodSets) != 2, first.Spec.PodSets[1].Name != "executor", first.Spec.PodSets[1].Count != 3, len(first.Spec.PodSets[0].Template.Spec.Containers[0].Env) > 0:
		t.Errorf("the pod sets are %+v", first.Spec.PodSets)
	}

	b.pods[1].Count = 4
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "")
	b.cycle()
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "insufficient unused quota for cpu")
	b.pods[1].Count = 3
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "")
	b.cycle()
	answer := b.ask(1)
	b.admitted(answer)

	if got := answer.Placement["executor"]; got.NodeSelector["flavor"] != b.Namespace || got.Source != "ResourceFlavor "+b.Namespace {
		t.Errorf("the executors are placed at %+v", got)
	}

	b.must(b.queue.Ready(t.Context(), b.owner, time.Now()))

	seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now())
	if !seen.Requested || !seen.Reserved || !seen.Started || seen.Attempt != 1 || seen.Evicted != nil {
		t.Errorf("seen %+v", seen)
	}

	for attempt := int32(2); attempt < 5; attempt++ { // the third eviction deactivates
		b.EvictNow(workloadName, "PodsReadyTimeout")

		if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); seen.Evicted == nil || !seen.Reserved {
			t.Fatalf("seen %+v", seen)
		}

		b.must(b.queue.GiveBack(t.Context(), b.owner, attempt, time.Now()))
		b.must(b.queue.GiveBack(t.Context(), b.owner, attempt, time.Now())) // nothing is left to do

		w := b.Workload(workloadName)
		if len(queues.Used("shared", []*kueue.Workload{w})) > 0 || queues.Is(w, kueue.Admitted) || queues.Is(w, kueue.PodsReady) || w.Status.Admission != nil {
			t.Errorf("the quota is not free: %+v", w.Status)
		}

		if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); (seen.Evicted != nil) != (attempt == 4) || seen.Reserved || !seen.Requested || seen.Attempt != attempt {
			t.Errorf("seen %+v", seen)
		}

		b.cycle()

		if attempt == 4 {
			break
		}

		b.waits(b.ask(attempt), lifecycle.ReasonQuotaPending, "was evicted (PodsReadyTimeout: by the test); it is queued again at")

		if left := time.Until(w.Status.RequeueState.RequeueAt.Time); left < time.Duration(attempt-1)*59*time.Minute {
			t.Errorf("the back-off of attempt %d is over in %s", attempt, left)
		}

		b.Change(workloadName, func(w *kueue.Workload) {
			w.Status.RequeueState.RequeueAt = new(metav1.NewTime(time.Now().Add(-time.Hour)))
		})
		b.cycle()
		b.admitted(b.ask(attempt))
	}

	b.waits(b.ask(4), lifecycle.ReasonQuotaPending, "is deactivated (DeactivatedDueToRequeuingLimitExceeded")
	b.Change(workloadName, func(w *kueue.Workload) { w.Spec.Active = new(true) })
	b.cycle()
	b.admitted(b.ask(4))

	if w := b.Workload(workloadName); w.UID != first.UID {
		t.Error("the Workload was replaced")
	}

	b.must(b.queue.Finish(t.Context(), b.owner, lifecycle.Succeeded, time.Now()))

	w := b.Workload(workloadName)
	if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); !seen.Finished || len(queues.Used("shared", []*kueue.Workload{w})) > 0 {
		t.Errorf("seen %+v of %+v", seen, w.Status)
	}

	b.waits(b.ask(5), lifecycle.ReasonQuotaPending, "is finished")
	b.waits(b.ask(5), lifecycle.ReasonQuotaPending, "waits for quota")

	if w := b.Workload(workloadName); w.UID == first.UID {
		t.Error("a finished Workload was not replaced")
	}

	b.must(b.queue.Release(t.Context(), b.owner))
	b.must(b.queue.Release(t.Context(), b.owner))

	if w := b.Workload(workloadName); w != nil {
		t.Errorf("the Workload still exists: %+v", w)
	}
}

// TestEvictionBeforeTheLaunch checks that a request for a launch gives back quota that was evicted before any pod was
// created.
func TestEvictionBeforeTheLaunch(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	b.ask(1)
	b.cycle()
	b.EvictNow(workloadName, "Preempted")
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "was evicted (Preempted: by the test)")

	if w := b.Workload(workloadName); queues.Is(w, kueue.QuotaReserved) || !queues.Is(w, kueue.Requeued) {
		t.Errorf("the quota was not given back: %+v", w.Status)
	}

	b.cycle()
	b.admitted(b.ask(1))
}

// TestQuotaForOtherPods asks whether the quota of pods that exist is for the pods of an edited spec. The question
// changes nothing.
func TestQuotaForOtherPods(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")

	compare := func() lifecycle.Quota {
		t.Helper()

		answer, refusal, err := b.queue.Compare(t.Context(), b.owner, b.pods)
		if err != nil || refusal != nil || !answer.Asked {
			t.Fatalf("%+v, %v, %v", answer, refusal, err)
		}
		return answer
	}

	b.waits(compare(), lifecycle.ReasonQuotaPending, "was deleted")
	b.ask(1)
	b.cycle()
	b.admitted(b.ask(1))

	before := b.Workload(workloadName).ResourceVersion
	if answer := compare(); answer.Evicted != nil || answer.Wait != nil || answer.Placement["driver"].NodeSelector["flavor"] != b.Namespace {
		t.Errorf("the same pods: %+v", answer)
	}

	b.pods[1].Count++

	if answer := compare(); answer.Evicted == nil || answer.Evicted.Reason != lifecycle.ReasonOtherPods || !answer.Reserved {
		t.Errorf("other pods: %+v", answer)
	}

	if after := b.Workload(workloadName).ResourceVersion; after != before {
		t.Error("the question changed the Workload")
	}

	b.Change(workloadName, func(w *kueue.Workload) { delete(w.Annotations, kueue.AttemptAnnotation) })

	// The Workload of another operator has no hash that could be compared.
	for _, test := range []struct {
		name   string
		change func(executor *dialect.Pods)
		other  bool
	}{
		{"one more pod", func(e *dialect.Pods) { e.Count++ }, true},
		{"the same pods", func(*dialect.Pods) {}, false},
		{"one pod less", func(e *dialect.Pods) { e.Count-- }, false},
		{"more CPU", func(e *dialect.Pods) { e.Pod = pod("3", "1Gi") }, true},
		{"less CPU", func(e *dialect.Pods) { e.Pod = pod("100m", "1Gi") }, false},
		{"another resource", func(e *dialect.Pods) {
			e.Pod = e.Pod.DeepCopy()
			e.Pod.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		}, true},
		{"another container", func(e *dialect.Pods) {
			e.Pod = e.Pod.DeepCopy()
			e.Pod.Spec.Containers = append(e.Pod.Spec.Containers, pod("1", "1Gi").Spec.Containers...)
		}, true},
		{"other nodes", func(e *dialect.Pods) {
			e.Pod = e.Pod.DeepCopy()
			e.Pod.Spec.NodeSelector = map[string]string{"disk": "fast"}
		}, true},
		{"another name", func(e *dialect.Pods) { e.Role = "worker" }, true},
	} {
		before := b.pods[1]
		before.Count = 3

		b.pods[1] = before
		test.change(&b.pods[1])

		if answer := compare(); (answer.Evicted != nil) != test.other {
			t.Errorf("the Workload of another operator, %s: %+v", test.name, answer)
		}

		b.pods[1] = before
	}

	b.EvictNow(workloadName, "Preempted")

	if answer := compare(); answer.Evicted == nil || answer.Evicted.Reason != "Preempted" {
		t.Errorf("evicted: %+v", answer)
	}
}

// TestChangesOfTheLabel changes and removes the label of the queue in each state of a request.
func TestChangesOfTheLabel(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	b.LocalQueues[b.Namespace+"/night"] = "shared"

	b.relabel("missing")
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "LocalQueue missing")
	b.cycle()
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "LocalQueue missing doesn't exist")

	first := b.Workload(workloadName).UID

	b.relabel("night")
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "LocalQueue night")

	if w := b.Workload(workloadName); w.Spec.QueueName != "night" || w.Labels[kueue.QueueLabel] != "night" || w.UID != first {
		t.Errorf("the Workload was not changed in place: %+v", w)
	}

	b.cycle()
	b.relabel("research")
	b.admitted(b.ask(1))

	if w := b.Workload(workloadName); w.Spec.QueueName != "night" {
		t.Errorf("the queue of an admitted Workload was changed: %+v", w.Spec)
	}

	b.relabel("")

	if answer := b.ask(1); answer.Wait != nil || answer.Placement["driver"].NodeSelector["flavor"] != b.Namespace {
		t.Errorf("without the label, the admission does not stay: %+v", answer)
	}

	b.EvictNow(workloadName, "Preempted")

	if answer := b.ask(1); answer.Wait != nil || answer.Placement != nil || b.Workload(workloadName) != nil {
		t.Errorf("without the label, an evicted Workload stays: %+v", answer)
	}

	if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); seen != nil {
		t.Errorf("seen %+v", seen)
	}

	b.relabel("research")
	b.ask(1)
	b.relabel("")

	if answer := b.ask(1); answer.Wait != nil || b.Workload(workloadName) != nil {
		t.Errorf("without the label, a pending Workload stays: %+v", answer)
	}
}

// TestForeignWorkloads checks that the Workload of somebody else is neither used nor changed, and that one of a deleted
// resource of the same name is replaced.
func TestForeignWorkloads(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	theirs := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: workloadName}, Spec: kueue.WorkloadSpec{PodSets: kueue.PodSets(b.pods), QueueName: "research"}}
	b.must(b.API.Create(t.Context(), theirs))
	b.waits(b.ask(1), lifecycle.ReasonQuotaRequestFailed, `Workload "configmap-pi" does not belong to this resource (it has no owner)`)
	b.must(b.queue.Release(t.Context(), b.owner))
	b.must(b.queue.Ready(t.Context(), b.owner, time.Now()))
	b.must(b.queue.Finish(t.Context(), b.owner, lifecycle.Failed, time.Now()))

	if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); seen == nil || seen.Requested {
		t.Errorf("seen %+v", seen)
	}

	after := b.Workload(workloadName)
	if after == nil || after.ResourceVersion != theirs.ResourceVersion {
		t.Fatalf("the Workload of somebody else was changed: %+v", after)
	}

	after.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "pi", UID: "earlier", Controller: new(true)}}
	b.must(b.API.Update(t.Context(), after))
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "belongs to a deleted resource of the same name")
	kit.Wait(t, "a new Workload", func(context.Context) error {
		b.ask(1)
		return nil
	})

	if w := b.Workload(workloadName); w == nil || w.UID == after.UID {
		t.Errorf("the Workload was not replaced: %+v", w)
	}
}

// TestPriorities checks from which class a Workload has its priority.
func TestPriorities(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	high, pods := b.Namespace+"-high", b.Namespace+"-pods"
	b.owner.Labels[kueue.PriorityLabel] = high
	b.waits(b.ask(1), lifecycle.ReasonQuotaRequestFailed, high)

	if w := b.Workload(workloadName); w != nil {
		t.Errorf("there is a Workload without its priority: %+v", w)
	}

	b.must(b.API.Create(t.Context(), &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: high}, Value: 100}))
	b.must(b.API.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: pods}, Value: 7}))
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "")

	check := func(value int32, class kueue.PriorityClassRef) {
		t.Helper()

		if w := b.Workload(workloadName); *w.Spec.Priority != value || *w.Spec.PriorityClassRef != class {
			t.Errorf("the priority is %d of %+v, want %d of %+v", *w.Spec.Priority, w.Spec.PriorityClassRef, value, class)
		}
	}
	check(100, kueue.PriorityClassRef{Group: "kueue.x-k8s.io", Kind: "WorkloadPriorityClass", Name: high})

	delete(b.owner.Labels, kueue.PriorityLabel)

	b.pods[1].Pod.Spec.PriorityClassName = pods
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "")
	check(7, kueue.PriorityClassRef{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: pods})
}

// TestUnreadableFlavors checks what happens if a flavor does not exist, or may not be read.
func TestUnreadableFlavors(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	b.ask(1)
	b.cycle()
	b.must(b.API.Delete(t.Context(), &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}}))

	answer := b.ask(1)
	b.waits(answer, lifecycle.ReasonFlavorUnreadable, "read ResourceFlavor "+b.Namespace)

	if !answer.Reserved {
		t.Errorf("the answer is %+v", answer)
	}

	b.queue.Live = forbidding{b.API}
	b.waits(b.ask(1), lifecycle.ReasonFlavorUnreadable, "needs a ClusterRole")
}

// forbidding is a reader whose account may not read flavors.
type forbidding struct{ client.Reader }

// Get implements client.Reader.
func (f forbidding) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, isFlavor := object.(*kueue.ResourceFlavor); isFlavor {
		err := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "resourceflavors"}, key.Name, nil)
		err.ErrStatus.Message = `resourceflavors.kueue.x-k8s.io "x" is forbidden: User "operator" cannot get resource "resourceflavors" in API group "kueue.x-k8s.io" at the cluster scope`

		return err
	}
	return f.Reader.Get(ctx, key, object, options...)
}

// TestAdmissionChecks checks what admission checks add to pods, and that contradictions are refused permanently.
func TestAdmissionChecks(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	b.ClusterQueues["shared"].Checks = []string{"prov"}
	b.ask(1)
	b.cycle()
	b.waits(b.ask(1), lifecycle.ReasonQuotaPending, "waits for admission checks: prov is Pending")

	ready := func(updates ...kueue.PodSetUpdate) {
		b.Change(workloadName, func(w *kueue.Workload) {
			w.Status.AdmissionChecks[0].State, w.Status.AdmissionChecks[0].PodSetUpdates = "Ready", updates
		})
		b.cycle()
	}
	ready(kueue.PodSetUpdate{Name: "executor", Annotations: map[string]string{"prov": "req-1"}, NodeSelector: map[string]string{"flavor": b.Namespace}},
		kueue.PodSetUpdate{Name: "executor", Labels: map[string]string{"second": "ignored"}})

	answer := b.ask(1)
	b.admitted(answer)

	if got := answer.Placement["executor"]; got.Annotations["prov"] != "req-1" || len(got.Labels) > 0 || got.Source != "ResourceFlavor "+b.Namespace+", admission check prov" {
		t.Errorf("the executors are placed at %+v", got)
	}

	ready(kueue.PodSetUpdate{Name: "driver", NodeSelector: map[string]string{"flavor": "other"}})

	_, refusal, err := b.queue.Request(t.Context(), b.owner, 1, b.pods, time.Now())
	if err != nil || refusal == nil || refusal.Reason != lifecycle.ReasonPlacement || !strings.Contains(refusal.Message, `admission check prov sets the node selector flavor of the driver pods to "other", but ResourceFlavor `+b.Namespace+" sets it to") {
		t.Errorf("the refusal is %+v: %v", refusal, err)
	}
}

// TestInheritedWorkload checks that the Workload which the operator of spark.apache.org made for a running application
// gets the label by which the cache finds it.
func TestInheritedWorkload(t *testing.T) {
	t.Parallel()
	b := newBench(t, "cpu", "7")
	b.ask(1)

	w := b.Workload(workloadName)
	delete(w.Labels, identity.AppUIDLabel)
	delete(w.Annotations, kueue.AttemptAnnotation)
	b.must(b.API.Update(t.Context(), w))
	b.cycle()

	b.queue.Cached = func(string) client.Reader { return labelled{b.API} }

	if seen := b.queue.Observe(t.Context(), b.owner, nil, false, time.Now()); seen.Requested {
		t.Errorf("seen %+v", seen)
	}

	for range 2 {
		if seen := b.queue.Observe(t.Context(), b.owner, nil, true, time.Now()); !seen.Reserved || seen.Attempt != 0 {
			t.Errorf("seen %+v", seen)
		}
	}
}

// labelled reads what the cache holds: objects with the operator's label.
type labelled struct{ client.Reader }

// Get implements client.Reader.
func (l labelled) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := l.Reader.Get(ctx, key, object, options...)
	if err == nil && identity.Unlabelled(object) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "workloads"}, key.Name)
	}
	return err
}
