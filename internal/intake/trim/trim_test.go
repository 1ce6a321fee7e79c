package trim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestTrimmedExecutorsTellTheSame checks that a trimmed executor pod and the whole pod lead to the same facts.
func TestTrimmedExecutorsTellTheSame(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ready := func(status, containers corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: "PodReadyToStartContainers", Status: corev1.ConditionTrue},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: status, Reason: reason, LastTransitionTime: at},
			{Type: corev1.ContainersReady, Status: containers},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		}
	}
	in := func(state corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{
			{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
				Image: "s", ContainerID: "containerd://a"},
			{Name: overlay.ExecutorContainer, State: state, Image: "spark", ImageID: "spark@sha256:0",
				ContainerID: "containerd://b"},
		}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
			Message: "last words", FinishedAt: at}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
		Message: "no such image"}}

	status := map[string]corev1.PodStatus{
		"new": {Phase: corev1.PodPending},
		"unscheduled": {Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "no room"}}},
		"runs": {Phase: corev1.PodRunning, Conditions: ready("True", "True", ""),
			ContainerStatuses: in(running)},
		"node lost": {Phase: corev1.PodRunning, Conditions: ready("False", "True", ""),
			ContainerStatuses: in(running)},
		"unready": {Phase: corev1.PodRunning, Conditions: ready("False", "False", "ContainersNotReady"),
			ContainerStatuses: in(running)},
		"image": {Phase: corev1.PodPending, ContainerStatuses: in(waits)},
		"init": {Phase: corev1.PodFailed,
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: ended(3, "Error")}}},
		"done":    {Phase: corev1.PodSucceeded, ContainerStatuses: in(ended(0, "Completed"))},
		"memory":  {Phase: corev1.PodFailed, ContainerStatuses: in(ended(137, "OOMKilled"))},
		"stopped": {Phase: corev1.PodFailed, ContainerStatuses: in(ended(143, "Error"))},
		"preempted": {Phase: corev1.PodFailed, ContainerStatuses: in(ended(143, "Error")),
			Conditions: []corev1.PodCondition{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
					Reason:  corev1.PodReasonPreemptionByScheduler,
					Message: "for another"}}},
		"evicted": {Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node was low on memory"},
	}
	for name, status := range status {
		for _, container := range []string{overlay.ExecutorContainer, "named-by-a-template"} {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: "pi-exec-1", Namespace: "ns", UID: "u", CreationTimestamp: at, DeletionTimestamp: nil,
					Labels: map[string]string{
						identity.AppUIDLabel: "a", identity.AttemptLabel: "2",
						identity.RoleLabel: identity.RoleExecutor, submit.SelectorLabel: "spark-1",
						submit.VersionLabel:    "4.1.4",
						submit.ExecutorIDLabel: "1", "team": "blue",
					},
				},
				Spec: corev1.PodSpec{SchedulerName: "volcano",
					Containers: []corev1.Container{{Name: "sidecar"}, {Name: container}}},
				Status: *status.DeepCopy(),
			}
			if name == "stopped" {
				pod.DeletionTimestamp = &at
			}

			want := lifecycle.ExecutorFacts(pod)

			trimmed, err := Pod(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, lifecycle.ExecutorFacts(trimmed.(*corev1.Pod))); diff != "" {
				t.Errorf("%s, container %s (-whole +trimmed):\n%s", name, container, diff)
			}
		}
	}
}

func TestTrimChildKeepsIdentity(t *testing.T) {
	labels := map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1", lifecycle.ContentLabel: "c",
		submit.SelectorLabel: "s", "team": "blue"}
	whole := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "n", Namespace: "ns", UID: "x", ResourceVersion: "7", Generation: 3, Labels: labels,
		Annotations:     map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "o", UID: "u"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}}
	want := whole.DeepCopy()
	want.Annotations, want.ManagedFields = nil, nil
	delete(want.Labels, "team")

	if got, err := Child(whole); err != nil || !cmp.Equal(any(want), got) {
		t.Errorf("%v\n%s", err, cmp.Diff(any(want), got))
	}
}

func TestTrimResource(t *testing.T) {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{
		Name: "pi", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "yes"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}

	got, err := Resource(app)
	if err != nil {
		t.Fatal(err)
	}

	kept := got.(client.Object)
	if len(kept.GetManagedFields()) > 0 || len(kept.GetAnnotations()) > 0 {
		t.Errorf("kept %v and %v", kept.GetManagedFields(), kept.GetAnnotations())
	}

	if got, err := Resource("gone"); err != nil || got != any("gone") {
		t.Errorf("what is no object: %v, %v", got, err)
	}
}

