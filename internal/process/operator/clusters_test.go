package operator

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
)

// These tests play whole lives of SparkClusters on a real API server with Kubernetes' own controllers. The test plays
// the kubelet.

// objectsOf returns the objects that a cluster with an autoscaler has. Only their names and namespaces are set.
func (w *world) objectsOf(name string) []client.Object {
	metaOf := func(suffix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.Namespace, Name: name + suffix}
	}
	return []client.Object{
		&corev1.Service{ObjectMeta: metaOf("-master-svc")}, &corev1.Service{ObjectMeta: metaOf("-worker-svc")},
		&appsv1.StatefulSet{ObjectMeta: metaOf("-master")}, &appsv1.StatefulSet{ObjectMeta: metaOf("-worker")},
		&networkingv1.NetworkPolicy{ObjectMeta: metaOf("-worker")}, &policyv1.PodDisruptionBudget{ObjectMeta: metaOf("-worker-pdb")},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metaOf("-worker-hpa")},
	}
}

// TestClusterLives checks the life cycle of a cluster. All objects are created, and the cluster becomes healthy when
// its pods are ready and not before. If workers are lost, the condition Degraded is True until they return, but the
// state does not change. All objects are deleted with the custom resource. No timer is due during the test, so each
// pass is triggered by an event of a pod.
func TestClusterLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runClusters(testConfig(w.Namespace), time.Now)

	sc := w.sparkCluster("c", workers(2, 1, 3))
	for _, object := range w.objectsOf("c") {
		kit.Wait(t, fmt.Sprintf("%T %s", object, object.GetName()), func(ctx context.Context) error {
			return w.API.Get(ctx, client.ObjectKeyFromObject(object), object)
		})

		if !metav1.IsControlledBy(object, sc) || object.GetLabels()[identity.ClusterNameLabel] != "c" || object.GetLabels()[identity.AppUIDLabel] != string(sc.UID) {
			t.Errorf("%T %s is labelled %v and owned by %v", object, object.GetName(), object.GetLabels(), object.GetOwnerReferences())
		}
	}

	w.set("c-worker", replicas(2))
	w.waitCluster("c", sparkv1.ClusterSubmitted, clusterHolds("Ready", metav1.ConditionFalse))
	w.ready("c-master-0")
	w.waitCluster("c", sparkv1.ClusterSubmitted, func(sc *sparkCluster) error {
		return want(sc.Status.Masters != nil && sc.Status.Masters.Ready == 1, true)
	})
	w.ready("c-worker-0")
	w.ready("c-worker-1")

	got := w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2), clusterHolds("Ready", metav1.ConditionTrue))
	if diff := cmp.Diff([]clusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy}, clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	w.waitEvent(sc, "SparkClusterRunning")

	for _, pod := range []string{"c-worker-0", "c-worker-1"} {
		w.Remove(w.waitPod(pod))
	}

	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(0), clusterHolds("Degraded", metav1.ConditionTrue))
	w.waitEvent(sc, "SparkClusterDegraded")
	w.ready("c-worker-0")
	w.ready("c-worker-1")
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2), clusterLacks("Degraded"))
	w.waitEvent(sc, "SparkClusterRecovered")

	if n := len(w.getCluster("c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	w.Remove(w.getCluster("c"))
	w.WaitGone(sc)

	for _, object := range w.objectsOf("c") {
		w.WaitGone(object)
	}

	kit.Wait(t, "the deletion of the pods", func(context.Context) error { return want(len(w.members("c")), 0) })
}

// TestClusterIsEdited checks that edits of the scale, the image and the configuration reach the pods. The autoscaler is
// created when an edit makes the minimum and the maximum number of workers differ, and deleted when an edit makes them
// equal.
func TestClusterIsEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), time.Now)
	sc := w.sparkCluster("c")
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	master := w.uidOf("c-master-0")

	w.patchCluster("c", `{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":3,"maxWorkers":3}}}}`)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))

	if w.uidOf("c-master-0") != master {
		t.Error("the master was restarted to scale the workers")
	}

	w.patchCluster("c", `{"spec":{"sparkConf":{"spark.kubernetes.container.image":"docker.io/apache/spark:4.1.5","spark.worker.cleanup.enabled":"true"}}}`)
	kit.Wait(t, "all pods to match the edit", func(context.Context) error {
		pods := w.members("c")
		for i := range pods {
			if image := pods[i].Spec.Containers[0].Image; image != "docker.io/apache/spark:4.1.5" {
				return fmt.Errorf("%s runs %s", pods[i].Name, image)
			}
		}
		return want(len(pods), 4)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3), clusterHolds("Ready", metav1.ConditionTrue))
	w.waitEvent(sc, "SparkClusterRolledOut")

	if n := len(w.getCluster("c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	w.patchCluster("c", `{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":2,"maxWorkers":5}}}}`)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-worker-hpa"}}
	kit.Wait(t, "the autoscaler", func(ctx context.Context) error { return w.API.Get(ctx, client.ObjectKeyFromObject(scaler), scaler) })
	w.patchCluster("c", `{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)
	w.WaitGone(scaler)
	w.set("c-worker", replicas(2))
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2))
}

