package e2e

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// The states that most tests of spark.apache.org applications expect.
const (
	appSubmitted = sparkv1.ApplicationSubmitted
	appRequested = sparkv1.ApplicationDriverRequested
	appStarted   = sparkv1.ApplicationDriverStarted
	appReady     = sparkv1.ApplicationDriverReady
	appHealthy   = sparkv1.ApplicationRunningHealthy
	appSucceeded = sparkv1.ApplicationSucceeded
	appFailed    = sparkv1.ApplicationFailed
	appReleased  = sparkv1.ApplicationResourceReleased
	appRetained  = sparkv1.ApplicationTerminatedWithoutReleaseResources
	appAgain     = sparkv1.ApplicationScheduledToRestart
)

type apacheState = sparkv1.ApplicationStateSummary

// toReady lists the states that an application passes through until its driver is ready.
var toReady = []apacheState{appSubmitted, appRequested, appStarted, appReady}

// toReadyAnd returns the states in toReady followed by the given states.
func toReadyAnd(further ...apacheState) []apacheState { return slices.Concat(toReady, further) }

// apache tests applications and clusters of spark.apache.org. At the same time the operator also serves the API group
// sparkoperator.k8s.io.
func (w *suite) apache(t *testing.T) {
	w.lifeProgram(t)
	t.Run("parallel", func(t *testing.T) {
		w.parallel(t, "pi runs to ResourceReleased", w.apachePi)
		w.parallel(t, "driver start times out", w.apacheStartTimedOut)
		w.parallel(t, "restarts are counted and the last driver is released", w.apacheRestarted)
		w.parallel(t, "cluster runs jobs", w.clusterWorks)
	})

	if *wholeLife {
		t.Run("slow", func(t *testing.T) {
			w.parallel(t, "resources are retained for their duration", w.apacheKeptForAWhile)
			w.parallel(t, "executors below their thresholds", w.apacheBelowThreshold)
			w.parallel(t, "executors of a StatefulSet", w.apacheInStatefulSet)
			w.parallel(t, "deleted while running", w.apacheDeleted)
			w.parallel(t, "evicted driver is restarted", w.apacheEvicted)
			w.parallel(t, "held, suspended and resumed", w.apacheSuspended)
			w.parallel(t, "cluster is suspended and resumed", w.clusterSuspended)
			w.parallel(t, "queued", w.queued)
			w.parallel(t, "cluster with a wrong image reports it", w.clusterFails)
		})
	}
}

// apacheApp returns a spark.apache.org application with minimal resources.
func apacheApp(t *testing.T, name, spec string) *sparkv1.SparkApplication {
	t.Helper()

	app := &sparkv1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &app.Spec); err != nil {
		t.Fatal(err)
	}

	app.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	conf := maps.Clone(timeouts)
	maps.Copy(conf, map[string]string{
		"spark.kubernetes.container.image":                        "docker.io/apache/spark:{{SPARK_VERSION}}",
		"spark.kubernetes.authenticate.driver.serviceAccountName": "spark-operator-spark",
		"spark.driver.memory":                                     "512m", "spark.executor.memory": "512m",
		"spark.executor.instances":              "1",
		"spark.kubernetes.driver.request.cores": "100m", "spark.kubernetes.executor.request.cores": "100m",
	})
	maps.Copy(conf, app.Spec.SparkConf)
	app.Spec.SparkConf = conf
	return app
}

// scriptedApacheApp returns an application whose driver performs the given steps of testdata/life/main.py.
func scriptedApacheApp(t *testing.T, name, tolerations string, steps ...string) *sparkv1.SparkApplication {
	t.Helper()
	app := apacheApp(t, name, `{pyFiles: "local:///opt/life/main.py", applicationTolerations: `+tolerations+`}`)
	app.Spec.DriverArgs = steps
	app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: raw(`{"spec": {
		"containers": [{"name": "spark-kubernetes-driver", "volumeMounts": [{"name": "program", "mountPath": "/opt/life"}]}],
		"volumes": [{"name": "program", "configMap": {"name": "life-program"}}]}}`)}
	return app
}

// awaitApache waits until the application is in the wanted state.
func (w *suite) awaitApache(t *testing.T, app *sparkv1.SparkApplication, limit time.Duration, want apacheState) {
	t.Helper()
	awaitObject(t, w, app, limit, string(want), func(a *sparkv1.SparkApplication) bool {
		return a.Status.CurrentState != nil && a.Status.CurrentState.CurrentStateSummary == want
	})
}

