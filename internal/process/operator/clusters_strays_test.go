package operator

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// refuseSets creates a quota that forbids new StatefulSets in the test's namespace.
func (w *world) refuseSets() *corev1.ResourceQuota {
	w.T.Helper()
	return w.boundSets("0")
}

// boundSets creates a quota that limits the number of StatefulSets in the test's namespace.
func (w *world) boundSets(most string) *corev1.ResourceQuota {
	w.T.Helper()
	kit.NeedsControllers(w.T, quotaFigures)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/statefulsets.apps": resource.MustParse(most)}}}
	w.Create(quota)
	kit.Wait(w.T, "the quota to count", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		return want(len(quota.Status.Hard), 1)
	})
	return quota
}

// TestStraysGoWithTheirCluster checks that the operator deletes a cluster's orphaned pods when the cluster is deleted.
// The StatefulSet of these pods is gone and cannot be created again, so they have no owner, and Kubernetes would not
// delete them. Pods that only look like such orphans stay.
func TestStraysGoWithTheirCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), time.Now)
	sc := w.sparkCluster("c", workers(2, 2, 2))
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2))
	theirs := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-worker-7", Labels: map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: "c", "spark-version": "x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	}
	set := w.set("c-worker")
	w.refuseSets()

	orphan := &client.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}
	if err := w.API.Delete(t.Context(), set, orphan); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the workers to have no owner", func(context.Context) error {
		for _, pod := range w.members("c") {
			if pod.Labels[identity.RoleLabel] == identity.RoleWorker {
				if err := want(len(pod.OwnerReferences), 0); err != nil {
					return err
				}
			}
		}
		return want(len(w.members("c")), 3)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, clusterHolds("Degraded", metav1.ConditionTrue, "exceeded quota"))
	w.Create(theirs)
	w.Remove(w.getCluster("c"))
	w.WaitGone(sc)
	kit.Wait(t, "the deletion of all pods but the other one", func(context.Context) error {
		pods := w.members("c")
		return want(len(pods) == 1 && pods[0].UID == theirs.UID, true)
	})
}

// TestNextLeaderSweepsStrays checks that a new leader deletes the orphans that the previous leader had no time to
// delete. The new leader received the events of these orphans before it became the leader.
func TestNextLeaderSweepsStrays(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first := f.start()
	<-first.op.Elected()

	next := f.start()

	first.kill()

	stray := scene.ForeignPod(f.Namespace, "c-worker-0")
	stray.Labels = map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: "c", identity.AppUIDLabel: "gone", appsv1.StatefulSetPodNameLabel: "c-worker-0"}
	f.Create(stray)
	<-next.op.Elected()
	f.WaitGone(stray)
}

// TestStraysAreReleased checks that the orphaned pods of a failed cluster are deleted.
func TestStraysAreReleased(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runClusters(testConfig(w.Namespace), clock.now)
	w.sparkCluster("c")
	w.waitPod("c-worker-0")
	kit.Wait(t, "the cluster's objects", func(context.Context) error {
		o := w.getCluster("c").Status.Operator
		return want(o != nil && o.BegunAt != nil, true)
	})

	set := w.set("c-worker")
	w.refuseSets()

	if err := w.API.Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}

	w.waitCluster("c", sparkv1.ClusterSchedulingFailure)
	w.patchCluster("c", `{"spec":{"sparkConf":{"a=b":"no name of a property"}}}`)
	w.waitCluster("c", sparkv1.ClusterResourceReleased)
	kit.Wait(t, "the deletion of the pods", func(context.Context) error { return want(len(w.members("c")), 0) })
}

// TestTakenOverScaleIsTheAutoscalers checks that the number of workers that the autoscaler wanted survives the first
// edit of an inherited cluster. This edit replaces the StatefulSets, since the selectors of the Java operator's
// StatefulSets differ from ours.
func TestTakenOverScaleIsTheAutoscalers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.createInheritedCluster("c", sparkv1.ClusterRunningHealthy, workers(1, 1, 9))
	w.scale("c-worker", 4)
	kit.Wait(t, "the pods of the inherited cluster", func(context.Context) error { return want(len(w.members("c")), 5) })

	left := w.set("c-worker")
	w.runClusters(testConfig(w.Namespace), time.Now)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(4))
	w.set("c-worker", replicas(4))
	w.patchCluster("c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)
	w.set("c-worker", func(live *appsv1.StatefulSet) error {
		return want(live.UID != left.UID && live.DeletionTimestamp == nil, true)
	}, replicas(4))
}

// TestSetDeletedDuringAPassKeepsItsPods checks a StatefulSet that somebody deletes during a pass, after the operator
// has counted its pods. The new StatefulSet with the same name begins with as many replicas as pods existed. If it
// began with the initial number of the spec, it would stop the other pods.
func TestSetDeletedDuringAPassKeepsItsPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	var set *appsv1.StatefulSet
	var armed atomic.Bool
	w.runClusters(testConfig(w.Namespace), time.Now, func(env *Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(request *http.Request) (*http.Response, error) {
				if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/statefulsets/c-worker") && armed.CompareAndSwap(true, false) {
					if err := w.orphan(request.Context(), set.DeepCopy()); err != nil {
						t.Error(err)
					}
				}
				return next.RoundTrip(request)
			})
		})
	})
	w.sparkCluster("c", workers(1, 1, 9), notRolled)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	w.scale("c-worker", 3)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))
	set = w.set("c-worker")
	before := w.memberUIDs("c")

	armed.Store(true)
	w.patchCluster("c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)

	if got := *w.waitReplaced("c", set, before).Spec.Replicas; got != 3 {
		t.Errorf("the next StatefulSet begins with %d pods", got)
	}
}

// TestNewSetCountsItsPodsLive checks that a StatefulSet that replaces a deleted one begins with as many replicas as
// pods exist. The operator lists these pods live, because the cache may not show pods that the autoscaler just added.
// For the first StatefulSets of a cluster the operator lists no pods.
func TestNewSetCountsItsPodsLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()

	hears, made := &laggingWatch{resource: "pods"}, &requests{}
	w.runClusters(testConfig(w.Namespace), time.Now, func(env *Environment) {
		env.Rest.Wrap(hears.over)
		env.Rest.Wrap(made.over)
	})

	first := made.since(nil)

	w.sparkCluster("c", workers(1, 1, 9), notRolled)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))

	if n := made.since(first)["GET pods"]; n > 0 {
		t.Errorf("pods were listed %d times", n)
	}
	defer hears.begin()()

	w.scale("c-worker", 3)
	kit.Wait(t, "the pods", func(context.Context) error { return want(len(w.members("c")), 4) })

	set, before := w.set("c-worker"), w.memberUIDs("c")
	if err := w.orphan(t.Context(), set.DeepCopy()); err != nil {
		t.Fatal(err)
	}

	if got := *w.waitReplaced("c", set, before).Spec.Replicas; got != 3 {
		t.Errorf("the next StatefulSet begins with %d pods", got)
	}
}

// orphan deletes a StatefulSet but not its pods, and returns once the StatefulSet is gone.
func (w *world) orphan(ctx context.Context, set *appsv1.StatefulSet) error {
	if err := w.API.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := w.API.Get(ctx, client.ObjectKeyFromObject(set), set)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