// TestAutoscalerHasTheWorkers checks that the operator keeps the number of workers that the autoscaler has set, even if
// somebody edits other fields of the cluster's spec.
func TestAutoscalerHasTheWorkers(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), clock.now)
	w.sparkCluster("c", workers(2, 1, 9))
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2))
	w.set("c-worker", replicas(2))
	w.scale("c-worker", 5)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(5), clusterHolds("Ready", metav1.ConditionTrue))
	clock.advance(time.Hour)
	w.patchCluster("c", `{"metadata":{"annotations":{"poked":"yes"}}}`)
	w.patchCluster("c", `{"spec":{"workerSpec":{"statefulSetMetadata":{"annotations":{"edited":"yes"}}}}}`)
	w.set("c-worker", replicas(5), func(set *appsv1.StatefulSet) error { return want(set.Annotations["edited"], "yes") })
	w.scale("c-worker", 3)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))
	w.set("c-worker", replicas(3))
}

// TestReplacedSetKeepsItsPods checks that an edit of an immutable field replaces the StatefulSet with a new one of the
// same name. The pods continue to run, as many as the autoscaler wanted.
func TestReplacedSetKeepsItsPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), time.Now)
	// With the update strategy OnDelete the new StatefulSet keeps the pods that it adopts, so the test can check that
	// the replacement itself deletes none of them.
	keep := `{"statefulSetSpec":{"updateStrategy":{"type":"OnDelete"}%s}}`

	w.sparkCluster("c", workers(1, 1, 9), notRolled)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	set := w.set("c-worker")
	w.scale("c-worker", 3)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))
	before := w.memberUIDs("c")
	w.patchCluster("c", `{"spec":{"workerSpec":`+fmt.Sprintf(keep, `,"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]`)+`}}`)
	next := w.set("c-worker", func(live *appsv1.StatefulSet) error {
		return want(live.UID != set.UID && live.DeletionTimestamp == nil, true)
	}, replicas(3))
	w.waitOwned("c", next)

	if diff := cmp.Diff(before, w.memberUIDs("c")); diff != "" {
		t.Errorf("pods were replaced:\n%s", diff)
	}

	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3))
}

// TestRefusedClusterIsTriedAgain checks that a rejection by a quota becomes the state SchedulingFailure with the
// quota's message, reported once. The cluster continues by itself when the quota has room.
func TestRefusedClusterIsTriedAgain(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, quotaFigures)
	w, clock := newWorld(t), &later{}
	w.kubelets()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/statefulsets.apps": resource.MustParse("0")}}}
	w.Create(quota)
	kit.Wait(t, "the quota to count", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		return want(len(quota.Status.Hard), 1)
	})
	w.runClusters(testConfig(w.Namespace), clock.now)
	sc := w.sparkCluster("c")
	w.waitCluster("c", sparkv1.ClusterSchedulingFailure, clusterHolds("Ready", metav1.ConditionFalse, "exceeded quota"))
	w.waitEvent(sc, "SparkClusterSchedulingFailure", "exceeded quota")

	for range 3 {
		clock.advance(auxiliary.MaxInterval)
		readCount := clock.readCount.Load()

		w.patchCluster("c", fmt.Sprintf(`{"metadata":{"annotations":{"poked":%q}}}`, time.Now()))
		kit.Wait(t, "another try", func(context.Context) error { return want(clock.readCount.Load() > readCount+1, true) })
	}

	if n := len(w.getCluster("c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}

	w.Remove(quota)
	clock.advance(auxiliary.MaxInterval)
	w.patchCluster("c", `{"metadata":{"annotations":{"poked":"again"}}}`)

	past := clusterHistory(w.waitCluster("c", sparkv1.ClusterRunningHealthy))
	if len(past) > 4 || past[1] != sparkv1.ClusterSchedulingFailure {
		t.Errorf("the history is %v", past)
	}
}

// TestClusterWithoutAMaster checks that a cluster whose master does not start has failed after its deadline, and that
// all its objects are released. An edit restarts the cluster.
func TestClusterWithoutAMaster(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runClusters(testConfig(w.Namespace), clock.now)
	sc := w.sparkCluster("c", workers(1, 1, 2))
	w.waitPod("c-master-0")
	w.waitCluster("c", sparkv1.ClusterSubmitted)
	kit.Wait(t, "the cluster's objects", func(context.Context) error {
		o := w.getCluster("c").Status.Operator
		return want(o != nil && o.BegunAt != nil, true)
	})
	clock.advance(9 * time.Minute)
	w.patchCluster("c", `{"metadata":{"annotations":{"poked":"once"}}}`)
	w.waitCluster("c", sparkv1.ClusterSubmitted)
	clock.advance(2 * time.Minute)
	w.patchCluster("c", `{"metadata":{"annotations":{"poked":"twice"}}}`)

	got := w.waitCluster("c", sparkv1.ClusterResourceReleased)
	if diff := cmp.Diff([]clusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterFailed, sparkv1.ClusterResourceReleased}, clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	for _, object := range w.objectsOf("c") {
		w.WaitGone(object)
	}

	w.waitEvent(sc, "SparkClusterFailed")
	w.kubelets()
	w.patchCluster("c", `{"spec":{"sparkConf":{"spark.worker.cleanup.enabled":"true"}}}`)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy)
}

// TestForeignObjectsOfACluster checks a cluster that needs the name of somebody else's object for one of its own
// objects. A message names the existing object, and the operator never changes it.
func TestForeignObjectsOfACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-master-svc"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	w.Create(theirs)
	w.runClusters(testConfig(w.Namespace), time.Now)
	w.sparkCluster("c")
	w.waitCluster("c", sparkv1.ClusterSchedulingFailure, clusterHolds("Ready", metav1.ConditionFalse, `Service "c-master-svc" already exists`))
	w.untouchedObject(theirs)
	w.Remove(w.getCluster("c"))
	w.untouchedObject(theirs)
}
