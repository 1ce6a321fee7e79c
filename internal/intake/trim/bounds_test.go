package trim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// heap returns the bytes of memory in use after a garbage collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// claimed returns the metadata of an object that has the operator's label and a hundred owners. The names of the owners
// take a megabyte in total.
func claimed(i int) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprint("c-", i), Namespace: "team", UID: types.UID(fmt.Sprint("uid-", i)),
		Labels: map[string]string{identity.AppUIDLabel: "u"},
	}}
	for owner := range 100 {
		object.OwnerReferences = append(object.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "K", Name: fmt.Sprint(i, "-", owner, strings.Repeat("n", 10<<10)),
			UID: types.UID(fmt.Sprint(i, "-", owner)),
		})
	}
	return object
}

// TestTrimBoundsOwners checks that objects with a forged label take little memory while they exist, and none after
// their deletion.
func TestTrimBoundsOwners(t *testing.T) {
	const objects, most = 300, 8 << 20 // without the bound, the objects took 291 MiB
	before := heap()

	var kept []any
	for i := range objects {
		trimmed, err := Child(claimed(i))
		if err != nil {
			t.Fatal(err)
		}

		kept = append(kept, trimmed)
	}

	if grown := heap() - before; grown > most {
		t.Errorf("%d objects take %d MiB", len(kept), grown>>20)
	}

	runtime.KeepAlive(kept) // the objects are in use until here

	if grown := heap() - before; grown > most {
		t.Errorf("after their deletion the objects still take %d MiB", grown>>20)
	}
}

// TestTrimKeepsOwnersThatMatter checks what is kept of an object with many owners: the owner that the label names, and
// some of the others.
func TestTrimKeepsOwnersThatMatter(t *testing.T) {
	t.Parallel()

	object := claimed(1)
	for range 50 {
		object.OwnerReferences = append(object.OwnerReferences,
			metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "ours", UID: "u"})
	}

	trimmed, err := Child(object)
	if err != nil {
		t.Fatal(err)
	}

	kept := trimmed.(*metav1.PartialObjectMetadata)
	if n := len(kept.OwnerReferences); n != maxOwners {
		t.Errorf("%d owners are kept, want %d", n, maxOwners)
	}

	if !identity.OwnedBy(kept, "u") || !identity.OwnedBy(kept, "1-0") {
		t.Errorf("kept are %v", kept.OwnerReferences)
	}

	for _, owner := range kept.OwnerReferences {
		if len(owner.Name) > maxText {
			t.Errorf("a name of %d bytes is kept", len(owner.Name))
		}
	}
}

// TestTrimBoundsPods checks that trimming bounds the texts that a tenant can write to a pod's status or annotations,
// and does not change the facts about the pod.
func TestTrimBoundsPods(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 1<<20)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Namespace: "team",
		Labels:      map[string]string{identity.AppUIDLabel: "u", identity.RoleLabel: identity.RoleDriver},
		Annotations: map[string]string{"spark.exit-exception": "java.lang.IllegalStateException: broken\n" + long},
	}}

	pod.Status.Reason, pod.Status.Message = long, long
	for i := range 1000 {
		name := fmt.Sprint("c-", i)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name + long[:1<<10]})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses,
			corev1.ContainerStatus{Name: name, Image: "i"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: name, Image: "i"})
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodConditionType(name), Message: strings.Repeat("m", 1<<10)})
	}

	end := corev1.ContainerStatus{Name: overlay.DriverContainer,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: overlay.DriverContainer})
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, end)
	want := lifecycle.DriverFacts(pod, overlay.DriverContainer)

	trimmed, err := Pod(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}

	kept := trimmed.(*corev1.Pod)
	if n := len(kept.Spec.SchedulingGates); n != maxGates {
		t.Errorf("%d scheduling gates are kept", n)
	}

	if size := kept.Size(); size > 256<<10 {
		t.Errorf("a pod of %d bytes is kept", size)
	}

	got := lifecycle.DriverFacts(kept, overlay.DriverContainer)
	if got.Phase != want.Phase || got.ExitCode != 7 || got.Why != want.Why {
		t.Errorf("%s, %v; want %s, %v", got.Phase, got.Why, want.Phase, want.Why)
	}
}
