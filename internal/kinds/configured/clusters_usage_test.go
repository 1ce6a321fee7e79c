package configured_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestClusterUsage checks that the status of a cluster has what its pods have requested, also of a pod that was
// replaced, and that the metrics have it when the cluster is deleted.
func TestClusterUsage(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	var later atomic.Int64 // the operator's clock, in seconds after the true time

	resources.RunClusters(w, world.Config(w.Namespace), func() time.Time { return time.Now().Add(time.Duration(later.Load()) * time.Second) })

	sc := resources.CreateCluster(w, "c", resources.Workers(2, 2, 2), func(sc *resources.SparkCluster) {
		of := func(role string) sparkv1.MemberSpec {
			return sparkv1.MemberSpec{StatefulSetSpec: resources.Template(`{"template":{"spec":{"containers":[{"name":"` + role + `","resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}]}}}`)}
		}
		sc.Spec.MasterSpec, sc.Spec.WorkerSpec = &sparkv1.MasterSpec{MemberSpec: of("master")}, &sparkv1.WorkerSpec{MemberSpec: of("worker")}
	})
	begun := metav1.NewTime(time.Now().Add(-100 * time.Second).Truncate(time.Second))

	var requests lifecycle.Requests // of all pods

	ready := func(name string) {
		t.Helper()

		pod := w.WaitPod(name)
		before := pod.DeepCopy()
		each := lifecycle.EffectiveRequests(pod)
		requests.MilliCPU, requests.MiB = requests.MilliCPU+each.MilliCPU, requests.MiB+each.MiB
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: begun}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: begun},
		}

		if err := w.API.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"c-master-0", "c-worker-0", "c-worker-1"} {
		ready(name)
	}

	got := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2)).Status.Operator.Usage
	seconds := got.Time.Unix() - begun.Unix()

	if sums := got.Executors; sums.CPUMillicoreSeconds != requests.MilliCPU*seconds || sums.MemoryMiBSeconds != requests.MiB*seconds ||
		sums.Requested.CPUMillicores != requests.MilliCPU || requests.MilliCPU == 0 || requests.MiB == 0 || got.PeakExecutors != 3 {
		t.Errorf("the pods request %+v since %d s, and the usage is %+v", requests, seconds, got)
	}

	w.Remove(w.WaitPod("c-worker-1"))

	got = resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, func(sc *resources.SparkCluster) error {
		if sc.Status.Operator.Usage.SettledSums.CPUMillicoreSeconds == 0 {
			return errors.New("the deleted pod is not settled")
		}
		return nil
	}).Status.Operator.Usage
	if all, settled := requests.MilliCPU, got.SettledSums.CPUMillicoreSeconds; settled < all*100/3 || settled > all*(100+got.Time.Unix()-begun.Unix())/3 {
		t.Errorf("the settled sums are %d, and the pods request %d", settled, all)
	}

	// After the last status write, the pods run for an hour.
	later.Store(3600)
	w.Remove(resources.GetCluster(w, "c"))
	w.WaitGone(sc)
	kit.Wait(t, "the metric of the deleted cluster", func(context.Context) error {
		least := float64(got.Executors.CPUMillicoreSeconds+3000*got.Executors.Requested.CPUMillicores) / 1000
		if counted := w.Metric("sparkoperator_usage_core_seconds_total"); counted < least {
			return fmt.Errorf("%v core-seconds are counted, want at least %v", counted, least)
		}
		return nil
	})
}
