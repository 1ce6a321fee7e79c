package operator

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// theirClusterFinalizer is the finalizer that the Java operator sets on clusters.
const theirClusterFinalizer = "sparkclusters.spark.apache.org/finalizer"

// createInheritedCluster creates a cluster as the Java operator leaves it. The StatefulSets of such a cluster select
// pods only by the role label, and its objects have no label of this operator.
func (w *world) createInheritedCluster(name string, state clusterState, change ...func(*sparkCluster)) *sparkCluster {
	w.T.Helper()
	sc := w.sparkCluster(name, append(change, func(sc *sparkCluster) { sc.Finalizers = []string{theirClusterFinalizer} })...)
	owner := []metav1.OwnerReference{{APIVersion: sparkv1.GroupVersion.String(), Kind: "SparkCluster", Name: name, UID: sc.UID}}
	podLabels := func(role string) map[string]string {
		return map[string]string{identity.RoleLabel: role, identity.ClusterNameLabel: name, "spark-version": "4.1.4"}
	}

	metaOf := func(suffix, role string) metav1.ObjectMeta {
		labels := podLabels(role)
		labels["spark.operator/name"] = "spark-kubernetes-operator"
		return metav1.ObjectMeta{Namespace: w.Namespace, Name: name + suffix, Labels: labels, OwnerReferences: owner}
	}
	for _, role := range []string{identity.RoleMaster, identity.RoleWorker} {
		port := map[string]int32{identity.RoleMaster: 7077, identity.RoleWorker: 8081}[role]
		w.Create(&corev1.Service{ObjectMeta: metaOf("-"+role+"-svc", role), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{identity.RoleLabel: role, identity.ClusterNameLabel: name},
			Ports: []corev1.ServicePort{{Name: map[string]string{identity.RoleMaster: "spark", identity.RoleWorker: "web"}[role], Port: port, TargetPort: intstr.FromInt32(port)}},
		}})
		w.Create(&appsv1.StatefulSet{ObjectMeta: metaOf("-"+role, role), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), PodManagementPolicy: appsv1.ParallelPodManagement, ServiceName: map[string]string{identity.RoleWorker: name + "-worker-svc"}[role],
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{identity.RoleLabel: role}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels(role)}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(0)),
				Containers:                    []corev1.Container{{Name: role, Image: "spark", Command: []string{"bash"}, Args: []string{"-c", "start"}}},
			}},
		}})
	}

	w.Create(&policyv1.PodDisruptionBudget{ObjectMeta: metaOf("-worker-pdb", identity.RoleWorker), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: name}},
	}})

	before := sc.DeepCopy()
	at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	entry := sparkv1.ClusterState{CurrentStateSummary: state, LastTransitionTime: at, Message: "theirs"}
	sc.Status.StateTransitionHistory = map[string]sparkv1.ClusterState{"0": {CurrentStateSummary: sparkv1.ClusterSubmitted, LastTransitionTime: at}, "1": entry}
	sc.Status.CurrentState = &entry

	sc.Status.CurrentAttemptSummary = &sparkv1.ClusterAttemptSummary{AttemptInfo: &sparkv1.ClusterAttemptInfo{}}
	if err := w.API.Status().Patch(w.T.Context(), sc, client.MergeFrom(before)); err != nil {
		w.T.Fatal(err)
	}
	return sc
}

// uidsOf returns the UIDs of the pods and StatefulSets of a cluster.
func (w *world) uidsOf(name string) map[string]types.UID {
	w.T.Helper()

	uids := map[string]types.UID{}
	for _, pod := range w.members(name) {
		uids[pod.Name] = pod.UID
	}

	for _, set := range []string{name + "-master", name + "-worker"} {
		uids[set] = w.set(set).UID
	}
	return uids
}

