package configured_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

const (
	suspendPatch = `{"spec":{"suspend":true}}`
	resumePatch  = `{"spec":{"suspend":false}}`
)

// wholeHistory returns a configuration in which the history keeps the states of all attempts.
func wholeHistory(w *world.World) config.Configuration {
	cfg := world.Config(w.Namespace)
	cfg.Apache.TrimHistory = new(false)
	return cfg
}

// grace is the time that pods take to stop in the tests below.
func grace() time.Duration { return 100 * time.Millisecond }

// TestCrashInASuspendedApachesLife runs the same application many times: it is held, starts, is suspended and resumed,
// fails, and succeeds in its third attempt. In each run the operator crashes before or after a different write, and
// another process continues. The application must never have two drivers at once or start an attempt twice, and its
// history and its counters must be the same as without a crash. With CRASH_POINTS=all the operator crashes at every
// write, otherwise at some of them.
func TestCrashInASuspendedApachesLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 92, 15, suspendedApachesLife)
}

func suspendedApachesLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	resources.SlowKubelets(w, grace)
	m := crashrig.StartCrashLife(w, crash, func(options ...func(*operator.Environment)) func() {
		return resources.RunApache(w, wholeHistory(w), time.Now, options...)
	})
	app := resources.CreateApache(w, "pi",
		resources.WithTolerations(sparkv1.ApplicationTolerations{RestartConfig: resources.RestartConfig(sparkv1.RestartOnFailure, 1)}),
		func(app *resources.ApacheApp) {
			app.Spec.Suspend = new(true)
			app.Spec.ConfigMapSpecs = []sparkv1.ConfigMapSpec{{Name: "settings", Data: map[string]string{"a": "b"}}}
		})
	m.CheckSingle(app, identity.RoleDriver)
	kit.Wait(t, "the application to be held", func(context.Context) error {
		return isHeld(resources.GetApache(w, "pi").Status.Conditions)
	})
	resources.PatchApache(w, "pi", resumePatch)

	apacheExecutor(w, app, runningAttempt(w, app, 1), 1)
	resources.PatchApache(w, "pi", suspendPatch)
	resources.WaitApache(w, "pi", sparkv1.ApplicationSuspended)
	waitNoPods(w)
	resources.PatchApache(w, "pi", resumePatch)
	w.Kubelet(runningAttempt(w, app, 2).Name, corev1.PodFailed, scene.Exited(3, "again"))
	w.Kubelet(runningAttempt(w, app, 3).Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	waitNothing(w, app)
	checkHistory(t, got, slices.Concat(resources.Ran(sparkv1.ApplicationSuspended),
		resources.Ran(sparkv1.ApplicationFailed, sparkv1.ApplicationScheduledToRestart),
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased)[1:]))

	if info := got.Status.CurrentAttemptSummary.AttemptInfo; info.RestartCounter != 1 || info.FailureRestartCounter != 1 {
		t.Errorf("the last attempt is %+v", info)
	}
	return m.End(3)
}

// isHeld returns an error unless the condition Ready of a custom resource shows that spec.suspend holds it. A crash
// after the write of this condition loses the event of the same name.
func isHeld(conditions []metav1.Condition) error {
	ready := meta.FindStatusCondition(conditions, dialect.ConditionReady)
	if ready == nil {
		return errors.New("no condition Ready")
	}
	return world.Want(ready.Reason, apache.ReasonSuspendHeld)
}

// runningAttempt waits until an attempt of an application, counted from 1, is reported as running, and returns its
// driver.
func runningAttempt(w *world.World, app *resources.ApacheApp, attempt int) *corev1.Pod {
	w.T.Helper()
	resources.WaitApache(w, app.Name, sparkv1.ApplicationRunningHealthy, func(app *resources.ApacheApp) error {
		return world.Want(app.Status.CurrentAttemptSummary.AttemptInfo.ID, int64(attempt-1))
	})
	return resources.ApacheDriver(w, app, attempt)
}

// waitNoPods waits until no pod and no StatefulSet exists in the namespace of a test.
func waitNoPods(w *world.World) {
	w.T.Helper()
	kit.Wait(w.T, "all pods to be gone", func(ctx context.Context) error {
		var sets appsv1.StatefulSetList
		if err := w.API.List(ctx, &sets, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		return errors.Join(noPods(ctx, w), world.Want(len(sets.Items), 0))
	})
}

// TestCrashInASuspendedClustersLife runs the same cluster many times: it is held, starts, and is suspended and resumed.
// In each run the operator crashes before or after a different write, and another process continues. Pods of both runs
// must never exist at the same time, the Services must stay, and the history must be the same as without a crash. With
// CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInASuspendedClustersLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 76, 13, suspendedClustersLife)
}

func suspendedClustersLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	resources.SlowKubelets(w, grace)
	m := crashrig.StartCrashLife(w, crash, func(options ...func(*operator.Environment)) func() {
		return resources.RunClusters(w, wholeHistory(w), time.Now, options...)
	})
	sc := resources.CreateCluster(w, "c", func(sc *resources.SparkCluster) { sc.Spec.Suspend = new(true) })
	m.CheckApart(sc, identity.RoleMaster)
	kit.Wait(t, "the cluster to be held", func(context.Context) error {
		return isHeld(resources.GetCluster(w, "c").Status.Conditions)
	})
	resources.PatchCluster(w, "c", resumePatch)
	runningCluster(w)

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-master-svc"}}
	w.MustExist(service)
	resources.PatchCluster(w, "c", suspendPatch)
	resources.WaitCluster(w, "c", sparkv1.ClusterSuspended, resources.ClusterHolds(dialect.ConditionSuspended, metav1.ConditionTrue))
	waitNoPods(w)
	resources.PatchCluster(w, "c", resumePatch)
	got := runningCluster(w)

	after := service.DeepCopy()
	if w.MustExist(after); after.UID != service.UID {
		t.Errorf("the Service of the master was %s and is %s", service.UID, after.UID)
	}

	if states := fmt.Sprint(clusterHistory(got)); states != "[Submitted RunningHealthy Suspended Submitted RunningHealthy]" {
		t.Errorf("the history is %s", states)
	}

	// The state Submitted of a resumed cluster is stored after its objects are created. If the operator crashes in
	// between, the next operator finds the state Suspended, deletes these objects and starts the cluster anew.
	return m.EndBetween(2, 3)
}

// runningCluster waits until the cluster c has started all its pods.
func runningCluster(w *world.World) *resources.SparkCluster {
	w.T.Helper()
	return resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1), resources.ClusterHolds("Ready", metav1.ConditionTrue))
}

// TestCrashInAQueuedApachesLife runs the same queued application many times: it is admitted, evicted, admitted again,
// suspended and resumed by its user, and succeeds in its third attempt. In each run the operator crashes before or
// after a different write, and another process continues. Pods must exist only while their Workload holds quota, pods
// of two attempts must never exist at the same time, and the Workload must be gone at the end. The history must be the
// same as without a crash. With CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInAQueuedApachesLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 130, 19, queuedApachesLife)
}

func queuedApachesLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w := world.New(t)
	resources.SlowKubelets(w, grace)

	q := queues.New(t, w.Namespace, "cpu", "2")
	go q.Run(t.Context(), 20*time.Millisecond)
	go checkQuota(w, q)

	cfg := wholeHistory(w)
	cfg.Kueue.Enabled = true
	m := crashrig.StartCrashLife(w, crash, func(options ...func(*operator.Environment)) func() {
		return resources.RunApache(w, cfg, time.Now, options...)
	})
	app := resources.CreateApache(w, "pi", inQueue)
	m.CheckApart(app, identity.RoleDriver)
	apacheExecutor(w, app, runningAttempt(w, app, 1), 1)
	q.EvictNow(piWorkload, "Preempted")
	runningAttempt(w, app, 2)

	resources.PatchApache(w, "pi", suspendPatch)
	resources.WaitApache(w, "pi", sparkv1.ApplicationSuspended)
	kit.Wait(t, "the Workload to be released", func(context.Context) error { return world.Want(q.Workload(piWorkload) == nil, true) })

	if err := noPods(t.Context(), w); err != nil {
		t.Errorf("the Workload was released before the pods: %v", err)
	}

	resources.PatchApache(w, "pi", resumePatch)
	w.Kubelet(runningAttempt(w, app, 3).Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	waitNothing(w, app)
	kit.Wait(t, "the Workload to be deleted", func(context.Context) error { return world.Want(q.Workload(piWorkload) == nil, true) })
	checkHistory(t, got, slices.Concat(resources.Ran(sparkv1.ApplicationSuspended), resources.Ran(sparkv1.ApplicationSuspended),
		resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased)))

	if info := got.Status.CurrentAttemptSummary.AttemptInfo; info.ID != 2 || info.RestartCounter != 0 {
		t.Errorf("the last attempt is %+v", info)
	}
	return m.End(3)
}

// checkQuota fails the test if a pod exists while the Workload of the application pi does not hold quota. It ends with
// the test.
func checkQuota(w *world.World, q *queues.Queues) {
	holds := func(ctx context.Context) (holds bool, version string, err error) {
		var wl kueue.Workload
		err = q.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: piWorkload}, &wl)
		return queues.Is(&wl, kueue.QuotaReserved), wl.ResourceVersion, client.IgnoreNotFound(err)
	}
	for ctx := w.T.Context(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		var pods corev1.PodList

		held, before, first := holds(ctx)
		second := w.API.List(ctx, &pods, client.InNamespace(w.Namespace))
		now, after, third := holds(ctx)

		if errors.Join(first, second, third) == nil && !held && !now && before == after && len(pods.Items) > 0 && ctx.Err() == nil {
			w.T.Errorf("pod %s exists while the Workload of version %q holds no quota", pods.Items[0].Name, after)
		}
	}
}
