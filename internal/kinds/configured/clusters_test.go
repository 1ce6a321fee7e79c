package configured_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// These tests play whole lives of SparkClusters on a real API server with Kubernetes' own controllers. The test plays
// the kubelet.

// objectsOf returns the objects that a cluster with an autoscaler has. Only their names and namespaces are set.
func objectsOf(w *world.World, name string) []client.Object {
	metaOf := func(suffix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.Namespace, Name: name + suffix}
	}
	return []client.Object{
		&corev1.Service{ObjectMeta: metaOf("-master-svc")}, &corev1.Service{ObjectMeta: metaOf("-worker-svc")},
		&appsv1.StatefulSet{ObjectMeta: metaOf("-master")}, &appsv1.StatefulSet{ObjectMeta: metaOf("-worker")},
		&networkingv1.NetworkPolicy{ObjectMeta: metaOf("-worker")},
		&policyv1.PodDisruptionBudget{ObjectMeta: metaOf("-worker-pdb")},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metaOf("-worker-hpa")},
	}
}

// TestClusterLives checks the life cycle of a cluster. All objects are created, and the cluster becomes healthy when
// its pods are ready and not before. If workers are lost, the condition Degraded is True until they return, but the
// state does not change. All objects are deleted with the custom resource. No timer is due during the test, so each
// pass is triggered by an event of a pod.
func TestClusterLives(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)

	sc := resources.CreateCluster(w, "c", resources.Workers(2, 1, 3))
	for _, object := range objectsOf(w, "c") {
		kit.Wait(t, fmt.Sprintf("%T %s", object, object.GetName()), func(ctx context.Context) error {
			return w.API.Get(ctx, client.ObjectKeyFromObject(object), object)
		})

		if !metav1.IsControlledBy(object, sc) || object.GetLabels()[identity.ClusterNameLabel] != "c" ||
			object.GetLabels()[identity.AppUIDLabel] != string(sc.UID) {
			t.Errorf("%T %s is labelled %v and owned by %v", object, object.GetName(), object.GetLabels(),
				object.GetOwnerReferences())
		}
	}

	resources.Set(w, "c-worker", resources.Replicas(2))
	resources.WaitCluster(w, "c", sparkv1.ClusterSubmitted, resources.ClusterHolds("Ready", metav1.ConditionFalse))
	w.Ready("c-master-0")
	resources.WaitCluster(w, "c", sparkv1.ClusterSubmitted, func(sc *resources.SparkCluster) error {
		return world.Want(sc.Status.Masters != nil && sc.Status.Masters.Ready == 1, true)
	})
	w.Ready("c-worker-0")
	w.Ready("c-worker-1")

	got := resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))
	if diff := cmp.Diff([]resources.ClusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy},
		clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	w.WaitEvent(sc, "RunningHealthy")

	for _, pod := range []string{"c-worker-0", "c-worker-1"} {
		w.Remove(w.WaitPod(pod))
	}

	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(0),
		resources.ClusterHolds("Degraded", metav1.ConditionTrue))
	w.WaitEvent(sc, "SparkClusterDegraded")
	w.Ready("c-worker-0")
	w.Ready("c-worker-1")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2),
		resources.ClusterLacks("Degraded"))
	w.WaitEvent(sc, "SparkClusterRecovered")

	if n := len(resources.GetCluster(w, "c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	w.Remove(resources.GetCluster(w, "c"))
	w.WaitGone(sc)

	for _, object := range objectsOf(w, "c") {
		w.WaitGone(object)
	}

	kit.Wait(t, "the deletion of the pods",
		func(context.Context) error { return world.Want(len(resources.Members(w, "c")), 0) })
}

// TestClusterIsEdited checks that edits of the scale, the image and the configuration reach the pods. The autoscaler is
// created when an edit makes the minimum and the maximum number of workers differ, and deleted when an edit makes them
// equal.
func TestClusterIsEdited(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	sc := resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	master := resources.UIDOf(w, "c-master-0")

	resources.PatchCluster(w, "c",
		`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":3,"maxWorkers":3}}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))

	if resources.UIDOf(w, "c-master-0") != master {
		t.Error("the master was restarted to scale the workers")
	}

	resources.PatchCluster(w, "c",
		`{"spec":{"sparkConf":{"spark.kubernetes.container.image":"docker.io/apache/spark:4.1.5","spark.worker.cleanup.enabled":"true"}}}`)
	kit.Wait(t, "all pods to match the edit", func(context.Context) error {
		pods := resources.Members(w, "c")
		for i := range pods {
			if image := pods[i].Spec.Containers[0].Image; image != "docker.io/apache/spark:4.1.5" {
				return fmt.Errorf("%s runs %s", pods[i].Name, image)
			}
		}
		return world.Want(len(pods), 4)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))
	w.WaitEvent(sc, "SparkClusterRolledOut")

	if n := len(resources.GetCluster(w, "c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	resources.PatchCluster(w, "c",
		`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":2,"maxWorkers":5}}}}`)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace,
		Name: "c-worker-hpa"}}
	kit.Wait(t, "the autoscaler",
		func(ctx context.Context) error { return w.API.Get(ctx, client.ObjectKeyFromObject(scaler), scaler) })
	resources.PatchCluster(w, "c",
		`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)
	w.WaitGone(scaler)
	resources.Set(w, "c-worker", resources.Replicas(2))
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2))
}

// TestWorkersMetricsPort checks that the API server keeps workerSpec.networkPolicy, that the workers' policy opens the
// port without a change of the pods, and that an edit to a port of Spark changes nothing and is reported with its
// field.
func TestWorkersMetricsPort(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	worker := resources.UIDOf(w, "c-worker-0")

	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"networkPolicy":{"metricsPort":9404,"metricsIngress":[`+
		`{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}},{"ipBlock":{"cidr":"10.0.0.0/8"}}]}}}}`)

	policy := &networkingv1.NetworkPolicy{}
	ports := func(ctx context.Context) error {
		err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "c-worker"}, policy)
		if err != nil || len(policy.Spec.Ingress) != 2 {
			return fmt.Errorf("%d rules, %w", len(policy.Spec.Ingress), err)
		}
		return world.Want(fmt.Sprint(policy.Spec.Ingress[1].Ports[0].Port, len(policy.Spec.Ingress[1].From)), "9404 2")
	}
	kit.Wait(t, "the open port", ports)

	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"networkPolicy":{"metricsPort":8081}}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy,
		resources.ClusterHolds("Stalled", metav1.ConditionTrue, "spec.workerSpec.networkPolicy.metricsPort", "web UI"))

	if err := ports(t.Context()); err != nil || resources.UIDOf(w, "c-worker-0") != worker {
		t.Errorf("after an edit that is refused: %v; the worker was replaced: %t", err, resources.UIDOf(w, "c-worker-0") != worker)
	}
}

