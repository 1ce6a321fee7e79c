package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

type (
	// SparkCluster is a standalone cluster.
	SparkCluster = sparkv1.SparkCluster
	// ClusterState is a state of a standalone cluster.
	ClusterState = sparkv1.ClusterStateSummary
)

// PodsOfSets names a task of Kubernetes' own controllers: they create the pods of StatefulSets. A test that needs this
// task is skipped if the test environment has only an API server.
const PodsOfSets = "the pods of a StatefulSet"

// RunClusters starts an operator that serves only SparkClusters. Kubernetes' own controllers create the pods of
// StatefulSets, and the test plays the kubelet.
func RunClusters(w *world.World, cfg config.Configuration, clock controller.Clock, change ...func(*operator.Environment)) (stop func()) {
	w.T.Helper()
	kit.NeedsControllers(w.T, PodsOfSets)
	return world.ServeAlone(w, cfg, clock, func(op *operator.Operator) contract.Kind {
		return configured.For(kinds.SparkCluster).Build(op.Settings, nil)
	}, change)
}

// Workers returns a change that sets the initial, minimum and maximum number of workers of a cluster.
func Workers(first, least, most int64) func(*SparkCluster) {
	return func(sc *SparkCluster) {
		sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: first, MinWorkers: least, MaxWorkers: most}
	}
}

// NotRolled sets the update strategy OnDelete for a cluster's workers, so that a StatefulSet does not replace the pods
// that it adopts.
func NotRolled(sc *SparkCluster) {
	sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: Template(`{"updateStrategy":{"type":"OnDelete"}}`)}}
}

// CreateCluster creates a SparkCluster with one worker.
func CreateCluster(w *world.World, name string, change ...func(*SparkCluster)) *SparkCluster {
	w.T.Helper()
	sc := &SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	sc.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	sc.Spec.SparkConf = map[string]string{"spark.kubernetes.container.image": "docker.io/apache/spark:4.1.4"}
	Workers(1, 1, 1)(sc)

	for _, c := range change {
		c(sc)
	}

	w.Create(sc)
	return sc
}

// GetCluster returns a SparkCluster.
func GetCluster(w *world.World, name string) *SparkCluster {
	w.T.Helper()

	sc := &SparkCluster{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
		w.T.Fatal(err)
	}
	return sc
}

// PatchCluster patches a SparkCluster.
func PatchCluster(w *world.World, name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), GetCluster(w, name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// WaitCluster waits until a cluster is in the given state and meets all given conditions.
func WaitCluster(w *world.World, name string, state ClusterState, holds ...func(*SparkCluster) error) *SparkCluster {
	w.T.Helper()
	var sc *SparkCluster
	kit.Wait(w.T, fmt.Sprintf("%s to be %s", name, state), func(ctx context.Context) error {
		sc = &SparkCluster{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
			return err
		}

		if current := sc.Status.CurrentState; current == nil || current.CurrentStateSummary != state {
			return fmt.Errorf("it is %+v: %+v", current, sc.Status.Conditions)
		}

		for _, check := range holds {
			if err := check(sc); err != nil {
				return fmt.Errorf("%w: %+v", err, sc.Status.Conditions)
			}
		}
		return nil
	})
	return sc
}

// ClusterHolds returns a check that a cluster has a condition with the given status, whose reason or message contains
// all the texts.
func ClusterHolds(kind string, status metav1.ConditionStatus, says ...string) func(*SparkCluster) error {
	return func(sc *SparkCluster) error {
		c := meta.FindStatusCondition(sc.Status.Conditions, kind)
		if c == nil || c.Status != status {
			return fmt.Errorf("%s is %+v", kind, c)
		}

		for _, text := range says {
			if !strings.Contains(c.Reason+" "+c.Message, text) {
				return fmt.Errorf("%s says %q, not %q", kind, c.Message, text)
			}
		}
		return nil
	}
}

// ClusterLacks returns a check that a condition of a cluster is not True, or does not exist.
func ClusterLacks(kind string) func(*SparkCluster) error {
	return func(sc *SparkCluster) error {
		return world.Want(meta.IsStatusConditionTrue(sc.Status.Conditions, kind), false)
	}
}

// ReadyWorkers returns a check that a cluster's status reports n ready workers.
func ReadyWorkers(n int32) func(*SparkCluster) error {
	return func(sc *SparkCluster) error {
		if sc.Status.Workers == nil {
			return errors.New("no worker is reported")
		}
		return world.Want(sc.Status.Workers.Ready, n)
	}
}

// Members returns the existing pods of a cluster, in the order of their names.
func Members(w *world.World, name string) (pods []corev1.Pod) {
	w.T.Helper()

	var list corev1.PodList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.ClusterNameLabel: name}); err != nil {
		w.T.Fatal(err)
	}

	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// SecretNames returns the names of a cluster's Secrets.
