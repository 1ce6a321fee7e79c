package operator

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/sentinel"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// The tests in this file cover faults of the Java operator that this operator does not have.

// TestApacheClientMode checks an application in client mode, which the operator cannot run. The application was stored
// before our CustomResourceDefinition rejected this mode. It fails without a retry, and its objects are released. It
// can then be deleted, because the operator has removed the finalizer of the Java operator.
func TestApacheClientMode(t *testing.T) {
	w := newWorld(t)
	var app *apacheApp
	w.storedBefore(func() {
		app = w.apacheApp("pi", func(app *apacheApp) {
			app.Spec.DeploymentMode = sparkv1.ClientMode
			app.Finalizers = []string{theirFinalizer}
		})
	})
	t.Parallel()
	w.runApache(testConfig(w.Namespace), time.Now)
	got := w.waitApache("pi", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, []apacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationFailed, sparkv1.ApplicationResourceReleased})
	version := got.ResourceVersion

	w.waitNothing(app)
	w.triggerApachePass("pi")

	if again := w.waitApache("pi", sparkv1.ApplicationResourceReleased); len(again.Status.StateTransitionHistory) != 3 {
		t.Errorf("after resourceVersion %s the status changed to %+v", version, again.Status)
	}

	w.Remove(app)
	w.WaitGone(app)
}

// TestApachePodWithoutStatuses checks that a driver pod that the kubelet did not admit counts as failed, although it
// has no container status.
func TestApachePodWithoutStatuses(t *testing.T) {
	t.Parallel()

	for reason, state := range map[string]apacheState{"UnexpectedAdmissionError": sparkv1.ApplicationFailed, "Evicted": sparkv1.ApplicationDriverEvicted} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.runApache(testConfig(w.Namespace), time.Now)
			app := w.apacheApp("pi", withTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways}))
			driver := w.apacheDriver(app, 1)
			before := driver.DeepCopy()

			driver.Status.Phase, driver.Status.Reason, driver.Status.Message = corev1.PodFailed, reason, "the node had no room"
			if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}

			got := w.waitApache("pi", sparkv1.ApplicationTerminatedWithoutReleaseResources)

			past := history(got.Status.StateTransitionHistory)
			if past[len(past)-2] != state {
				t.Errorf("its history is %v", past)
			}
		})
	}
}

// TestApacheSidecarEnds checks that the end of another container in the driver pod, with success or not, does not end
// the application.
func TestApacheSidecarEnds(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runApache(testConfig(w.Namespace), clock.now)
	app := w.apacheApp("pi", func(app *apacheApp) {
		app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: &runtime.RawExtension{Raw: []byte(
			`{"spec":{"containers":[{"name":"spark-kubernetes-driver"},{"name":"logger","image":"l"},{"name":"proxy","image":"p"}]}}`)}}
	})
	driver := w.readyDriver(app, 1)
	before := driver.DeepCopy()
	driver.Status.Phase = corev1.PodRunning

	driver.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "logger", State: scene.Exited(0, "")}, {Name: "proxy", State: scene.Exited(1, "")}, {Name: overlay.DriverContainer, State: running(), Ready: true},
	}
	if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	w.waitApachePass(app, clock)
	w.waitApache("pi", sparkv1.ApplicationRunningHealthy)

	before = driver.DeepCopy()

	driver.Status.ContainerStatuses[2] = corev1.ContainerStatus{Name: overlay.DriverContainer, State: scene.Exited(0, "")}
	if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	checkHistory(t, w.waitApache("pi", sparkv1.ApplicationResourceReleased), ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
}

