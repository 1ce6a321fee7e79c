package configured_test

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestQueuedCluster plays the life of a cluster: it waits without a state, runs where its flavor says, also after an
// edit, is evicted, gives its quota back when its pods are gone, waits again with the same Workload, and is suspended.
func TestQueuedCluster(t *testing.T) {
	t.Parallel()

	const workload = "sparkcluster-c"
	w := world.New(t)
	q := queues.New(t, w.Namespace, "cpu", "20")
	cfg := world.Config(w.Namespace)
	cfg.Kueue.Enabled = true

	resources.Kubelets(w)
	resources.RunClusters(w, cfg, time.Now)

	sc := resources.CreateCluster(w, "c", func(sc *resources.SparkCluster) { sc.Labels = map[string]string{kueue.QueueLabel: "research"} })
	first := waitWorkload(q, workload, nil)
	w.WaitEvent(sc, "KueueAdmissionPending", workload)

	if state := resources.GetCluster(w, "c").Status.CurrentState; state != nil || noPods(t.Context(), w) != nil {
		t.Errorf("before the admission, the state is %+v, pods: %v", state, noPods(t.Context(), w))
	}

	placed := func(set *appsv1.StatefulSet) error {
		return world.Want(set.Spec.Template.Spec.NodeSelector["flavor"], w.Namespace)
	}
	runs := func(workers int32) {
		t.Helper()
		resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(workers), resources.ClusterHolds("Ready", metav1.ConditionTrue))
		resources.Set(w, "c-worker", placed)
		resources.Set(w, "c-master", placed)
	}

	cycle(q)
	runs(1)
	w.WaitEvent(sc, "KueueAdmitted", workload)
	waitWorkload(q, workload, func(wl *kueue.Workload) error { return world.Want(queues.Is(wl, kueue.PodsReady), true) })
	waitWorkload(q, workload, bound(w.WaitPod("c-master-0"), 2))

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.ui.retainedJobs":"7"}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, func(sc *resources.SparkCluster) error {
		return world.Want(sc.Status.ObservedGeneration, sc.Generation)
	})
	runs(1)

	q.EvictNow(workload, "Preempted")
	resources.WaitCluster(w, "c", sparkv1.ClusterSuspended, func(sc *resources.SparkCluster) error {
		return world.Want(sc.Status.CurrentState.SuspendReason, sparkv1.KueueEviction)
	})
	waitWorkload(q, workload, func(wl *kueue.Workload) error {
		return errors.Join(world.Want(queues.Is(wl, kueue.QuotaReserved), false), world.Want(wl.UID, first.UID))
	})

	if err := noPods(t.Context(), w); err != nil {
		t.Errorf("the quota was given back while there are pods: %v", err)
	}

	resources.WaitCluster(w, "c", sparkv1.ClusterSubmitted, resources.ClusterHolds("Ready", metav1.ConditionFalse, "KueueAdmissionPending"))
	cycle(q)
	runs(1)

	resources.PatchCluster(w, "c", `{"spec":{"suspend":true}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterSuspended, func(sc *resources.SparkCluster) error {
		return world.Want(sc.Status.CurrentState.SuspendReason, sparkv1.SpecSuspend)
	})
	kit.Wait(t, "the Workload to be deleted", func(context.Context) error { return world.Want(q.Workload(workload) == nil, true) })
}
