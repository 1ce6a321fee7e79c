package configured_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

func checkHistory(t *testing.T, app *resources.ApacheApp, states []resources.ApacheState) {
	t.Helper()

	if diff := cmp.Diff(states, history(app.Status.StateTransitionHistory)); diff != "" {
		t.Errorf("%s has another history (-want +got):\n%s", app.Name, diff)
	}
}

// TestApacheApplicationCompletes checks that the objects have the names that users of the API group spark.apache.org
// expect, that the history is exact, and that no object exists at the end.
func TestApacheApplicationCompletes(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi")

	driver := resources.ApacheDriver(w, app, 1)
	if driver.Name != "pi-0-driver" || driver.Labels[identity.ApacheAppNameLabel] != "pi" ||
		!metav1.IsControlledBy(driver, app) ||
		driver.Spec.Containers[0].Image != "docker.io/apache/spark:4.1.4" {
		t.Errorf("the driver is %s of %v, labelled %v, owned by %v", driver.Name, driver.Spec.Containers[0].Image,
			driver.Labels, driver.OwnerReferences)
	}

	for _, object := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-0-driver-svc"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-0-spark-drv-conf-map"}},
	} {
		w.MustExist(object)
	}

	resources.WaitApache(w, "pi", sparkv1.ApplicationDriverRequested)
	resources.ReadyDriver(w, app, 1)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
	waitNothing(w, app)

	if info := got.Status.CurrentAttemptSummary; info == nil || info.AttemptInfo == nil || info.AttemptInfo.ID != 0 {
		t.Errorf("the attempt is %+v", info)
	}

	if got.Status.ObservedGeneration != got.Generation {
		t.Errorf("generation %d of %d was observed", got.Status.ObservedGeneration, got.Generation)
	}

	w.WaitEvent(app, "ResourceReleased")

	if n := w.MetricOf("sparkoperator_transitions_total", "kind", configured.ApacheApplicationName); n == 0 {
		t.Error("no transition is counted")
	}
}

// TestApacheHistoryOfAFastDriver checks that a driver that started and ended between two passes has the same history as
// a driver that the operator observed in each state.
func TestApacheHistoryOfAFastDriver(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]int32{"well": 0, "badly": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			stop := resources.RunApache(w, world.Config(w.Namespace), time.Now)
			app := resources.CreateApache(w, "pi")
			driver := resources.ApacheDriver(w, app, 1)
			resources.WaitApache(w, "pi", sparkv1.ApplicationDriverRequested)
			stop()
			w.Kubelet(driver.Name, map[int32]corev1.PodPhase{0: corev1.PodSucceeded, 1: corev1.PodFailed}[end],
				scene.Exited(end, ""))
			resources.RunApache(w, world.Config(w.Namespace), time.Now)
			got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
			checkHistory(t, got, resources.Ran(map[int32]resources.ApacheState{0: sparkv1.ApplicationSucceeded,
				1: sparkv1.ApplicationFailed}[end], sparkv1.ApplicationResourceReleased))
		})
	}
}

// TestApacheRetention checks that the objects of a failed attempt are retained for resourceRetainDurationMillis, and
// that the objects of a successful attempt are not retained.
func TestApacheRetention(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunApache(w, world.Config(w.Namespace), clock.Now)

	keeps := resources.WithTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainOnFailure,
		ResourceRetainDurationMillis: new(int64(3600_000))})
	app := resources.CreateApache(w, "bad", keeps)
	driver := resources.ReadyDriver(w, app, 1)
	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(3, "no input"))
	got := resources.WaitApache(w, "bad", sparkv1.ApplicationTerminatedWithoutReleaseResources)
	checkHistory(t, got, resources.Ran(sparkv1.ApplicationFailed, sparkv1.ApplicationTerminatedWithoutReleaseResources))

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bad-0-spark-drv-conf-map"}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bad-0-driver-svc"}}

	clock.Advance(59 * time.Minute)
	waitApachePass(w, app, clock)
	resources.WaitApache(w, "bad", sparkv1.ApplicationTerminatedWithoutReleaseResources)

	for _, object := range []client.Object{driver, config, service} {
		w.MustExist(object)
	}

	clock.Advance(time.Minute)
	resources.TriggerApachePass(w, "bad")
	resources.WaitApache(w, "bad", sparkv1.ApplicationResourceReleased)
	waitNothing(w, app)

	good := resources.CreateApache(w, "good", keeps)
	w.Kubelet(resources.ReadyDriver(w, good, 1).Name, corev1.PodSucceeded, scene.Exited(0, ""))
	checkHistory(t, resources.WaitApache(w, "good", sparkv1.ApplicationResourceReleased),
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
	waitNothing(w, good)
}

// waitApachePass triggers a pass over an application, and waits until that pass has ended.
func waitApachePass(w *world.World, app client.Object, clock *world.Later) {
	w.T.Helper()

	before := clock.ReadCount.Load()

	resources.TriggerApachePass(w, app.GetName())
	kit.Wait(w.T, app.GetName()+" to get a pass",
		func(context.Context) error { return world.Want(clock.ReadCount.Load() > before+1, true) })
}