// TestApachePodsOfAnEarlierAttempt checks that the driver and the executors of an earlier attempt do not count for the
// next attempt, however slowly they stop.
func TestApachePodsOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runApache(testConfig(w.Namespace), time.Now)
	app := w.apacheApp("pi", func(app *apacheApp) {
		app.Spec.SparkConf["spark.app.id"] = "mine" // gives all attempts the same names
	}, withTolerations(sparkv1.ApplicationTolerations{RestartConfig: restartConfig(sparkv1.RestartAlways, 1)}))
	driver := w.readyDriver(app, 1)
	executor := w.apacheExecutor(app, driver, 1)
	w.kubelet(executor.Name, corev1.PodRunning, running())
	goes := []func(){w.TakesItsTime(driver), w.TakesItsTime(executor)}
	w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitDeleting(driver)
	w.waitDeleting(executor)
	w.waitApache("pi", sparkv1.ApplicationScheduledToRestart)

	if same := w.apacheDriver(app, 1); same.UID != driver.UID {
		t.Fatal("another driver was created")
	}

	for _, gone := range goes {
		gone()
	}

	next := w.readyDriver(app, 2)
	if next.UID == driver.UID {
		t.Error("the driver of the first attempt counts as the driver of the second attempt")
	}

	w.kubelet(next.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitApache("pi", sparkv1.ApplicationResourceReleased)
}

// TestApacheForeignObjects checks an application whose driver pod, or a ConfigMap of its configMapSpecs, has the name
// of somebody else's object. A message names this object, and the operator neither changes nor deletes it. The
// application can be restarted once the name is free.
func TestApacheForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runApache(testConfig(w.Namespace), time.Now)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}, Data: map[string]string{"a": "theirs"}}
	w.Create(theirs)
	app := w.apacheApp("pi", func(app *apacheApp) {
		app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "ours"}}}
	}, withTolerations(sparkv1.ApplicationTolerations{RestartConfig: restartConfig(sparkv1.RestartOnInfrastructureFailure, 1_000_000)}))
	w.waitApache("pi", sparkv1.ApplicationScheduledToRestart, func(app *apacheApp) error {
		before := app.Status.PreviousAttemptSummary
		if before == nil {
			return errors.New("there is no previous attempt")
		}

		for _, state := range before.StateTransitionHistory {
			if state.CurrentStateSummary == sparkv1.ApplicationSchedulingFailure {
				return says(state.Message, `ConfigMap "settings" already exists`)
			}
		}
		return fmt.Errorf("the previous attempt has the history %v", history(before.StateTransitionHistory))
	})
	w.untouchedObject(theirs)
	w.Remove(theirs)
	var driver *corev1.Pod

	w.waitApache("pi", sparkv1.ApplicationDriverRequested)
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}}
	w.mustExist(ours)

	if ours.Data["a"] != "ours" || ours.Labels[identity.AppUIDLabel] != string(app.UID) {
		t.Errorf("the ConfigMap is %+v", ours)
	}

	attempt := w.getApache("pi").Status.Operator.Attempt
	driver = w.readyDriver(app, int(attempt))
	w.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitApache("pi", sparkv1.ApplicationResourceReleased)
	w.WaitGone(ours)

	pod := scene.ForeignPod(w.Namespace, "taken-0-driver")
	w.Create(pod)
	taken := w.apacheApp("taken")
	got := w.waitApache("taken", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, []apacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationSchedulingFailure, sparkv1.ApplicationResourceReleased})
	w.untouchedObject(pod)
	w.waitNothing(taken)
}

func says(text, word string) error {
	if !strings.Contains(text, word) {
		return fmt.Errorf("it says %q, not %q", text, word)
	}
	return nil
}