// TestAutoscalerHasTheWorkers checks that the operator keeps the number of workers that the autoscaler has set, even if
// somebody edits other fields of the cluster's spec.
func TestAutoscalerHasTheWorkers(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	resources.CreateCluster(w, "c", resources.Workers(2, 1, 9))
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2))
	resources.Set(w, "c-worker", resources.Replicas(2))
	resources.Scale(w, "c-worker", 5)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(5),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))
	clock.Advance(time.Hour)
	resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"yes"}}}`)
	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)
	resources.Set(w, "c-worker", resources.Replicas(5),
		func(set *appsv1.StatefulSet) error { return world.Want(set.Annotations["edited"], "yes") })
	resources.Scale(w, "c-worker", 3)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))
	resources.Set(w, "c-worker", resources.Replicas(3))
}

// TestReplacedSetKeepsItsPods checks that an edit of an immutable field replaces the StatefulSet with a new one of the
// same name. The pods continue to run, as many as the autoscaler wanted.
func TestReplacedSetKeepsItsPods(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	// With the update strategy OnDelete the new StatefulSet keeps the pods that it adopts, so the test can check that
	// the replacement itself deletes none of them.
	keep := `{"statefulSetSpec":{"updateStrategy":{"type":"OnDelete"}%s}}`

	resources.CreateCluster(w, "c", resources.Workers(1, 1, 9), resources.NotRolled)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	set := resources.Set(w, "c-worker")
	resources.Scale(w, "c-worker", 3)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))
	before := resources.MemberUIDs(w, "c")
	resources.PatchCluster(w, "c",
		`{"spec":{"workerSpec":`+fmt.Sprintf(keep,
			`,"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]`)+`}}`)
	next := resources.Set(w, "c-worker", func(live *appsv1.StatefulSet) error {
		return world.Want(live.UID != set.UID && live.DeletionTimestamp == nil, true)
	}, resources.Replicas(3))
	resources.WaitOwned(w, "c", next)

	if diff := cmp.Diff(before, resources.MemberUIDs(w, "c")); diff != "" {
		t.Errorf("pods were replaced:\n%s", diff)
	}

	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))
}

