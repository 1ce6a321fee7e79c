package dependents_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// refuseSets creates a quota that forbids new StatefulSets in the test's namespace.
func refuseSets(w *world.World) *corev1.ResourceQuota {
	w.T.Helper()
	return boundSets(w, "0")
}

// boundSets creates a quota that limits the number of StatefulSets in the test's namespace.
func boundSets(w *world.World, most string) *corev1.ResourceQuota {
	w.T.Helper()
	kit.NeedsControllers(w.T, world.QuotaFigures)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/statefulsets.apps": resource.MustParse(most)}}}
	w.Create(quota)
	kit.Wait(w.T, "the quota to count", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		return world.Want(len(quota.Status.Hard), 1)
	})
	return quota
}

// TestStraysGoWithTheirCluster checks that the operator deletes a cluster's orphaned pods when the cluster is deleted.
// The StatefulSet of these pods is gone and cannot be created again, so they have no owner, and Kubernetes would not
// delete them. Pods that only look like such orphans stay.
func TestStraysGoWithTheirCluster(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	sc := resources.CreateCluster(w, "c", resources.Workers(2, 2, 2))
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2))
	theirs := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-worker-7",
			Labels: map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: "c",
				"spark-version": "x"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	}
	set := resources.Set(w, "c-worker")
	refuseSets(w)

	orphan := &client.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}
	if err := w.API.Delete(t.Context(), set, orphan); err != nil {
		t.Fatal(err)
	}

	kit.Wait(t, "the workers to have no owner", func(context.Context) error {
		for _, pod := range resources.Members(w, "c") {
			if pod.Labels[identity.RoleLabel] == identity.RoleWorker {
				if err := world.Want(len(pod.OwnerReferences), 0); err != nil {
					return err
				}
			}
		}
		return world.Want(len(resources.Members(w, "c")), 3)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy,
		resources.ClusterHolds("Degraded", metav1.ConditionTrue, "exceeded quota"))
	w.Create(theirs)
	w.Remove(resources.GetCluster(w, "c"))
	w.WaitGone(sc)
	kit.Wait(t, "the deletion of all pods but the other one", func(context.Context) error {
		pods := resources.Members(w, "c")
		return world.Want(len(pods) == 1 && pods[0].UID == theirs.UID, true)
	})
}

// TestStraysAreReleased checks that the orphaned pods of a failed cluster are deleted.
func TestStraysAreReleased(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	resources.CreateCluster(w, "c")
	w.WaitPod("c-worker-0")
	kit.Wait(t, "the cluster's objects", func(context.Context) error {
		o := resources.GetCluster(w, "c").Status.Operator
		return world.Want(o != nil && o.BegunAt != nil, true)
	})

	set := resources.Set(w, "c-worker")
	refuseSets(w)

	if err := w.API.Delete(t.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}

	resources.WaitCluster(w, "c", sparkv1.ClusterSchedulingFailure)
	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"a=b":"no name of a property"}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterResourceReleased)
	kit.Wait(t, "the deletion of the pods",
		func(context.Context) error { return world.Want(len(resources.Members(w, "c")), 0) })
}

// TestTakenOverScaleIsTheAutoscalers checks that the number of workers that the autoscaler wanted survives the first
// edit of an inherited cluster. This edit replaces the StatefulSets, since the selectors of the Java operator's
// StatefulSets differ from ours.
func TestTakenOverScaleIsTheAutoscalers(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.CreateInheritedCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.Workers(1, 1, 9))
	resources.Scale(w, "c-worker", 4)
	kit.Wait(t, "the pods of the inherited cluster",
		func(context.Context) error { return world.Want(len(resources.Members(w, "c")), 5) })

	left := resources.Set(w, "c-worker")
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(4))
	resources.Set(w, "c-worker", resources.Replicas(4))
	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)
	resources.Set(w, "c-worker", func(live *appsv1.StatefulSet) error {
		return world.Want(live.UID != left.UID && live.DeletionTimestamp == nil, true)
	}, resources.Replicas(4))
}

// TestSetDeletedDuringAPassKeepsItsPods checks a StatefulSet that somebody deletes during a pass, after the operator
// has counted its pods. The new StatefulSet with the same name begins with as many replicas as pods existed. If it
// began with the initial number of the spec, it would stop the other pods.
func TestSetDeletedDuringAPassKeepsItsPods(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	var set *appsv1.StatefulSet
	var armed atomic.Bool
	resources.RunClusters(w, world.Config(w.Namespace), time.Now, func(env *operator.Environment) {
		env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTrip(func(request *http.Request) (*http.Response, error) {
				if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/statefulsets/c-worker") &&
					armed.CompareAndSwap(true, false) {
					if err := orphan(request.Context(), w, set.DeepCopy()); err != nil {
						t.Error(err)
					}
				}
				return next.RoundTrip(request)
			})
		})
	})
	resources.CreateCluster(w, "c", resources.Workers(1, 1, 9), resources.NotRolled)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	resources.Scale(w, "c-worker", 3)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))
	set = resources.Set(w, "c-worker")
	before := resources.MemberUIDs(w, "c")

	armed.Store(true)
	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)

	if got := *waitReplaced(w, "c", set, before).Spec.Replicas; got != 3 {
		t.Errorf("the next StatefulSet begins with %d pods", got)
	}
}

// TestNewSetCountsItsPodsLive checks that a StatefulSet that replaces a deleted one begins with as many replicas as
// pods exist. The operator lists these pods live, because the cache may not show pods that the autoscaler just added.
// For the first StatefulSets of a cluster the operator lists no pods.
func TestNewSetCountsItsPodsLive(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)

	hears, made := &world.LaggingWatch{Resource: "pods"}, &world.Requests{}
	resources.RunClusters(w, world.Config(w.Namespace), time.Now, func(env *operator.Environment) {
		env.Rest.Wrap(hears.Over)
		env.Rest.Wrap(made.Over)
	})

	// Before Kubernetes 1.34, the API server cannot stream the initial state of a watch, so the caches begin with a list.
	resources.CreateCluster(w, "served", resources.Workers(1, 1, 9), resources.NotRolled)
	resources.WaitCluster(w, "served", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))

	first := made.Since(nil)

	resources.CreateCluster(w, "c", resources.Workers(1, 1, 9), resources.NotRolled)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))

	if n := made.Since(first)["GET pods"]; n > 0 {
		t.Errorf("pods were listed %d times", n)
	}
	defer hears.Begin()()

	resources.Scale(w, "c-worker", 3)
	kit.Wait(t, "the pods", func(context.Context) error { return world.Want(len(resources.Members(w, "c")), 4) })

	set, before := resources.Set(w, "c-worker"), resources.MemberUIDs(w, "c")
	if err := orphan(t.Context(), w, set.DeepCopy()); err != nil {
		t.Fatal(err)
	}

	if got := *waitReplaced(w, "c", set, before).Spec.Replicas; got != 3 {
		t.Errorf("the next StatefulSet begins with %d pods", got)
	}
}

// orphan deletes a StatefulSet but not its pods, and returns once the StatefulSet is gone.
func orphan(ctx context.Context, w *world.World, set *appsv1.StatefulSet) error {
	if err := w.API.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.API.Get(ctx, client.ObjectKeyFromObject(set), set)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