// TestApacheErrorIsNoAbsence checks that the operator does not treat a driver as deleted while the API server cannot
// answer whether the driver exists.
func TestApacheErrorIsNoAbsence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken atomic.Bool
	cfg := testConfig(w.Namespace)
	cfg.Apache.MissingDriverGracePeriod.Duration = time.Millisecond
	w.runApache(cfg, time.Now, func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
				live := strings.Contains(request.URL.RawQuery, "labelSelector") && request.URL.Query().Get("watch") == "" && strings.HasSuffix(request.URL.Path, "/pods")
				if broken.Load() && live && request.Method == http.MethodGet {
					return nil, errors.New("no route to host")
				}
				return next.RoundTrip(request)
			})
		})
	})
	app := w.apacheApp("pi")
	driver := w.readyDriver(app, 1)

	broken.Store(true)
	w.Remove(driver)
	w.WaitGone(driver)
	w.waitLog("read the driver pods")

	if got := w.getApache("pi"); got.Status.CurrentState.CurrentStateSummary != sparkv1.ApplicationRunningHealthy {
		t.Errorf("the state is %+v", got.Status.CurrentState)
	}

	broken.Store(false)
	w.triggerApachePass("pi")
	checkHistory(t, w.waitApache("pi", sparkv1.ApplicationResourceReleased), ran(sparkv1.ApplicationFailed, sparkv1.ApplicationResourceReleased))
}

// TestApacheUnselected checks an application that the label selector does not select, and a sentinel (an object that
// only probes the operator). The operator changes neither of them, not even their finalizers. It serves the application
// once somebody gives the application the selected labels.
func TestApacheUnselected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.Namespace)
	cfg.Apache.LabelSelector = "team=a"
	w.runApache(cfg, time.Now)

	finalized := func(app *apacheApp) { app.Finalizers = []string{theirFinalizer} }
	outside := w.apacheApp("outside", finalized)
	probe := w.apacheApp("sentinel", func(app *apacheApp) { app.Labels = map[string]string{"team": "a", sentinel.Label: "true"} })
	inside := w.apacheApp("inside", func(app *apacheApp) { app.Labels = map[string]string{"team": "a"} })
	w.apacheDriver(inside, 1)
	w.waitApache("inside", sparkv1.ApplicationDriverRequested)

	for _, app := range []*apacheApp{outside, probe} {
		got := w.getApache(app.Name)
		if diff := cmp.Diff(sparkv1.ApplicationStatus{}, got.Status); diff != "" || got.ResourceVersion != app.ResourceVersion {
			t.Errorf("%s was changed: %s", app.Name, diff)
		}
	}

	w.patchApache("outside", `{"metadata":{"labels":{"team":"a"}}}`)
	w.apacheDriver(outside, 1)
}

// TestApacheFinalizerIsReleased checks that the operator removes the Java operator's finalizer at once and only once,
// with a log line, and keeps the finalizers of others. The operator also removes the finalizer from an application that
// is already being deleted.
func TestApacheFinalizerIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const others = "example.com/audit"
	going := w.apacheApp("going", func(app *apacheApp) { app.Finalizers = []string{theirFinalizer} })
	w.Remove(going)
	app := w.apacheApp("pi", func(app *apacheApp) { app.Finalizers = []string{others, theirFinalizer} })
	w.runApache(testConfig(w.Namespace), time.Now)
	w.WaitGone(going)
	w.apacheDriver(app, 1)

	if got := w.getApache("pi"); len(got.Finalizers) != 1 || got.Finalizers[0] != others {
		t.Errorf("the finalizers are %v", got.Finalizers)
	}

	w.waitLog("Removed the finalizers of another operator")
	w.patchApache("pi", `{"metadata":{"finalizers":null}}`)
}

// TestApacheForce checks that a pod that does not stop within forceTerminationGracePeriodMillis is deleted without a
// grace period.
func TestApacheForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runApache(testConfig(w.Namespace), time.Now)
	app := w.apacheApp("pi", withTolerations(sparkv1.ApplicationTolerations{
		ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{ForceTerminationGracePeriodMillis: new(int64(1000)), TerminationRequeuePeriodMillis: new(int64(1000))},
	}))
	driver := w.apacheDriver(app, 1)
	w.Bind(driver, "lost") // whose kubelet stops no pods
	w.ready(driver.Name)
	w.waitApache("pi", sparkv1.ApplicationRunningHealthy)
	w.kubelet(driver.Name, corev1.PodRunning, scene.Exited(0, ""))
	w.waitApache("pi", sparkv1.ApplicationResourceReleased)
	w.WaitGone(driver)
}