func TestVocabularySharesAndIsBounded(t *testing.T) {
	var v vocabulary

	say := func(i int) string { return v.intern(fmt.Sprintf("word-%d", i)) }
	if first, again := say(1), say(1); first != "word-1" || unsafe.StringData(first) != unsafe.StringData(again) {
		t.Errorf("%q and %q are two", first, again)
	}

	for i := range 3 * maxWords {
		if got, want := say(i), fmt.Sprintf("word-%d", i); got != want {
			t.Fatalf("said %q, want %q", got, want)
		}

		if len(v.known) > maxWords {
			t.Fatalf("%d words are kept", len(v.known))
		}
	}
}

// TestTrimPodHidesAddresses checks that passwords and signatures are removed from the last output of a program, because
// that output is shown in conditions and Events.
func TestTrimPodHidesAddresses(t *testing.T) {
	const message = "cannot read https://user:word@host/a.jar?sig=abc"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "d", Labels: map[string]string{identity.AppUIDLabel: "u", identity.ManagedLabel: "true"},
			Annotations: map[string]string{"spark.exit-exception": message},
		},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
		}}},
	}

	out, err := Pod(pod)
	if err != nil {
		t.Fatal(err)
	}

	trimmed := out.(*corev1.Pod)

	status := trimmed.Status.ContainerStatuses[0]
	for where, got := range map[string]string{
		"state": status.State.Terminated.Message, "last": status.LastTerminationState.Terminated.Message,
		"annotation": trimmed.Annotations["spark.exit-exception"],
	} {
		if got != "cannot read https://host/a.jar?..." {
			t.Errorf("%s: %q", where, got)
		}
	}
}

func TestTrimPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "1",
			Labels: map[string]string{"l": "v", identity.AppUIDLabel: "u"},
			Annotations: map[string]string{"large": "value", "spark.exit-exception": "trace",
				lifecycle.SpecHashAnnotation: "1:x", lifecycle.SubmitterAnnotation: "s"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{NodeName: "node", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}},
			Containers: []corev1.Container{{Name: "c", Image: "i",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"),
					corev1.ResourceMemory: resource.MustParse("3Gi"), "amd.com/gpu": resource.MustParse("1")}},
				Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ImageID: "i@sha256:1"}}},
	}

	got, err := Pod(pod)
	if err != nil {
		t.Fatal(err)
	}

	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "1",
			Labels: map[string]string{identity.AppUIDLabel: "u"},
			Annotations: map[string]string{"spark.exit-exception": "trace", lifecycle.SpecHashAnnotation: "1:x",
				lifecycle.SubmitterAnnotation: "s"},
		},
		Spec: corev1.PodSpec{NodeName: "node", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}},
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"),
				corev1.ResourceMemory: resource.MustParse("3Gi"), lifecycle.TotalGPU: resource.MustParse("1")}},
			Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ImageID: "i@sha256:1"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if text, _ := json.Marshal(got); strings.Contains(string(text), "SECRET") {
		t.Error("the environment is kept")
	}
}

// TestTrimPodOfNobody checks that the cache keeps only the identity of a Spark pod that no operator manages.
func TestTrimPodOfNobody(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "1",
			Labels: map[string]string{identity.RoleLabel: identity.RoleExecutor}},
		Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}

	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "1"}}
	if got, err := Pod(pod); err != nil || !cmp.Equal(any(want), got) {
		t.Errorf("%+v, %v", got, err)
	}

	pod.Labels["sparkoperator.k8s.io/app-name"] = "pi" // another operator's label
	if got, err := Pod(pod); err != nil || got.(*corev1.Pod).Spec.NodeName != "node" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEqualRequestsShareMemory checks that the requests of pods take no memory for each pod.
func TestEqualRequestsShareMemory(t *testing.T) {
	t.Parallel()

	shared := func(cpu string) *corev1.ResourceRequirements {
		trimmed, err := Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{identity.AppUIDLabel: "u"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		return trimmed.(*corev1.Pod).Spec.Resources
	}
	if shared("1") != shared("1000m") {
		t.Error("pods with equal requests have different copies of them")
	}

	for i := range 3 * maxShapes {
		shared(fmt.Sprint(i))
	}

	if len(shapes.known) > maxShapes {
		t.Errorf("%d different requests are kept", len(shapes.known))
	}
}
