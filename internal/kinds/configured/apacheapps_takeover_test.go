package configured_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestApacheTakeOver checks that a running application continues to its end with its existing driver, and that its
// history has only states that readers of the Java operator's status expect. A finished application stays finished.
func TestApacheTakeOver(t *testing.T) {
	w := world.New(t)
	var stuck *resources.ApacheApp
	storedBefore(w, func() {
		stuck, _ = resources.CreateInheritedApache(w,
			resources.LeftApache{Name: "stuck",
				Past: []resources.ApacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationFailed,
					sparkv1.ApplicationFailed},
				Change: func(app *resources.ApacheApp) { app.Spec.DeploymentMode = sparkv1.ClientMode }})
	})
	t.Parallel()

	runs := map[string]resources.LeftApache{
		"unwritten":  {Driver: corev1.PodPending}, // created, but not in the status
		"requested":  {Past: resources.Ran()[:2], Driver: corev1.PodPending},
		"started":    {Past: resources.Ran()[:3], Driver: corev1.PodRunning},
		"running":    {Past: resources.Ran(), Driver: corev1.PodRunning},
		"ended-well": {Past: resources.Ran(), Driver: corev1.PodSucceeded}, // while no operator ran
	}

	drivers := map[string]*corev1.Pod{}
	for name, a := range runs {
		a.Name = name
		_, drivers[name] = resources.CreateInheritedApache(w, a)
	}

	done := []resources.ApacheState{sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased}
	released, _ := resources.CreateInheritedApache(w,
		resources.LeftApache{Name: "released", Past: resources.Ran(done...)})
	kept, keptDriver := resources.CreateInheritedApache(w,
		resources.LeftApache{Name: "kept",
			Past:   resources.Ran(sparkv1.ApplicationFailed, sparkv1.ApplicationTerminatedWithoutReleaseResources),
			Driver: corev1.PodFailed,
			Change: resources.WithTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways})})
	resources.CreateInheritedApache(w,
		resources.LeftApache{Name: "not-cleaned", Past: resources.Ran(sparkv1.ApplicationSucceeded),
			Driver: corev1.PodSucceeded})
	resources.RunApache(w, world.Config(w.Namespace), time.Now)

	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			if name != "ended-well" {
				w.Ready(driver.Name)

				got := resources.WaitApache(w, name, sparkv1.ApplicationRunningHealthy, resources.IsTakenOver,
					func(app *resources.ApacheApp) error {
						return world.Want(app.Status.Executors != nil && app.Status.Executors.Running == 1, true)
					})
				if resources.UIDOf(w, driver.Name) != driver.UID ||
					got.Status.CurrentAttemptSummary.AttemptInfo.ID != 0 {
					t.Errorf("the driver was replaced: %+v", got.Status.CurrentAttemptSummary)
				}

				w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
			}

			checkHistory(t, resources.WaitApache(w, name, sparkv1.ApplicationResourceReleased, resources.IsTakenOver),
				resources.Ran(done...))
			w.WaitGone(driver)
		})
	}

	checkHistory(t, resources.WaitApache(w, "released", sparkv1.ApplicationResourceReleased,
		func(app *resources.ApacheApp) error { return world.Want(len(app.Finalizers), 0) }), resources.Ran(done...))
	checkHistory(t, resources.WaitApache(w, "not-cleaned", sparkv1.ApplicationResourceReleased, resources.IsTakenOver),
		resources.Ran(done...))
	resources.WaitApache(w, "kept", sparkv1.ApplicationTerminatedWithoutReleaseResources,
		func(app *resources.ApacheApp) error { return world.Want(len(app.Finalizers), 0) })
	w.MustExist(keptDriver)
	// the Java operator looped there for ever
	if kit.SinceKubernetes(t, kit.StatusRatchets) {
		resources.WaitApache(w, "stuck", sparkv1.ApplicationResourceReleased, resources.IsTakenOver)
	}

	for _, app := range []*resources.ApacheApp{released, kept, stuck} {
		w.Remove(app)
		w.WaitGone(app)
	}

	w.WaitGone(keptDriver)
}

// TestApacheRecreatedAfterAnotherOperator checks that a new application waits until the objects of a deleted
// application with the same name are gone. The Java operator created these objects, the old driver pod owns them, and
// they occupy names that the new application needs. The wait does not count as an attempt.
func TestApacheRecreatedAfterAnotherOperator(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	first, driver := resources.CreateInheritedApache(w,
		resources.LeftApache{Name: "pi", Past: resources.Ran(), Driver: corev1.PodRunning})
	goes := w.TakesItsTime(driver)
	resources.PatchApache(w, "pi", `{"metadata":{"finalizers":null}}`)
	w.Remove(first)
	w.WaitGone(first)
	second := resources.CreateApache(w, "pi")
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	kit.Wait(t, "the wait to be reported", func(context.Context) error {
		status := resources.GetApache(w, "pi").Status
		if ready := meta.FindStatusCondition(status.Conditions, "Ready"); ready == nil ||
			ready.Reason != dependents.ReasonNameTaken {
			return fmt.Errorf("Ready is %+v, the state %+v", ready, status.CurrentState)
		}
		return world.Want(status.CurrentState == nil, true)
	})
	goes()
	resources.ApacheDriver(w, second, 1)
	checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationDriverRequested), resources.Ran()[:2])
}