// history returns the states of a state transition history, in the order of the history's keys. It covers all attempts
// unless the operator has trimmed the history.
func history(t *testing.T, transitions map[string]sparkv1.ApplicationState) []apacheState {
	t.Helper()

	var keys []int
	for key := range transitions {
		n, err := strconv.Atoi(key)
		if err != nil {
			t.Fatalf("history has the key %q", key)
		}

		keys = append(keys, n)
	}

	slices.Sort(keys)

	var states []apacheState
	for i, key := range keys {
		if key != keys[0]+i {
			t.Errorf("history lacks a key among %v", keys)
		}

		states = append(states, transitions[strconv.Itoa(key)].CurrentStateSummary)
	}
	return states
}

func (w *suite) checkHistory(t *testing.T, app *sparkv1.SparkApplication, want []apacheState) {
	t.Helper()

	if diff := cmp.Diff(want, history(t, app.Status.StateTransitionHistory)); diff != "" {
		t.Errorf("history of %s (-want +got):\n%s\n%s", app.Name, diff, w.describe(t, app))
	}
}

// waitNoDependents waits until all dependents of an application are gone.
func (w *suite) waitNoDependents(t *testing.T, app client.Object) {
	t.Helper()
	eventually(t, time.Minute, "deletion of all dependents", func() (string, bool) {
		left := w.dependents(t, app)
		return strings.Join(left, ", "), len(left) == 0
	})
}

// apachePi runs Spark's Pi with two executors and waits until the operator has released all resources. The job is large
// enough to run for some seconds, so that the test can read the driver and its dependents while the application runs.
func (w *suite) apachePi(t *testing.T) {
	app := apacheApp(t, "apache-pi",
		`{mainClass: org.apache.spark.examples.SparkPi, jars: "local:///opt/spark/examples/jars/spark-examples.jar", driverArgs: ["1000"],
		sparkConf: {spark.executor.instances: "2"}, applicationTolerations: {instanceConfig: {initExecutors: 1}}}`)
	w.create(t, app)
	w.awaitApache(t, app, patience, appHealthy)

	pod := &corev1.Pod{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "apache-pi-0-driver"},
		pod); err != nil {
		t.Fatal(err)
	}

	for label, want := range map[string]string{"spark.operator/spark-app-name": "apache-pi", "spark-role": "driver",
		"spark-app-selector": "apache-pi-0", "spark-version": "4.1.4"} {
		if got := pod.Labels[label]; got != want {
			t.Errorf("label %s of the driver is %q, want %q", label, got, want)
		}
	}

	for name, object := range map[string]client.Object{"apache-pi-0-driver-svc": &corev1.Service{},
		"apache-pi-0-spark-drv-conf-map": &corev1.ConfigMap{}} {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, object); err != nil {
			t.Error(err)
		}
	}

	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, toReadyAnd(appHealthy, appSucceeded, appReleased))
	w.waitNoDependents(t, app)

	for _, reason := range []string{"DriverRequested", "DriverStarted", "DriverReady", "RunningHealthy", "Succeeded", "ResourceReleased"} {
		// The Event of a state names the states that the same pass entered and left before.
		w.awaitEvent(t, app, reason, func(e corev1.Event) bool { return e.Reason == reason || strings.Contains(e.Message, reason+": ") })
	}

	w.remove(t, app)
}

// apacheStartTimedOut runs an application whose image does not exist, until its start times out. The operator counts
// the start timeout from the creation of the driver pod, so the test checks the time between the states
// DriverRequested and DriverStartTimedOut. Ten seconds after its end, the application itself must expire
// (ttlAfterStopMillis).
func (w *suite) apacheStartTimedOut(t *testing.T) {
	app := apacheApp(t, "apache-image",
		`{mainClass: a.B, jars: "local:///a.jar", sparkConf: {spark.kubernetes.container.image: "localhost/nobody/has:this"},
		applicationTolerations: {applicationTimeoutConfig: {driverStartTimeoutMillis: 8000}, ttlAfterStopMillis: 10000}}`)
	w.create(t, app)
	w.awaitApache(t, app, patience, appReleased)

	timedOut := sparkv1.ApplicationDriverStartTimedOut
	w.checkHistory(t, app, []apacheState{appSubmitted, appRequested, timedOut, appReleased})

	requested, over := app.Status.StateTransitionHistory["1"], app.Status.StateTransitionHistory["2"]
	if took := when(t, over).Sub(when(t, requested)); took < 7*time.Second {
		t.Errorf("timed out after %s, want 8 s", took)
	}

	if !strings.Contains(over.Message, "nobody/has") {
		t.Errorf("%s has the message %q, which does not name the missing image", timedOut, over.Message)
	}

	w.waitNoDependents(t, app)
	eventually(t, time.Minute, "the application to expire", func() (string, bool) {
		err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app)
		return "it still exists", apierrors.IsNotFound(err)
	})
}

