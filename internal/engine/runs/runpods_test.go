package runs_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// makeRun makes a pod run on a node without a kubelet, so that a deleted pod exists until the test removes it.
func makeRun(w *world.World, pod *corev1.Pod) {
	w.T.Helper()

	if pod.Spec.NodeName == "" {
		w.BindAway(pod)
	}

	w.T.Cleanup(func() { w.Stopped(pod) })
	w.Kubelet(pod.Name, corev1.PodRunning, world.Running())
}

// waitsForPodsOf returns a check that a schedule starts no run because the pods of the given deleted run have not
// stopped.
func waitsForPodsOf(run string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
	return func(s *v1beta2.ScheduledSparkApplicationStatus) bool {
		return s.Operator != nil && s.Operator.Cause != nil &&
			strings.Contains(s.Operator.Cause.Message, run+" (deleted")
	}
}

// TestScheduleReplacesWhatSparkSubmitMade checks a run whose driver spark-submit created. Such a driver does not block
// the deletion of its run. When the run is gone, the schedule waits until the driver has stopped, and then starts the
// next run.
func TestScheduleReplacesWhatSparkSubmitMade(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.Cascade)
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, replacing, func(s *schedule) {
		s.Spec.Template.Submission = &v1beta2.SubmissionSpec{Mode: v1beta2.SubmissionModeSparkSubmit}
	})
	first := requestRun(w, s, "one")
	w.WaitSchedule("nightly", "the first run", lastRun(first))
	run := w.Get(first)
	submitter := w.SubmitterOf(run, 1)
	w.Kubelet(submitter.Name, corev1.PodRunning, world.Running())

	driver := w.SparkSubmit(submitter, true)
	if driver.Labels[sparkoperator.LabelScheduledAppName] != "nightly" ||
		driver.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Fatalf("the driver has labels %v and owners %+v", driver.Labels, driver.OwnerReferences)
	}

	makeRun(w, driver)
	w.Kubelet(submitter.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitState(first, v1beta2.ApplicationStateRunning)
	second := requestRun(w, s, "two")
	w.WaitGone(run)
	w.WaitSchedule("nightly", "to wait for the driver", waitsForPodsOf(first))
	waitRuns(w, s)
	w.Stopped(driver)
	// No timed pass is due soon, so the end of the driver must have queued the schedule.
	w.WaitSchedule("nightly", "the second run", lastRun(second))
}

// TestScheduleForbidsBesideWhatStops checks a run that somebody deletes in the background, so that the run is gone
// while its driver still runs. The schedule waits for this driver. The end of the driver queues the schedule, since the
// next timed pass is minutes away.
func TestScheduleForbidsBesideWhatStops(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runSchedules(w, time.Now)
	s := w.Schedule("nightly", scene.Seldom, forbid)
	first := startRequestedRun(w, s, "one")
	driver := w.WaitPod(first + "-driver")
	makeRun(w, driver)
	w.WaitState(first, v1beta2.ApplicationStateRunning)

	run := w.Get(first)
	if err := w.API.Delete(t.Context(), run, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(run)
	second := requestRun(w, s, "two")
	w.WaitSchedule("nightly", "to wait for the driver", waitsForPodsOf(first))
	waitRuns(w, s)
	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(143, "")) // though the pod still exists
	w.WaitSchedule("nightly", "the second run", lastRun(second))
}

// TestScheduleIgnoresOtherPods checks pods that have the labels of a run's pods but do not block a schedule. They do
// not belong to a run of this schedule, or they belong to an earlier schedule with the same name.
func TestScheduleIgnoresOtherPods(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}}
	w.Create(settings)
	app := w.Application("other")
	byApp := metav1.OwnerReference{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "other",
		UID: app.UID, Controller: new(true)}
	byGone := byApp
	byGone.Name, byGone.UID = "nightly-1", "no-such"
	bySettings := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", UID: settings.UID}
	bySettingsAlone := bySettings
	bySettingsAlone.Controller = new(true)
	driver := func(name string, owners ...metav1.OwnerReference) {
		pod := scene.ForeignPod(w.Namespace, name)
		pod.Labels = map[string]string{identity.RoleLabel: identity.RoleDriver,
			sparkoperator.LabelScheduledAppName: "nightly"}
		pod.OwnerReferences = owners
		// Without a node, the garbage collector would delete a pod whose owner does not exist at once. With a node it
		// waits for the kubelet.
		pod.Spec.NodeName = "nowhere"
		w.Create(pod)
		makeRun(w, pod)
	}
	driver("of-an-earlier-schedule", byGone)
	time.Sleep(1100 * time.Millisecond) // creation times have a resolution of seconds

	s := w.Schedule("nightly", scene.Seldom, forbid)

	driver("nobodys")
	driver("of-settings", bySettingsAlone)
	driver("of-another", byApp)
	driver("of-one-gone-and-settings", byGone, bySettings)
	runSchedules(w, time.Now)
	startRequestedRun(w, s, "one")
}
