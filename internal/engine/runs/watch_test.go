package runs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// TestStops checks that each pod of a run queues the schedule once, when the pod stops.
func TestStops(t *testing.T) {
	pod := func(role string, phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{identity.RoleLabel: role}},
			Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	nowhere := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	update := podStopped().Update
	got := map[string]bool{
		"a driver is created": podStopped().Create(event.CreateEvent{Object: pod(identity.RoleDriver,
			corev1.PodFailed)}),
		"a driver starts": update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver,
			corev1.PodPending), ObjectNew: pod(identity.RoleDriver, corev1.PodRunning)}),
		"the deletion of a running driver is requested": update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver,
			corev1.PodRunning), ObjectNew: pod(identity.RoleDriver, corev1.PodRunning, deleted)}),
		"a driver ends": update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver,
			corev1.PodRunning, deleted), ObjectNew: pod(identity.RoleDriver, corev1.PodFailed, deleted)}),
		"a submitter ends": update(event.UpdateEvent{ObjectOld: pod(identity.RoleSubmitter,
			corev1.PodRunning), ObjectNew: pod(identity.RoleSubmitter, corev1.PodSucceeded)}),
		"an executor ends": update(event.UpdateEvent{ObjectOld: pod(identity.RoleExecutor,
			corev1.PodRunning), ObjectNew: pod(identity.RoleExecutor, corev1.PodFailed)}),
		"a driver without a node is deleted": update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver,
			corev1.PodPending, nowhere), ObjectNew: pod(identity.RoleDriver, corev1.PodPending, nowhere, deleted)}),
		"a running driver disappears": podStopped().Delete(event.DeleteEvent{Object: pod(identity.RoleDriver,
			corev1.PodRunning)}),
		"an ended driver disappears": podStopped().Delete(event.DeleteEvent{Object: pod(identity.RoleDriver,
			corev1.PodFailed)}),
	}

	want := map[string]bool{
		"a driver is created": false, "a driver starts": false, "the deletion of a running driver is requested": false,
		"a driver ends": true, "a submitter ends": true, "an executor ends": false,
		"a driver without a node is deleted": true, "a running driver disappears": true,
		"an ended driver disappears": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events that queue a schedule (-want +got):\n%s", diff)
	}
}

// TestOwnerOfRun checks that a run queues the schedules in its owner references, whatever labels the run has.
func TestOwnerOfRun(t *testing.T) {
	kind := v1beta2.GroupVersion.WithKind("ScheduledSparkApplication").GroupKind()
	run := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "r",
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "ScheduledSparkApplication", Name: "s", UID: "1"},
			{APIVersion: "sparkoperator.k8s.io/v1beta3", Kind: "ScheduledSparkApplication", Name: "t", UID: "2"},
			{APIVersion: "example.com/v1beta2", Kind: "ScheduledSparkApplication", Name: "u", UID: "3"},
			{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkConnect", Name: "v", UID: "4"},
			{APIVersion: "a/b/c", Kind: "ScheduledSparkApplication", Name: "w", UID: "5"},
		}}}

	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "n", Name: "s"}},
		{NamespacedName: types.NamespacedName{Namespace: "n", Name: "t"}}}
	if diff := cmp.Diff(want, ownerOfRun(kind)(t.Context(), run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5"}, byOwners(run)); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}