func when(t *testing.T, s sparkv1.ApplicationState) time.Time {
	t.Helper()

	at, err := time.Parse(time.RFC3339Nano, s.LastTransitionTime)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// apacheRestarted checks that a failing driver is restarted as often as the policy allows. The names of the objects
// differ between attempts. The operator releases the resources of every attempt, also of the last one.
func (w *suite) apacheRestarted(t *testing.T) {
	app := scriptedApacheApp(t, "apache-fails", `{resourceRetainPolicy: OnFailure,
		restartConfig: {restartPolicy: OnFailure, maxRestartAttempts: 5, maxRestartOnFailure: 1, restartBackoffMillisForFailure: 1000}}`, "fail")
	w.create(t, app)
	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, []apacheState{appAgain, appRequested, appStarted, appReady, appHealthy, appFailed,
		appReleased})

	before, now := app.Status.PreviousAttemptSummary, app.Status.CurrentAttemptSummary
	if before == nil || now == nil {
		t.Fatalf("the summaries are %v and %v", before, now)
	}

	if diff := cmp.Diff(toReadyAnd(appHealthy, appFailed), history(t, before.StateTransitionHistory)); diff != "" {
		t.Errorf("history of the first attempt (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(&sparkv1.AttemptInfo{ID: 1, RestartCounter: 1, FailureRestartCounter: 1},
		now.AttemptInfo); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}

	failure := app.Status.StateTransitionHistory[strconv.Itoa(len(toReadyAnd(appHealthy, appFailed))+5)]
	if failure.CurrentStateSummary != appFailed || failure.LastObservedDriverStatus == nil {
		t.Errorf("the failure is %+v", failure)
	}

	for _, name := range []string{"apache-fails-0-driver", "apache-fails-1-driver"} {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Errorf("pod %s: %v", name, err)
		}
	}

	w.remove(t, app)
}

// attemptOf returns the number of an application's current attempt, starting at 0. Before the first attempt it returns
// -1.
func attemptOf(a *sparkv1.SparkApplication) int64 {
	if s := a.Status.CurrentAttemptSummary; s != nil && s.AttemptInfo != nil {
		return s.AttemptInfo.ID
	}
	return -1
}

// apacheKeptForAWhile checks that the resources of a Python application are kept for some seconds after its end and
// then released.
func (w *suite) apacheKeptForAWhile(t *testing.T) {
	app := scriptedApacheApp(t, "apache-kept", `{resourceRetainPolicy: Always, resourceRetainDurationMillis: 6000}`,
		"session", "end")
	w.create(t, app)
	w.awaitApache(t, app, patience, appRetained)

	kept := w.dependents(t, app)
	for _, want := range []string{"*v1.Pod apache-kept-0-driver", "*v1.ConfigMap apache-kept-0-spark-drv-conf-map",
		"*v1.Service apache-kept-0-driver-svc"} {
		if !slices.Contains(kept, want) {
			t.Errorf("kept are %v, without %s", kept, want)
		}
	}

	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, toReadyAnd(appHealthy, appSucceeded, appRetained, appReleased))

	retained, released := app.Status.StateTransitionHistory["6"], app.Status.StateTransitionHistory["7"]
	if took := when(t, released).Sub(when(t, retained)); took < 5*time.Second {
		t.Errorf("kept for %s, want 6 s", took)
	}

	w.waitNoDependents(t, app)
	w.remove(t, app)
}

// apacheBelowThreshold checks the state of an application that has fewer executors than its minimum. The application
// keeps running, and becomes healthy when a new executor replaces the lost one. Spark creates replacements every 15 s.
// If a replacement starts before the status shows the loss, the test deletes an executor again.
func (w *suite) apacheBelowThreshold(t *testing.T) {
	app := scriptedApacheApp(t, "apache-below",
		`{instanceConfig: {initExecutors: 2, minExecutors: 2, maxExecutors: 2}}`, "work", "sleep")
	app.Spec.SparkConf["spark.executor.instances"] = "2"
	app.Spec.SparkConf["spark.kubernetes.allocation.batch.delay"] = "15s"
	w.create(t, app)
	w.awaitApache(t, app, patience, appHealthy)

	below := sparkv1.ApplicationRunningWithBelowThresholdExecutors
	awaitObject(t, w, app, patience, "the loss, and health after it", func(a *sparkv1.SparkApplication) bool {
		states := history(t, a.Status.StateTransitionHistory)

		at := slices.Index(states, below)
		if at < 0 {
			w.loseExecutor(t, app)
		}
		return at >= 0 && slices.Contains(states[at:], appHealthy)
	})
	w.remove(t, app)
}

