package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// runs begins to run a pod on a node that does not exist: whoever deletes it then waits for a kubelet, which is stopped.
func (w *world) runs(pod *corev1.Pod) {
	w.t.Helper()
	if pod.Spec.NodeName == "" {
		node := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
		if err := w.api.SubResource("binding").Create(w.t.Context(), pod, node); err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Cleanup(func() { w.stopped(pod) })
	w.kubelet(pod.Name, corev1.PodRunning, running())
}

// stopped removes a pod, as a kubelet does that has stopped its containers.
func (w *world) stopped(pod *corev1.Pod) {
	w.t.Helper()
	if err := w.api.Delete(context.Background(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		w.t.Error(err)
	}
}

// waitsForPodsOf holds that a schedule starts nothing, since the pods of a run that is gone have not stopped.
func waitsForPodsOf(run string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
	return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.Operator != nil && s.Operator.Cause != nil && strings.Contains(s.Operator.Cause.Message, run+" (deleted")
	}
}

// TestScheduleReplacesWhatSparkSubmitMade: such a driver does not block its run's deletion, and is waited for when the run is gone.
func TestScheduleReplacesWhatSparkSubmitMade(t *testing.T) {
	t.Parallel()
	testkit.NeedsControllers(t, cascade)
	w := newWorld(t)
	w.runSchedules(time.Now)
	s := w.schedule("nightly", seldom, replacing, func(s *schedule) {
		s.Spec.Template.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionModeSparkSubmit}
	})
	first := w.ask(s, "one")
	w.waitSchedule("nightly", "the first run", lastRun(first))
	run := w.get(first)
	submitter := w.submitterOf(run, 1)
	w.kubelet(submitter.Name, corev1.PodRunning, running())
	driver := w.sparkSubmit(submitter, true)
	if driver.Labels[sparkoperator.LabelScheduledAppName] != "nightly" || driver.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Fatalf("the driver has labels %v and owners %+v", driver.Labels, driver.OwnerReferences)
	}
	w.runs(driver)
	w.kubelet(submitter.Name, corev1.PodSucceeded, exited(0, ""))
	w.waitState(first, v1beta2.ApplicationStateRunning)
	second := w.ask(s, "two")
	w.waitGone(run)
	w.waitSchedule("nightly", "to wait for the driver", waitsForPodsOf(first))
	w.waitRuns(s)
	w.stopped(driver)
	// No timer is near: a schedule that waits looks again after reassert, but the end of the driver wakes it.
	w.waitSchedule("nightly", "the second run", lastRun(second))
}

// TestScheduleForbidsBesideWhatStops: somebody deletes a run in the background, which waits for no driver. The end of the driver wakes the schedule, and nothing
// else: the next look of its own is minutes away.
func TestScheduleForbidsBesideWhatStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runSchedules(time.Now)
	s := w.schedule("nightly", seldom, forbid)
	first := w.asked(s, "one")
	driver := w.waitPod(first + "-driver")
	w.runs(driver)
	w.waitState(first, v1beta2.ApplicationStateRunning)
	run := w.get(first)
	if err := w.api.Delete(t.Context(), run, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.waitGone(run)
	second := w.ask(s, "two")
	w.waitSchedule("nightly", "to wait for the driver", waitsForPodsOf(first))
	w.waitRuns(s)
	w.kubelet(driver.Name, corev1.PodFailed, exited(143, "")) // though the pod is there yet
	w.waitSchedule("nightly", "the second run", lastRun(second))
}

// TestScheduleMindsNobodysPods: pods that only carry the labels of a run's do not hold a schedule up, nor do those of an earlier schedule of its name.
func TestScheduleMindsNobodysPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
	w.create(settings)
	app := w.application("other")
	byApp := metav1.OwnerReference{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "other", UID: app.UID, Controller: new(true)}
	byGone := byApp
	byGone.Name, byGone.UID = "nightly-1", "no-such"
	bySettings := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", UID: settings.UID}
	bySettingsAlone := bySettings
	bySettingsAlone.Controller = new(true)
	driver := func(name string, owners ...metav1.OwnerReference) {
		pod := foreignPod(w.namespace, name)
		pod.Labels = map[string]string{identity.RoleLabel: identity.RoleDriver, sparkoperator.LabelScheduledAppName: "nightly"}
		pod.OwnerReferences = owners
		pod.Spec.NodeName = "nowhere" // from its birth: the garbage collector takes a pod without a node and an owner at once, and asks a kubelet about another
		w.create(pod)
		w.runs(pod)
	}
	driver("of-an-earlier-schedule", byGone)
	time.Sleep(1100 * time.Millisecond) // creation times tell seconds
	s := w.schedule("nightly", seldom, forbid)
	driver("nobodys")
	driver("of-settings", bySettingsAlone)
	driver("of-another", byApp)
	driver("of-one-gone-and-settings", byGone, bySettings)
	w.runSchedules(time.Now)
	w.asked(s, "one")
}

// TestStops: of a run's pods a schedule is woken once each, by its end.
func TestStops(t *testing.T) {
	pod := func(role string, phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{identity.RoleLabel: role}}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: phase}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	nowhere := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	update := stops().Update
	got := map[string]bool{
		"a driver comes":             stops().Create(event.CreateEvent{Object: pod(identity.RoleDriver, corev1.PodFailed)}),
		"a driver starts":            update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver, corev1.PodPending), ObjectNew: pod(identity.RoleDriver, corev1.PodRunning)}),
		"a driver is deleted":        update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver, corev1.PodRunning), ObjectNew: pod(identity.RoleDriver, corev1.PodRunning, deleted)}),
		"a driver ends":              update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver, corev1.PodRunning, deleted), ObjectNew: pod(identity.RoleDriver, corev1.PodFailed, deleted)}),
		"a submitter ends":           update(event.UpdateEvent{ObjectOld: pod(identity.RoleSubmitter, corev1.PodRunning), ObjectNew: pod(identity.RoleSubmitter, corev1.PodSucceeded)}),
		"an executor ends":           update(event.UpdateEvent{ObjectOld: pod(identity.RoleExecutor, corev1.PodRunning), ObjectNew: pod(identity.RoleExecutor, corev1.PodFailed)}),
		"one without a node deleted": update(event.UpdateEvent{ObjectOld: pod(identity.RoleDriver, corev1.PodPending, nowhere), ObjectNew: pod(identity.RoleDriver, corev1.PodPending, nowhere, deleted)}),
		"a driver goes":              stops().Delete(event.DeleteEvent{Object: pod(identity.RoleDriver, corev1.PodRunning)}),
		"an ended driver goes":       stops().Delete(event.DeleteEvent{Object: pod(identity.RoleDriver, corev1.PodFailed)}),
	}
	want := map[string]bool{
		"a driver comes": false, "a driver starts": false, "a driver is deleted": false, "a driver ends": true, "a submitter ends": true, "an executor ends": false,
		"one without a node deleted": true, "a driver goes": true, "an ended driver goes": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who wakes a schedule (-want +got):\n%s", diff)
	}
}
