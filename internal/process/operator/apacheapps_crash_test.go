package operator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestCrashInAnApachesLife runs the same application many times: its first attempt fails, and its second one succeeds.
// In each run the operator crashes before or after a different write, and another process continues. The application
// must never have two drivers at once or start an attempt twice, and its history must be the same as without a crash.
// With CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInAnApachesLife(t *testing.T) {
	t.Parallel()
	forCrashPoints(t, 60, 7, apachesLife)
}

// apachesLife runs one application from its creation to its end. The operator crashes at the given point. The result
// reports whether this point was reached.
func apachesLife(t *testing.T, crash *crashing) (died bool) {
	w := newWorld(t)
	m := w.startCrashLife(crash, func(options ...func(*Environment)) func() {
		return w.runApache(testConfig(w.Namespace), time.Now, options...)
	})
	app := w.apacheApp("pi", withTolerations(sparkv1.ApplicationTolerations{RestartConfig: restartConfig(sparkv1.RestartOnFailure, 1)}), func(app *apacheApp) {
		app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}}
	})
	m.checkSingle(app, identity.RoleDriver)
	first := w.readyDriver(app, 1)
	w.kubelet(first.Name, corev1.PodFailed, scene.Exited(3, "again"))
	kit.Wait(t, "the second attempt", func(context.Context) error {
		s := w.getApache("pi").Status.CurrentAttemptSummary
		return want(s != nil && s.AttemptInfo != nil && s.AttemptInfo.ID == 1, true)
	})

	second := w.readyDriver(app, 2)
	w.mustExist(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}})
	w.kubelet(second.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := w.waitApache("pi", sparkv1.ApplicationResourceReleased)
	w.waitNothing(app)
	checkHistory(t, got, append([]apacheState{sparkv1.ApplicationScheduledToRestart}, ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased)[1:]...))

	if before := got.Status.PreviousAttemptSummary; before == nil || len(history(before.StateTransitionHistory)) != 6 {
		t.Errorf("the previous attempt is %+v", before)
	}
	return m.end(2)
}
