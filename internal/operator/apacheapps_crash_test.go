package operator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/internal/testkit/scene"
)

// TestCrashInAnApachesLife kills the operator before or after one write of a launch, a failure and the next attempt, in
// each of many simulated lives of an application. After the crash another process continues. The test checks that no
// application has two drivers at once, starts an attempt twice, or has a different history from an application whose
// operator does not crash. With CRASH_POINTS=all it kills the operator at every write.
func TestCrashInAnApachesLife(t *testing.T) {
	t.Parallel()
	forCrashPoints(t, 52, 7, apachesLife)
}

// apachesLife plays the life of one application whose operator crashes at the given point, and reports whether the
// operator crashed.
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
	testkit.Wait(t, "the second attempt", func(context.Context) error {
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
		t.Errorf("the attempt before is %+v", before)
	}
	return m.end(2)
}
