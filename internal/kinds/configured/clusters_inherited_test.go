package configured_test

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
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestTakenOverClusterKeepsItsScale checks an inherited cluster to which somebody has added workers by hand, since the
// Java operator ignores edits of the spec. These workers run until the spec is edited. Any edit, even of a field that
// affects no object, updates all pods to the spec and removes all settings of the Java operator.
func TestTakenOverClusterKeepsItsScale(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	sc := resources.CreateInheritedCluster(w, "c", sparkv1.ClusterRunningHealthy)
	theirs := `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"worker","image":"spark","env":[{"name":"THEIRS","value":"x"}]}]}}}}`

	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-worker"}}
	if err := w.API.Patch(t.Context(), set,
		client.RawPatch(types.StrategicMergePatchType, []byte(theirs))); err != nil {
		t.Fatal(err)
	}

	hasTheirs := func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "THEIRS" })
	}
	kit.Wait(t, "the workers of the inherited cluster", func(context.Context) error {
		old := 0
		for _, pod := range resources.Members(w, "c") {
			if hasTheirs(&pod) && len(pod.Status.ContainerStatuses) > 0 {
				old++
			}
		}
		return world.Want(old, 3)
	})

	left := uidsOf(w, "c")
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.Set(w, "c-worker", resources.Replicas(3), func(set *appsv1.StatefulSet) error {
		return world.Want(set.Labels[identity.AppUIDLabel], string(sc.UID))
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3),
		resources.ClusterHolds("Ready", metav1.ConditionTrue), resources.ClusterLacks("Degraded"))

	if now := uidsOf(w, "c"); fmt.Sprint(now) != fmt.Sprint(left) {
		t.Fatalf("the pods were %v and are %v", left, now)
	}

	resources.PatchCluster(w, "c", `{"spec":{"runtimeVersions":{"jdkVersion":"21"}}}`)
	kit.Wait(t, "all pods to match the spec", func(context.Context) error {
		pods := resources.Members(w, "c")
		for i := range pods {
			if hasTheirs(&pods[i]) || pods[i].Labels[identity.AppUIDLabel] != string(sc.UID) {
				return fmt.Errorf("%s is %v with %v", pods[i].Name, pods[i].Labels, pods[i].Spec.Containers[0].Env)
			}
		}
		return world.Want(len(pods), 2)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterHolds("Progressing", metav1.ConditionFalse), resources.ClusterLacks("Stalled"))
}

// TestSetThatCannotBeReplacedStays checks an edit that changes an immutable field of a StatefulSet and at the same time
// makes the StatefulSet invalid. The operator keeps the existing StatefulSet with its pods.
func TestSetThatCannotBeReplacedStays(t *testing.T) {
	kit.NeedsKubernetes(t, 34, "an API server that checks the pod templates of StatefulSets")
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	resources.CreateCluster(w, "c")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	set := resources.Set(w, "c-worker")
	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"statefulSetSpec":{
		"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],
		"template":{"spec":{"containers":[{"name":"worker","imagePullPolicy":"Sometimes"}]}}}}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy,
		resources.ClusterHolds("Degraded", metav1.ConditionTrue, "imagePullPolicy"))

	if now := resources.Set(w, "c-worker"); now.UID != set.UID || now.DeletionTimestamp != nil {
		t.Errorf("StatefulSet %s of %v was replaced by %s of %v", set.UID, set.CreationTimestamp, now.UID,
			now.CreationTimestamp)
	}

	resources.PatchCluster(w, "c", `{"spec":{"workerSpec":{"statefulSetSpec":{"template":null}}}}`)
	resources.Set(w, "c-worker", func(live *appsv1.StatefulSet) error {
		return world.Want(live.UID != set.UID && live.DeletionTimestamp == nil, true)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterLacks("Degraded"), resources.ClusterHolds("Progressing", metav1.ConditionFalse))
}