// apacheInStatefulSet runs an application whose driver lets a StatefulSet create its executors. The driver has the
// right that the chart grants with spark.rbac.statefulSets, by an account of its own. The set must be gone at the end.
func (w *suite) apacheInStatefulSet(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "statefulset-allocator"}
	w.create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "create", "delete"}},
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets/scale"}, Verbs: []string{"get", "update"}},
	}})
	w.create(t, &corev1.ServiceAccount{ObjectMeta: meta})

	for _, role := range []string{meta.Name, cluster.ServiceAccount} {
		w.create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name + "-" + role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}}})
	}

	app := apacheApp(t, "apache-set",
		`{mainClass: org.apache.spark.examples.SparkPi, jars: "local:///opt/spark/examples/jars/spark-examples.jar", driverArgs: ["1000"],
		sparkConf: {spark.executor.instances: "2", spark.kubernetes.allocation.pods.allocator: statefulset,
			spark.kubernetes.authenticate.driver.serviceAccountName: statefulset-allocator},
		applicationTolerations: {instanceConfig: {initExecutors: 1}}}`)
	w.create(t, app)
	w.awaitApache(t, app, patience, appHealthy)

	sets := func() (names []string) {
		var all appsv1.StatefulSetList
		if err := w.Client.List(t.Context(), &all, client.InNamespace(app.Namespace)); err != nil {
			t.Fatal(err)
		}

		for _, set := range all.Items {
			if strings.Contains(set.Name, app.Name) {
				names = append(names, set.Name)
			}
		}
		return names
	}
	if running := sets(); len(running) != 1 {
		t.Errorf("the executors belong to the StatefulSets %v", running)
	}

	w.awaitEvent(t, app, "a warning about the missing right", func(e corev1.Event) bool { return strings.Contains(e.Message, "spark.rbac.statefulSets") })
	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, toReadyAnd(appHealthy, appSucceeded, appReleased))
	w.waitNoDependents(t, app)
	eventually(t, time.Minute, "no StatefulSet", func() (string, bool) {
		left := sets()
		return strings.Join(left, ", "), len(left) == 0
	})
	w.remove(t, app)
}