// TestApacheRestarts checks that the objects of each attempt have their own names, and that the objects of the previous
// attempt are deleted. The status counts the restarts and contains the history of the previous attempt. Restarts stop
// at the limit. The objects of the last attempt are then deleted, whatever the retain policy is.
func TestApacheRestarts(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi",
		resources.WithTolerations(sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartOnFailure, 2), ResourceRetainPolicy: sparkv1.RetainAlways}))

	var last *corev1.Pod
	for attempt := 1; attempt <= 3; attempt++ {
		driver := resources.ReadyDriver(w, app, attempt)
		if name := fmt.Sprintf("pi-%d-driver", attempt-1); driver.Name != name {
			t.Errorf("the driver of attempt %d is %s", attempt, driver.Name)
		}

		if last != nil {
			w.WaitGone(last)
		}

		if attempt == 2 {
			got := resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)

			info, before := got.Status.CurrentAttemptSummary.AttemptInfo, got.Status.PreviousAttemptSummary
			if info.ID != 1 || info.RestartCounter != 1 || info.FailureRestartCounter != 1 ||
				info.SchedulingFailureRestartCounter != 0 || before == nil {
				t.Fatalf("the attempt is %+v, the previous attempt %+v", info, before)
			}

			if diff := cmp.Diff(resources.Ran(sparkv1.ApplicationFailed),
				history(before.StateTransitionHistory)); diff != "" {
				t.Errorf("the previous attempt has another history:\n%s", diff)
			}

			checkHistory(t, got, append([]resources.ApacheState{sparkv1.ApplicationScheduledToRestart},
				resources.Ran()[1:]...))
		}

		w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(3, "again"))
		last = driver
	}

	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	if !strings.Contains(got.Status.CurrentState.Message, "2") {
		t.Errorf("the message does not contain the limit of restarts: %q", got.Status.CurrentState.Message)
	}

	w.WaitGone(last)
}

// TestApacheDeadlines checks that an attempt that does not start in time ends at its deadline and not before, although
// no event queues the application at the deadline.
func TestApacheDeadlines(t *testing.T) {
	t.Parallel()

	const limit, hour = 2500, 3600_000
	for _, test := range []struct {
		name    string
		limits  func(*int64) sparkv1.ApplicationTimeoutConfig
		play    func(*world.World, *corev1.Pod)
		in, out resources.ApacheState
		after   []resources.ApacheState
	}{
		{"start", func(ms *int64) sparkv1.ApplicationTimeoutConfig {
			return sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: ms}
		}, func(*world.World, *corev1.Pod) {}, sparkv1.ApplicationDriverRequested,
			sparkv1.ApplicationDriverStartTimedOut, resources.Ran()[:2]},
		{"ready", func(ms *int64) sparkv1.ApplicationTimeoutConfig {
			return sparkv1.ApplicationTimeoutConfig{DriverReadyTimeoutMillis: ms}
		}, func(w *world.World, driver *corev1.Pod) { w.Kubelet(driver.Name, corev1.PodRunning, world.Running()) },
			sparkv1.ApplicationDriverStarted, sparkv1.ApplicationDriverReadyTimedOut, resources.Ran()[:3]},
		{"executors", func(ms *int64) sparkv1.ApplicationTimeoutConfig {
			return sparkv1.ApplicationTimeoutConfig{ExecutorStartTimeoutMillis: ms}
		}, func(w *world.World, driver *corev1.Pod) { w.Ready(driver.Name) }, sparkv1.ApplicationDriverReady,
			sparkv1.ApplicationExecutorsStartTimedOut, resources.Ran()[:4]},
	} {
		bounded := func(ms int64) func(*resources.ApacheApp) {
			limits := test.limits(&ms)
			return resources.WithTolerations(sparkv1.ApplicationTolerations{ApplicationTimeoutConfig: &limits,
				InstanceConfig: &sparkv1.InstanceConfig{InitExecutors: new(int64(1))}})
		}

		after := append(slices.Clone(test.after), test.out, sparkv1.ApplicationResourceReleased)
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			resources.RunApache(w, world.Config(w.Namespace), time.Now)
			app := resources.CreateApache(w, "pi", bounded(limit))
			test.play(w, resources.ApacheDriver(w, app, 1))
			checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased), after)
			waitNothing(w, app)
		})
		t.Run(test.name+" and not before", func(t *testing.T) {
			t.Parallel()
			w, clock := world.New(t), &world.Later{}
			resources.RunApache(w, world.Config(w.Namespace), clock.Now)
			app := resources.CreateApache(w, "pi", bounded(hour))
			test.play(w, resources.ApacheDriver(w, app, 1))
			resources.WaitApache(w, "pi", test.in)
			clock.Advance(58 * time.Minute)
			waitApachePass(w, app, clock)
			resources.WaitApache(w, "pi", test.in)
			clock.Advance(2 * time.Minute)
			resources.TriggerApachePass(w, "pi")
			checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased), after)
		})
	}
}

// TestApacheDeletedWhileItRuns checks that no object of a deleted application remains, and that nothing blocks its
// deletion.
func TestApacheDeletedWhileItRuns(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi")
	driver := resources.ReadyDriver(w, app, 1)
	executor := apacheExecutor(w, app, driver, 1)
	w.Remove(resources.GetApache(w, "pi"))
	w.WaitGone(app)

	for _, pod := range []*corev1.Pod{driver, executor} {
		w.WaitGone(pod)
	}

	waitNothing(w, app)
}