// TestRefusedClusterIsTriedAgain checks that a rejection by a quota becomes the state SchedulingFailure with the
// quota's message, reported once. The cluster continues by itself when the quota has room.
func TestRefusedClusterIsTriedAgain(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.QuotaFigures)
	w, clock := world.New(t), &world.Later{}
	resources.Kubelets(w)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/statefulsets.apps": resource.MustParse("0")}}}
	w.Create(quota)
	kit.Wait(t, "the quota to count", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		return world.Want(len(quota.Status.Hard), 1)
	})
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	sc := resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterSchedulingFailure,
		resources.ClusterHolds("Ready", metav1.ConditionFalse, "exceeded quota"))
	w.WaitEvent(sc, "SchedulingFailure", "exceeded quota")

	for range 3 {
		clock.Advance(auxiliary.MaxInterval)
		readCount := clock.ReadCount.Load()

		resources.PatchCluster(w, "c", fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
		kit.Wait(t, "another try", func(context.Context) error {
			return world.Want(clock.ReadCount.Load() > readCount+1,
				true)
		})
	}

	if n := len(resources.GetCluster(w, "c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	w.Remove(quota)
	clock.Advance(auxiliary.MaxInterval)
	resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"again"}}}`)

	past := clusterHistory(resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy))
	if len(past) > 4 || past[1] != sparkv1.ClusterSchedulingFailure {
		t.Errorf("the history is %v", past)
	}
}

// TestClusterWithoutAMaster checks that a cluster whose master does not start has failed after its deadline, and that
// all its objects are released. An edit restarts the cluster.
func TestClusterWithoutAMaster(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	sc := resources.CreateCluster(w, "c", resources.Workers(1, 1, 2))
	w.WaitPod("c-master-0")
	resources.WaitCluster(w, "c", sparkv1.ClusterSubmitted)
	kit.Wait(t, "the cluster's objects", func(context.Context) error {
		o := resources.GetCluster(w, "c").Status.Operator
		return world.Want(o != nil && o.BegunAt != nil, true)
	})
	clock.Advance(9 * time.Minute)
	resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"once"}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterSubmitted)
	clock.Advance(2 * time.Minute)
	resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"twice"}}}`)

	got := resources.WaitCluster(w, "c", sparkv1.ClusterResourceReleased)
	if diff := cmp.Diff([]resources.ClusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterFailed,
		sparkv1.ClusterResourceReleased}, clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	for _, object := range objectsOf(w, "c") {
		w.WaitGone(object)
	}

	w.WaitEvent(sc, "Failed")
	resources.Kubelets(w)
	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.worker.cleanup.enabled":"true"}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy)
}

// TestForeignObjectsOfACluster checks a cluster that needs the name of somebody else's object for one of its own
// objects. A message names the existing object, and the operator never changes it.
func TestForeignObjectsOfACluster(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-master-svc"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	w.Create(theirs)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterSchedulingFailure,
		resources.ClusterHolds("Ready", metav1.ConditionFalse, `Service "c-master-svc" already exists`))
	resources.UntouchedObject(w, theirs)
	w.Remove(resources.GetCluster(w, "c"))
	resources.UntouchedObject(w, theirs)
}
