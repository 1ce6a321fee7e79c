package configured_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// The tests in this file cover faults of the Java operator that this operator does not have.

// TestApacheClientMode checks an application in client mode, which the operator cannot run. The application was stored
// before our CustomResourceDefinition rejected this mode. It fails without a retry, and its objects are released. It
// can then be deleted, because the operator has removed the finalizer of the Java operator.
func TestApacheClientMode(t *testing.T) {
	kit.NeedsKubernetes(t, kit.StatusRatchets, "a status beside a spec that our definition refuses")
	w := world.New(t)
	var app *resources.ApacheApp
	storedBefore(w, func() {
		app = resources.CreateApache(w, "pi", func(app *resources.ApacheApp) {
			app.Spec.DeploymentMode = sparkv1.ClientMode
			app.Finalizers = []string{resources.TheirFinalizer}
		})
	})
	t.Parallel()
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, []resources.ApacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationFailed,
		sparkv1.ApplicationResourceReleased})
	version := got.ResourceVersion

	waitNothing(w, app)
	resources.TriggerApachePass(w, "pi")

	if again := resources.WaitApache(w, "pi",
		sparkv1.ApplicationResourceReleased); len(again.Status.StateTransitionHistory) != 3 {
		t.Errorf("after resourceVersion %s the status changed to %+v", version, again.Status)
	}

	w.Remove(app)
	w.WaitGone(app)
}

// TestApachePodWithoutStatuses checks that a driver pod that the kubelet did not admit counts as failed, although it
// has no container status.
func TestApachePodWithoutStatuses(t *testing.T) {
	t.Parallel()

	for reason, state := range map[string]resources.ApacheState{"UnexpectedAdmissionError": sparkv1.ApplicationFailed,
		"Evicted": sparkv1.ApplicationDriverEvicted} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			resources.RunApache(w, world.Config(w.Namespace), time.Now)
			app := resources.CreateApache(w, "pi",
				resources.WithTolerations(sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainAlways}))
			driver := resources.ApacheDriver(w, app, 1)
			before := driver.DeepCopy()

			driver.Status.Phase, driver.Status.Reason, driver.Status.Message = corev1.PodFailed, reason,
				"the node had no room"
			if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}

			got := resources.WaitApache(w, "pi", sparkv1.ApplicationTerminatedWithoutReleaseResources)

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
	w, clock := world.New(t), &world.Later{}
	resources.RunApache(w, world.Config(w.Namespace), clock.Now)
	app := resources.CreateApache(w, "pi", func(app *resources.ApacheApp) {
		app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: &runtime.RawExtension{Raw: []byte(
			`{"spec":{"containers":[{"name":"spark-kubernetes-driver"},{"name":"logger","image":"l"},{"name":"proxy","image":"p"}]}}`)}}
	})
	driver := resources.ReadyDriver(w, app, 1)
	before := driver.DeepCopy()
	driver.Status.Phase = corev1.PodRunning

	driver.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "logger", State: scene.Exited(0, "")}, {Name: "proxy", State: scene.Exited(1, "")},
		{Name: overlay.DriverContainer, State: world.Running(), Ready: true},
	}
	if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	waitApachePass(w, app, clock)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)

	before = driver.DeepCopy()

	driver.Status.ContainerStatuses[2] = corev1.ContainerStatus{Name: overlay.DriverContainer,
		State: scene.Exited(0, "")}
	if err := w.API.Status().Patch(t.Context(), driver, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased),
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))
}

// TestApachePodsOfAnEarlierAttempt checks that the driver and the executors of an earlier attempt do not count for the
// next attempt, however slowly they stop.
func TestApachePodsOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi", func(app *resources.ApacheApp) {
		app.Spec.SparkConf["spark.app.id"] = "mine" // gives all attempts the same names
	}, resources.WithTolerations(sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartAlways, 1)}))
	driver := resources.ReadyDriver(w, app, 1)
	executor := apacheExecutor(w, app, driver, 1)
	w.Kubelet(executor.Name, corev1.PodRunning, world.Running())
	goes := []func(){w.TakesItsTime(driver), w.TakesItsTime(executor)}
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	w.WaitDeleting(driver)
	w.WaitDeleting(executor)
	resources.WaitApache(w, "pi", sparkv1.ApplicationScheduledToRestart)

	if same := resources.ApacheDriver(w, app, 1); same.UID != driver.UID {
		t.Fatal("another driver was created")
	}

	for _, gone := range goes {
		gone()
	}

	next := resources.ReadyDriver(w, app, 2)
	if next.UID == driver.UID {
		t.Error("the driver of the first attempt counts as the driver of the second attempt")
	}

	w.Kubelet(next.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
}