func SecretNames(w *world.World, sc *SparkCluster) (names []string) {
	w.T.Helper()

	for _, secret := range w.SecretsOf(sc) {
		names = append(names, secret.Name)
	}
	return names
}

// MemberUIDs returns the UIDs of a cluster's pods, by the name of the pod.
func MemberUIDs(w *world.World, name string) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range Members(w, name) {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// WaitOwned waits until a StatefulSet owns all worker pods of a cluster.
func WaitOwned(w *world.World, name string, set *appsv1.StatefulSet) {
	w.T.Helper()
	kit.Wait(w.T, "the pods to be taken over", func(context.Context) error {
		for _, pod := range Members(w, name) {
			if pod.Labels[identity.RoleLabel] == identity.RoleWorker && !metav1.IsControlledBy(&pod, set) {
				return fmt.Errorf("%s is owned by %v", pod.Name, pod.OwnerReferences)
			}
		}
		return nil
	})
}

// Kubelets plays the kubelet for all pending pods of the test's namespace, until the test ends or calls the returned
// function.
func Kubelets(w *world.World) (stop func()) {
	return forPods(w, func(ctx context.Context, pod *corev1.Pod) { start(ctx, w, pod) })
}

// SlowKubelets is like Kubelets, but each pod is bound to a node and outlives its deletion by a time that the function
// grace returns. Each pod has a node of its own: the pod garbage collector of Kubernetes removes the pods of a node
// that has been missing for 40 s.
func SlowKubelets(w *world.World, grace func() time.Duration) (stop func()) {
	ends := map[types.UID]time.Time{}
	return forPods(w, func(ctx context.Context, pod *corev1.Pod) {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil { // ignores errors, like start
			_ = w.API.SubResource("binding").Create(ctx, pod.DeepCopy(), &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: string(pod.UID)}})
		}

		if start(ctx, w, pod); pod.DeletionTimestamp == nil {
			return
		}

		if ends[pod.UID].IsZero() {
			ends[pod.UID] = time.Now().Add(grace())
		}

		if time.Now().After(ends[pod.UID]) {
			_ = w.API.Delete(ctx, pod, client.GracePeriodSeconds(0))
		}
	})
}

// forPods calls a function periodically for all pods of the test's namespace, until the test ends or calls the returned
// function.
func forPods(w *world.World, play func(context.Context, *corev1.Pod)) (stop func()) {
	ctx, cancel := context.WithCancel(w.T.Context())

	done := make(chan struct{})
	go func() {
		defer close(done)

		for {
			var pods corev1.PodList
			if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace)); err == nil {
				for i := range pods.Items {
					play(ctx, &pods.Items[i])
				}
			}

			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()

	end := func() { cancel(); <-done }
	w.T.Cleanup(end)
	return end
}

// start makes a pending pod ready. It ignores errors, since its caller tries again periodically.
func start(ctx context.Context, w *world.World, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}

	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning

	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: world.Running(), Ready: true})
	}

	_ = w.API.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// Set waits until a StatefulSet meets all conditions, and returns it.
func Set(w *world.World, name string, holds ...func(*appsv1.StatefulSet) error) *appsv1.StatefulSet {
	w.T.Helper()

	set := &appsv1.StatefulSet{}
	kit.Wait(w.T, "StatefulSet "+name, func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, set); err != nil {
			return err
		}

		for _, check := range holds {
			if err := check(set); err != nil {
				return err
			}
		}
		return nil
	})
	return set
}

// Replicas returns a check that a StatefulSet's spec has n replicas.
func Replicas(n int32) func(*appsv1.StatefulSet) error {
	return func(set *appsv1.StatefulSet) error { return world.Want(*set.Spec.Replicas, n) }
}

// Scale sets the replicas of a StatefulSet, as an autoscaler does.
func Scale(w *world.World, set string, n int) {
	w.T.Helper()
	object := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: set}}

	patch := client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)))
	if err := w.API.SubResource("scale").Patch(w.T.Context(), object, patch); err != nil {
		w.T.Fatal(err)
	}
}

// theirClusterFinalizer is the finalizer that the Java operator sets on clusters.
const theirClusterFinalizer = "sparkclusters.spark.apache.org/finalizer"

// CreateInheritedCluster creates a cluster as the Java operator leaves it. The StatefulSets of such a cluster select
// pods only by the role label, and its objects have no label of this operator.
func CreateInheritedCluster(w *world.World, name string, state ClusterState, change ...func(*SparkCluster)) *SparkCluster {
	w.T.Helper()
	sc := CreateCluster(w, name, append(change, func(sc *SparkCluster) { sc.Finalizers = []string{theirClusterFinalizer} })...)
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
