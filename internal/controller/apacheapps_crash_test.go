package controller

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// TestCrashInAnApachesLife kills the operator before and after writes of a launch, a failure and the attempt after it, one in each life. Another process
// goes on. No life has two drivers at once, starts an attempt twice, or another history than one without a crash. CRASH_POINTS=all takes every write.
func TestCrashInAnApachesLife(t *testing.T) {
	t.Parallel()
	stride := 5
	if os.Getenv("CRASH_POINTS") == "all" {
		stride = 1
	}
	const points = 44 // twice the writes of a life, and some more, at which nobody dies
	ended := map[bool]int{}
	var mu sync.Mutex
	t.Run("cut", func(t *testing.T) {
		for point := 0; point < points; point += stride {
			t.Run(fmt.Sprintf("at-%d-%t", point/2+1, point%2 == 1), func(t *testing.T) {
				t.Parallel()
				died := apachesLife(t, &crashing{at: point/2 + 1, after: point%2 == 1, killed: make(chan struct{})})
				mu.Lock()
				defer mu.Unlock()
				ended[died]++
			})
		}
	})
	if t.Failed() {
		return
	}
	t.Logf("%d lives with a crash, %d without", ended[true], ended[false])
	if ended[true] < points/stride/2 || ended[false] == 0 && stride == 1 {
		t.Errorf("the points do not fit the writes of a life: %v", ended)
	}
}

// apachesLife plays one life whose operator dies as given, and reports whether it did.
func apachesLife(t *testing.T, crash *crashing) (died bool) {
	w := newWorld(t)
	stop := w.runApache(testConfig(w.namespace), time.Now, func(env *Environment) {
		env.wrap = func(c client.Client) client.Client { crash.Client = c; return crash }
	})
	var others sync.WaitGroup
	over := make(chan struct{})
	others.Go(func() {
		select {
		case <-crash.killed:
			died = true
			stop()
			w.runApache(testConfig(w.namespace), time.Now)
		case <-over:
		}
	})
	app := w.apacheApp("pi", tolerating(sparkv1.ApplicationTolerations{RestartConfig: again(sparkv1.RestartOnFailure, 1)}), func(app *apacheApp) {
		app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}}
	})
	started := w.witnessDrivers(app, over, &others)
	first := w.readyDriver(app, 1)
	w.kubelet(first.Name, corev1.PodFailed, exited(3, "again"))
	testkit.Wait(t, "the second attempt", func(context.Context) error {
		s := w.getApache("pi").Status.CurrentAttemptSummary
		return want(s != nil && s.AttemptInfo != nil && s.AttemptInfo.ID == 1, true)
	})
	second := w.readyDriver(app, 2)
	w.there(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}})
	w.kubelet(second.Name, corev1.PodSucceeded, exited(0, ""))
	got := w.waitApache("pi", sparkv1.ApplicationResourceReleased)
	w.waitNothing(app)
	close(over)
	others.Wait()
	for attempt, pods := range started {
		if len(pods) > 1 {
			t.Errorf("attempt %s was started %d times", attempt, len(pods))
		}
	}
	if len(started) != 2 {
		t.Errorf("started: %v", started)
	}
	checkHistory(t, got, append([]apacheState{sparkv1.ApplicationScheduledToRestart}, ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased)[1:]...))
	if before := got.Status.PreviousAttemptSummary; before == nil || len(history(before.StateTransitionHistory)) != 6 {
		t.Errorf("the attempt before is %+v", before)
	}
	return died
}