// TestApacheForeignObjects checks an application whose driver pod, or a ConfigMap of its configMapSpecs, has the name
// of somebody else's object. A message names this object, and the operator neither changes nor deletes it. The
// application can be restarted once the name is free.
func TestApacheForeignObjects(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"},
		Data: map[string]string{"a": "theirs"}}
	w.Create(theirs)
	app := resources.CreateApache(w, "pi", func(app *resources.ApacheApp) {
		app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "ours"}}}
	}, resources.WithTolerations(sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartOnInfrastructureFailure, 1_000_000)}))
	resources.WaitApache(w, "pi", sparkv1.ApplicationScheduledToRestart, func(app *resources.ApacheApp) error {
		before := app.Status.PreviousAttemptSummary
		if before == nil {
			return errors.New("there is no previous attempt")
		}

		for _, state := range before.StateTransitionHistory {
			if state.CurrentStateSummary == sparkv1.ApplicationSchedulingFailure {
				return resources.Says(state.Message, `ConfigMap "settings" already exists`)
			}
		}
		return fmt.Errorf("the previous attempt has the history %v", history(before.StateTransitionHistory))
	})
	resources.UntouchedObject(w, theirs)
	w.Remove(theirs)
	var driver *corev1.Pod

	resources.WaitApache(w, "pi", sparkv1.ApplicationDriverRequested)
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}}
	w.MustExist(ours)

	if ours.Data["a"] != "ours" || ours.Labels[identity.AppUIDLabel] != string(app.UID) {
		t.Errorf("the ConfigMap is %+v", ours)
	}

	attempt := resources.GetApache(w, "pi").Status.Operator.Attempt
	driver = resources.ReadyDriver(w, app, int(attempt))
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	w.WaitGone(ours)

	pod := scene.ForeignPod(w.Namespace, "taken-0-driver")
	w.Create(pod)
	taken := resources.CreateApache(w, "taken")
	got := resources.WaitApache(w, "taken", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, []resources.ApacheState{sparkv1.ApplicationSubmitted, sparkv1.ApplicationSchedulingFailure,
		sparkv1.ApplicationResourceReleased})
	resources.UntouchedObject(w, pod)
	waitNothing(w, taken)
}

// TestApacheErrorIsNoAbsence checks that the operator does not treat a driver as deleted while the API server cannot
// answer whether the driver exists.
func TestApacheErrorIsNoAbsence(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	var broken atomic.Bool
	cfg := world.Config(w.Namespace)
	cfg.Apache.MissingDriverGracePeriod.Duration = time.Millisecond
	resources.RunApache(w, cfg, time.Now, func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				live := strings.Contains(request.URL.RawQuery, "labelSelector") &&
					request.URL.Query().Get("watch") == "" && strings.HasSuffix(request.URL.Path, "/pods")
				if broken.Load() && live && request.Method == http.MethodGet {
					return nil, errors.New("no route to host")
				}
				return next.RoundTrip(request)
			})
		})
	})
	app := resources.CreateApache(w, "pi")
	driver := resources.ReadyDriver(w, app, 1)

	broken.Store(true)
	w.Remove(driver)
	w.WaitGone(driver)
	w.WaitLog("read the driver pods")

	if got := resources.GetApache(w,
		"pi"); got.Status.CurrentState.CurrentStateSummary != sparkv1.ApplicationRunningHealthy {
		t.Errorf("the state is %+v", got.Status.CurrentState)
	}

	broken.Store(false)
	resources.TriggerApachePass(w, "pi")
	checkHistory(t, resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased),
		resources.Ran(sparkv1.ApplicationFailed, sparkv1.ApplicationResourceReleased))
}

// TestApacheUnselected checks an application that the label selector does not select, and a sentinel (an object that
// only probes the operator). The operator changes neither of them, not even their finalizers. It serves the application
// once somebody gives the application the selected labels.
func TestApacheUnselected(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Apache.LabelSelector = "team=a"
	resources.RunApache(w, cfg, time.Now)

	finalized := func(app *resources.ApacheApp) { app.Finalizers = []string{resources.TheirFinalizer} }
	outside := resources.CreateApache(w, "outside", finalized)
	probe := resources.CreateApache(w, "sentinel",
		func(app *resources.ApacheApp) { app.Labels = map[string]string{"team": "a", sentinel.Label: "true"} })
	inside := resources.CreateApache(w, "inside",
		func(app *resources.ApacheApp) { app.Labels = map[string]string{"team": "a"} })
	resources.ApacheDriver(w, inside, 1)
	resources.WaitApache(w, "inside", sparkv1.ApplicationDriverRequested)

	for _, app := range []*resources.ApacheApp{outside, probe} {
		got := resources.GetApache(w, app.Name)
		if diff := cmp.Diff(sparkv1.ApplicationStatus{}, got.Status); diff != "" ||
			got.ResourceVersion != app.ResourceVersion {
			t.Errorf("%s was changed: %s", app.Name, diff)
		}
	}

	resources.PatchApache(w, "outside", `{"metadata":{"labels":{"team":"a"}}}`)
	resources.ApacheDriver(w, outside, 1)
}

// TestApacheFinalizerIsReleased checks that the operator removes the Java operator's finalizer at once and only once,
// with a log line, and keeps the finalizers of others. The operator also removes the finalizer from an application that
// is already being deleted.
func TestApacheFinalizerIsReleased(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	const others = "example.com/audit"
	going := resources.CreateApache(w, "going",
		func(app *resources.ApacheApp) { app.Finalizers = []string{resources.TheirFinalizer} })
	w.Remove(going)
	app := resources.CreateApache(w, "pi",
		func(app *resources.ApacheApp) { app.Finalizers = []string{others, resources.TheirFinalizer} })
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	w.WaitGone(going)
	resources.ApacheDriver(w, app, 1)

	if got := resources.GetApache(w, "pi"); len(got.Finalizers) != 1 || got.Finalizers[0] != others {
		t.Errorf("the finalizers are %v", got.Finalizers)
	}

	w.WaitLog("Removed the finalizers of another operator")
	resources.PatchApache(w, "pi", `{"metadata":{"finalizers":null}}`)
}

// TestApacheForce checks that a pod that does not stop within forceTerminationGracePeriodMillis is deleted without a
// grace period.
func TestApacheForce(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi", resources.WithTolerations(sparkv1.ApplicationTolerations{
		ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{ForceTerminationGracePeriodMillis: new(int64(1000)),
			TerminationRequeuePeriodMillis: new(int64(1000))},
	}))
	driver := resources.ApacheDriver(w, app, 1)
	w.BindAway(driver) // whose kubelet stops no pods
	w.Ready(driver.Name)
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)
	w.Kubelet(driver.Name, corev1.PodRunning, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	w.WaitGone(driver)
}
