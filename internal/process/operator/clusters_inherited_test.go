package operator

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestTakenOverClusterKeepsItsScale checks an inherited cluster to which somebody has added workers by hand, since the
// Java operator ignores edits of the spec. These workers run until the spec is edited. Any edit, even of a field that
// affects no object, updates all pods to the spec and removes all settings of the Java operator.
func TestTakenOverClusterKeepsItsScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	sc := w.createInheritedCluster("c", sparkv1.ClusterRunningHealthy)
	theirs := `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"worker","image":"spark","env":[{"name":"THEIRS","value":"x"}]}]}}}}`

	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-worker"}}
	if err := w.API.Patch(t.Context(), set, client.RawPatch(types.StrategicMergePatchType, []byte(theirs))); err != nil {
		t.Fatal(err)
	}

	hasTheirs := func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "THEIRS" })
	}
	kit.Wait(t, "the workers of the inherited cluster", func(context.Context) error {
		old := 0
		for _, pod := range w.members("c") {
			if hasTheirs(&pod) && len(pod.Status.ContainerStatuses) > 0 {
				old++
			}
		}
		return want(old, 3)
	})

	left := w.uidsOf("c")
	w.runClusters(testConfig(w.Namespace), time.Now)
	w.set("c-worker", replicas(3), func(set *appsv1.StatefulSet) error { return want(set.Labels[identity.AppUIDLabel], string(sc.UID)) })
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(3), clusterHolds("Ready", metav1.ConditionTrue), clusterLacks("Degraded"))

	if now := w.uidsOf("c"); fmt.Sprint(now) != fmt.Sprint(left) {
		t.Fatalf("the pods were %v and are %v", left, now)
	}

	w.patchCluster("c", `{"spec":{"runtimeVersions":{"jdkVersion":"21"}}}`)
	kit.Wait(t, "all pods to match the spec", func(context.Context) error {
		pods := w.members("c")
		for i := range pods {
			if hasTheirs(&pods[i]) || pods[i].Labels[identity.AppUIDLabel] != string(sc.UID) {
				return fmt.Errorf("%s is %v with %v", pods[i].Name, pods[i].Labels, pods[i].Spec.Containers[0].Env)
			}
		}
		return want(len(pods), 2)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1), clusterHolds("Progressing", metav1.ConditionFalse), clusterLacks("Stalled"))
}

// TestSetThatCannotBeReplacedStays checks an edit that changes an immutable field of a StatefulSet and at the same time
// makes the StatefulSet invalid. The operator keeps the existing StatefulSet with its pods.
func TestSetThatCannotBeReplacedStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runClusters(testConfig(w.Namespace), time.Now)
	w.sparkCluster("c")
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1))
	set := w.set("c-worker")
	w.patchCluster("c", `{"spec":{"workerSpec":{"statefulSetSpec":{
		"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],
		"template":{"spec":{"containers":[{"name":"worker","imagePullPolicy":"Sometimes"}]}}}}}}`)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, clusterHolds("Degraded", metav1.ConditionTrue, "imagePullPolicy"))

	if now := w.set("c-worker"); now.UID != set.UID || now.DeletionTimestamp != nil {
		t.Errorf("StatefulSet %s of %v was replaced by %s of %v", set.UID, set.CreationTimestamp, now.UID, now.CreationTimestamp)
	}

	w.patchCluster("c", `{"spec":{"workerSpec":{"statefulSetSpec":{"template":null}}}}`)
	w.set("c-worker", func(live *appsv1.StatefulSet) error {
		return want(live.UID != set.UID && live.DeletionTimestamp == nil, true)
	})
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1), clusterLacks("Degraded"), clusterHolds("Progressing", metav1.ConditionFalse))
}
