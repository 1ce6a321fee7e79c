package configured_test

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// flips returns the number of suspensions and resumptions of the tests below.
func flips() int {
	if crashrig.CrashStride(2) == 1 {
		return 500
	}
	return 60
}

// flip suspends and resumes a custom resource in turn, with 0 to 300 ms between two patches, and ends with a
// resumption. Every tenth suspension and the resumption after it are waited for, so that the test sees several attempts
// whatever the speed of the machine.
func flip(t *testing.T, patch func(string), suspended, running func()) {
	t.Helper()

	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))

	t.Logf("%d flips, seed %d", flips(), seed)

	for i := range flips() {
		what, reported := suspendPatch, suspended
		if i%2 == 1 {
			what, reported = resumePatch, running
		}

		if patch(what); i%20 >= 18 {
			reported()
		}

		time.Sleep(time.Duration(random.IntN(301)) * time.Millisecond)
	}

	running()
}

// randomGrace is the time that a pod takes to stop while its custom resource is suspended and resumed.
func randomGrace() time.Duration { return time.Duration(rand.IntN(200)) * time.Millisecond }

// TestSuspendFlipsOfAnApplication suspends and resumes an application many times in short intervals. The pods of two
// attempts must never exist at the same time, no attempt may start twice, and the last attempt completes. No flip
// counts as a restart. With CRASH_POINTS=all there are 500 flips, otherwise fewer.
func TestSuspendFlipsOfAnApplication(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.SlowKubelets(w, randomGrace)
	resources.RunApache(w, world.Config(w.Namespace), time.Now)
	app := resources.CreateApache(w, "pi")
	pods := w.WatchPods(app, identity.RoleDriver, true)
	seen := func(app *resources.ApacheApp) error { return world.Want(app.Status.ObservedGeneration, app.Generation) }

	var last *resources.ApacheApp
	flip(t, func(patch string) { resources.PatchApache(w, "pi", patch) },
		func() { resources.WaitApache(w, "pi", sparkv1.ApplicationSuspended, seen) },
		func() { last = resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy, seen) })

	info := *last.Status.CurrentAttemptSummary.AttemptInfo
	driver := resources.ApacheDriver(w, app, int(info.ID)+1)
	w.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	waitNothing(w, app)
	checkHistory(t, got, resources.Ran(sparkv1.ApplicationSucceeded, sparkv1.ApplicationResourceReleased))

	attempts, started := *got.Status.CurrentAttemptSummary.AttemptInfo, pods.End()
	t.Logf("%d attempts, %d of them with a driver", attempts.ID+1, started)

	if attempts != (sparkv1.AttemptInfo{ID: info.ID}) || started > int(attempts.ID)+1 || started <= flips()/20 {
		t.Errorf("%d attempts have started drivers, and the last attempt is %+v", started, attempts)
	}
}

// TestSuspendFlipsOfACluster suspends and resumes a cluster many times in short intervals. A pod must never exist
// beside pods of earlier StatefulSets, and the cluster runs after the last resumption. No flip counts as a restart.
// With CRASH_POINTS=all there are 500 flips, otherwise fewer.
func TestSuspendFlipsOfACluster(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.SlowKubelets(w, randomGrace)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	sc := resources.CreateCluster(w, "c")
	pods := w.WatchPods(sc, identity.RoleMaster, true)
	seen := func(sc *resources.SparkCluster) error { return world.Want(sc.Status.ObservedGeneration, sc.Generation) }

	var last *resources.SparkCluster
	flip(t, func(patch string) { resources.PatchCluster(w, "c", patch) },
		func() { resources.WaitCluster(w, "c", sparkv1.ClusterSuspended, seen) },
		func() {
			last = resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, seen, resources.ReadyWorkers(1))
		})

	attempts, started := *last.Status.CurrentAttemptSummary.AttemptInfo, pods.End()
	t.Logf("the last attempt is %+v, %d sets of pods were started", attempts, started)

	if members := resources.Members(w, "c"); len(members) != 2 || attempts.RestartCounter != 0 || started <= flips()/20 {
		t.Errorf("%d pods, %d starts, and the last attempt is %+v", len(members), started, attempts)
	}
}
