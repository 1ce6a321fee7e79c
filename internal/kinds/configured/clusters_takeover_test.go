package configured_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// uidsOf returns the UIDs of the pods and StatefulSets of a cluster.
func uidsOf(w *world.World, name string) map[string]types.UID {
	w.T.Helper()

	uids := map[string]types.UID{}
	for _, pod := range resources.Members(w, name) {
		uids[pod.Name] = pod.UID
	}

	for _, set := range []string{name + "-master", name + "-worker"} {
		uids[set] = resources.Set(w, set).UID
	}
	return uids
}

// TestClusterIsTakenOver checks that the pods and StatefulSets of an inherited cluster are not replaced, and that all
// its other objects become ours. The operator notices when a pod is lost and when it returns. The first edit replaces
// all inherited objects with our own.
func TestClusterIsTakenOver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	sc := resources.CreateInheritedCluster(w, "c", sparkv1.ClusterRunningHealthy)
	kit.Wait(t, "the pods of the inherited cluster",
		func(context.Context) error { return world.Want(len(resources.Members(w, "c")), 2) })

	left := uidsOf(w, "c")
	stop := resources.RunClusters(w, world.Config(w.Namespace), time.Now)

	got := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterHolds("Ready", metav1.ConditionTrue), func(sc *resources.SparkCluster) error {
			return world.Want(len(sc.Finalizers), 0)
		})
	if diff := cmp.Diff([]resources.ClusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy},
		clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	resources.Set(w, "c-worker", func(set *appsv1.StatefulSet) error {
		return world.Want(set.Labels[identity.AppUIDLabel], string(sc.UID))
	})
	resources.Set(w, "c-master", func(set *appsv1.StatefulSet) error {
		return world.Want(set.Labels[identity.AppUIDLabel], string(sc.UID))
	})
	resources.ServerService(w, "c-master-svc",
		func(s *corev1.Service) error { return world.Want(s.Labels[identity.AppUIDLabel], string(sc.UID)) })
	stop()
	resources.RunClusters(w, world.Config(w.Namespace), time.Now) // changes nothing
	w.Remove(w.WaitPod("c-worker-0"))
	kit.Wait(t, "the worker to exist again", func(context.Context) error {
		return world.Want(resources.UIDOf(w, "c-worker-0") != left["c-worker-0"], true)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))

	left["c-worker-0"] = resources.UIDOf(w, "c-worker-0")
	if diff := cmp.Diff(left, uidsOf(w, "c")); diff != "" {
		t.Fatalf("pods or StatefulSets were replaced:\n%s", diff)
	}

	resources.PatchCluster(w, "c",
		`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))
	kit.Wait(t, "all pods to be ours", func(context.Context) error {
		pods := resources.Members(w, "c")
		for i := range pods {
			if err := world.Want(pods[i].Labels[identity.AppUIDLabel], string(sc.UID)); err != nil {
				return err
			}
		}
		return world.Want(len(pods), 3)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2))

	if n := len(resources.GetCluster(w, "c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}
}

// TestStuckClusterIsTakenOver checks two inherited clusters. The state of the first is FAILED, and this operator starts
// it. The second is being deleted, and this operator removes its finalizer, so that the cluster and its pods are
// deleted.
func TestStuckClusterIsTakenOver(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	going := resources.CreateInheritedCluster(w, "going", sparkv1.ClusterRunningHealthy)
	w.Remove(going)
	resources.CreateInheritedCluster(w, "stuck", sparkv1.ClusterFailed)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.WaitCluster(w, "stuck", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	w.WaitGone(going)
	kit.Wait(t, "the deletion of the cluster's pods",
		func(context.Context) error { return world.Want(len(resources.Members(w, "going")), 0) })
	w.WaitLog("Removed the finalizers of another operator")
}

// TestClusterSecrets checks a Spark property whose name suggests that its value is secret. The value is in a Secret,
// but neither in a pod nor in the log. If an edit changes the value, a new Secret contains the new value, and the old
// Secret is deleted when no pod mounts it.
func TestClusterSecrets(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	sc := resources.CreateCluster(w, "c",
		func(sc *resources.SparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush-hush-1" })
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy)

	secrets := func() []string { return resources.SecretNames(w, sc) }

	before := secrets()
	if len(before) != 1 {
		t.Fatalf("the Secrets of the cluster are %v", before)
	}

	for _, pod := range resources.Members(w, "c") {
		for _, env := range pod.Spec.Containers[0].Env {
			if err := resources.Says(env.Value, "hush"); err == nil {
				t.Errorf("%s has the secret value in %s", pod.Name, env.Name)
			}
		}
	}

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush-hush-2"}}}`)
	kit.Wait(t, "exactly one Secret, which is new", func(context.Context) error {
		now := secrets()
		return world.Want(len(now) == 1 && now[0] != before[0], true)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ClusterHolds("Ready", metav1.ConditionTrue))

	if err := resources.Says(w.Log.String(), "hush"); err == nil {
		t.Error("the log contains the secret value")
	}
}