// TestClusterIsTakenOver checks that the pods and StatefulSets of an inherited cluster are not replaced, and that all
// its other objects become ours. The operator notices when a pod is lost and when it returns. The first edit replaces
// all inherited objects with our own.
func TestClusterIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	sc := w.createInheritedCluster("c", sparkv1.ClusterRunningHealthy)
	kit.Wait(t, "the pods of the inherited cluster", func(context.Context) error { return want(len(w.members("c")), 2) })

	left := w.uidsOf("c")
	stop := w.runClusters(testConfig(w.Namespace), time.Now)

	got := w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1), clusterHolds("Ready", metav1.ConditionTrue), func(sc *sparkCluster) error {
		return want(len(sc.Finalizers), 0)
	})
	if diff := cmp.Diff([]clusterState{sparkv1.ClusterSubmitted, sparkv1.ClusterRunningHealthy}, clusterHistory(got)); diff != "" {
		t.Error(diff)
	}

	w.set("c-worker", func(set *appsv1.StatefulSet) error { return want(set.Labels[identity.AppUIDLabel], string(sc.UID)) })
	w.set("c-master", func(set *appsv1.StatefulSet) error { return want(set.Labels[identity.AppUIDLabel], string(sc.UID)) })
	w.serverService("c-master-svc", func(s *corev1.Service) error { return want(s.Labels[identity.AppUIDLabel], string(sc.UID)) })
	stop()
	w.runClusters(testConfig(w.Namespace), time.Now) // changes nothing
	w.Remove(w.waitPod("c-worker-0"))
	kit.Wait(t, "the worker to exist again", func(context.Context) error { return want(w.uidOf("c-worker-0") != left["c-worker-0"], true) })
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1), clusterHolds("Ready", metav1.ConditionTrue))

	left["c-worker-0"] = w.uidOf("c-worker-0")
	if diff := cmp.Diff(left, w.uidsOf("c")); diff != "" {
		t.Fatalf("pods or StatefulSets were replaced:\n%s", diff)
	}

	w.patchCluster("c", `{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2), clusterHolds("Ready", metav1.ConditionTrue))
	kit.Wait(t, "all pods to be ours", func(context.Context) error {
		pods := w.members("c")
		for i := range pods {
			if err := want(pods[i].Labels[identity.AppUIDLabel], string(sc.UID)); err != nil {
				return err
			}
		}
		return want(len(pods), 3)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2))

	if n := len(w.getCluster("c").Status.StateTransitionHistory); n != 2 {
		t.Errorf("%d states are reported", n)
	}
}

// TestStuckClusterIsTakenOver checks two inherited clusters. The state of the first is FAILED, and this operator starts
// it. The second is being deleted, and this operator removes its finalizer, so that the cluster and its pods are
// deleted.
func TestStuckClusterIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	going := w.createInheritedCluster("going", sparkv1.ClusterRunningHealthy)
	w.Remove(going)
	w.createInheritedCluster("stuck", sparkv1.ClusterFailed)
	w.runClusters(testConfig(w.Namespace), time.Now)
	w.waitCluster("stuck", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	w.WaitGone(going)
	kit.Wait(t, "the deletion of the cluster's pods", func(context.Context) error { return want(len(w.members("going")), 0) })
	w.waitLog("Removed the finalizers of another operator")
}

// TestClusterSecrets checks a Spark property whose name suggests that its value is secret. The value is in a Secret,
// but neither in a pod nor in the log. If an edit changes the value, a new Secret contains the new value, and the old
// Secret is deleted when no pod mounts it.
func TestClusterSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), time.Now)
	sc := w.sparkCluster("c", func(sc *sparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush-hush-1" })
	w.waitCluster("c", sparkv1.ClusterRunningHealthy)

	secrets := func() []string { return w.secretNames(sc) }

	before := secrets()
	if len(before) != 1 {
		t.Fatalf("the Secrets of the cluster are %v", before)
	}

	for _, pod := range w.members("c") {
		for _, env := range pod.Spec.Containers[0].Env {
			if err := says(env.Value, "hush"); err == nil {
				t.Errorf("%s has the secret value in %s", pod.Name, env.Name)
			}
		}
	}

	w.patchCluster("c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush-hush-2"}}}`)
	kit.Wait(t, "exactly one Secret, which is new", func(context.Context) error {
		now := secrets()
		return want(len(now) == 1 && now[0] != before[0], true)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, clusterHolds("Ready", metav1.ConditionTrue))

	if err := says(w.Log.String(), "hush"); err == nil {
		t.Error("the log contains the secret value")
	}
}