// loseExecutor deletes all running executors of an application except one.
func (w *suite) loseExecutor(t *testing.T, app *sparkv1.SparkApplication) {
	t.Helper()

	var executors corev1.PodList
	if err := w.Client.List(t.Context(), &executors, client.InNamespace("default"),
		client.MatchingLabels{"spark-role": "executor", "spark.operator/spark-app-name": app.Name}); err != nil {
		t.Fatal(err)
	}

	run := slices.DeleteFunc(executors.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
	for i := 1; i < len(run); i++ {
		if err := w.Client.Delete(t.Context(), &run[i],
			client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

// apacheDeleted checks that no dependents remain after a running application is deleted. The application also has the
// finalizer of another operator, which must not block the deletion.
func (w *suite) apacheDeleted(t *testing.T) {
	app := scriptedApacheApp(t, "apache-deleted", `{}`, "session", "sleep")
	app.Finalizers = []string{"sparkapplications.spark.apache.org/finalizer"}
	w.create(t, app)
	w.awaitApache(t, app, patience, appHealthy)
	w.remove(t, app)
}

// apacheSuspended checks that an application which is created suspended starts nothing, that a suspension stops its
// driver and its executors, and that a resume runs the edited program in the next attempt, without a restart.
func (w *suite) apacheSuspended(t *testing.T) {
	app := scriptedApacheApp(t, "apache-suspended", `{}`, "session", "sleep")
	app.Spec.Suspend = new(true)
	w.create(t, app)
	awaitObject(t, w, app, patience, "held", func(a *sparkv1.SparkApplication) bool {
		ready := meta.FindStatusCondition(a.Status.Conditions, "Ready")
		return ready != nil && ready.Reason == "SuspendHeld" && a.Status.CurrentState == nil
	})

	if left := w.dependents(t, app); len(left) > 0 {
		t.Errorf("a held application has %v", left)
	}

	w.patch(t, app, `{"spec":{"suspend":false}}`)
	w.awaitApache(t, app, patience, appHealthy)

	w.patch(t, app, `{"spec":{"suspend":true}}`)
	w.awaitApache(t, app, patience, sparkv1.ApplicationSuspended)
	w.waitNoDependents(t, app)
	awaitObject(t, w, app, patience, "suspended", func(a *sparkv1.SparkApplication) bool {
		return meta.IsStatusConditionTrue(a.Status.Conditions, "Suspended")
	})

	w.patch(t, app, `{"spec":{"suspend":false,"driverArgs":["session"]}}`)
	w.awaitApache(t, app, patience, appReleased)
	w.checkHistory(t, app, toReadyAnd(appHealthy, appSucceeded, appReleased))

	if got := app.Status.CurrentAttemptSummary.AttemptInfo; *got != (sparkv1.AttemptInfo{ID: 1}) {
		t.Errorf("the resumed attempt is %+v", got)
	}
}

// patch changes an object with a merge patch.
func (w *suite) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()

	if err := w.Client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// oneAPIAlone installs the operator twice, each time with only one of the two APIs, and runs an application. The
// cluster does not have the custom resource definitions of the other API.
func (w *suite) oneAPIAlone(t *testing.T) {
	pi := apacheApp(t, "alone", `{mainClass: org.apache.spark.examples.SparkPi, jars: "local:///opt/spark/examples/jars/spark-examples.jar", driverArgs: ["2"]}`)
	w.install(t, "sparkoperator.k8s.io", "crds.sparkoperator.enable=false", "controller.sparkOperator.enable=false")
	w.create(t, pi)
	w.awaitApache(t, pi, patience, appReleased)
	w.checkHistory(t, pi, toReadyAnd(appHealthy, appSucceeded, appReleased))
	w.install(t, "spark.apache.org", "crds.apache.enable=false", "controller.apache.enable=false")
	app := w.example(t, "spark-pi.yaml", func(a *v1beta2.SparkApplication) { a.Name = "alone" })
	w.create(t, app)
	w.awaitEnd(t, app, patience, completed)
}

// install uninstalls the operator, deletes the custom resource definitions of the given API group, and installs the
// operator with the given values.
func (w *suite) install(t *testing.T, group string, values ...string) {
	t.Helper()

	ctx := t.Context()
	if err := w.Helm(ctx, "uninstall", cluster.Release, "--namespace", cluster.Namespace, "--wait"); err != nil {
		t.Fatal(err)
	}
	var crds apiextensions.CustomResourceDefinitionList
	eventually(t, time.Minute, "the definitions of "+group+" to be gone", func() (string, bool) {
		if err := w.Client.List(ctx, &crds); err != nil {
			t.Fatal(err)
		}

		left := slices.DeleteFunc(crds.Items,
			func(d apiextensions.CustomResourceDefinition) bool { return d.Spec.Group != group })
		for i := range left {
			if err := w.Client.Delete(ctx, &left[i]); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
		return strconv.Itoa(len(left)), len(left) == 0
	})

	var args []string
	for _, value := range values {
		args = append(args, "--set", value)
	}

	if err := w.Install(ctx, args...); err != nil {
		t.Fatal(err)
	}
}

// apacheEvicted checks that the history shows the eviction of a driver, and that the OnFailure policy then runs the
// driver again.
func (w *suite) apacheEvicted(t *testing.T) {
	app := scriptedApacheApp(t, "apache-evicted",
		`{restartConfig: {restartPolicy: OnFailure, restartBackoffMillis: 1000}}`, "session", "sleep")
	w.create(t, app)
	w.awaitApache(t, app, patience, appHealthy)

	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "apache-evicted-0-driver",
		Namespace: app.Namespace}}
	if err := w.Core.PolicyV1().Evictions(app.Namespace).Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}

	awaitObject(t, w, app, patience, "the second attempt", func(a *sparkv1.SparkApplication) bool {
		return attemptOf(a) == 1 &&
			a.Status.CurrentState.CurrentStateSummary == appHealthy
	})

	if diff := cmp.Diff(toReadyAnd(appHealthy, sparkv1.ApplicationDriverEvicted),
		history(t, app.Status.PreviousAttemptSummary.StateTransitionHistory)); diff != "" {
		t.Errorf("history of the first attempt (-want +got):\n%s", diff)
	}

	w.remove(t, app)
}
