package configured_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestCrashInAnApachesLife runs the same application many times: its first attempt fails, and its second one succeeds.
// In each run the operator crashes before or after a different write, and another process continues. The application
// must never have two drivers at once or start an attempt twice, and its history must be the same as without a crash.
// With CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInAnApachesLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 60, 7, apachesLife)
}

// apachesLife runs one application from its creation to its end. The operator crashes at the given point. The result
// reports whether this point was reached.
func apachesLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	m := crashrig.StartCrashLife(w, crash, func(options ...func(*operator.Environment)) func() {
		return resources.RunApache(w, world.Config(w.Namespace), time.Now, options...)
	})
	app := resources.CreateApache(w, "pi",
		resources.WithTolerations(sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartOnFailure, 1)}), func(app *resources.ApacheApp) {
			app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}}
		})
	m.CheckSingle(app, identity.RoleDriver)
	first := resources.ReadyDriver(w, app, 1)
	w.Kubelet(first.Name, corev1.PodFailed, scene.Exited(3, "again"))
	kit.Wait(t, "the second attempt", func(context.Context) error {
		s := resources.GetApache(w, "pi").Status.CurrentAttemptSummary
		return world.Want(s != nil && s.AttemptInfo != nil && s.AttemptInfo.ID == 1, true)
	})

	second := resources.ReadyDriver(w, app, 2)
	w.MustExist(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}})
	w.Kubelet(second.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	waitNothing(w, app)
	checkHistory(t, got, append([]resources.ApacheState{sparkv1.ApplicationScheduledToRestart},
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased)[1:]...))

	if before := got.Status.PreviousAttemptSummary; before == nil || len(history(before.StateTransitionHistory)) != 6 {
		t.Errorf("the previous attempt is %+v", before)
	}
	return m.End(2)
}
