package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
)

type (
	sparkCluster = sparkv1.SparkCluster
	clusterState = sparkv1.ClusterStateSummary
)

// podsOfSets names a task of Kubernetes' own controllers: they create the pods of StatefulSets. A test that needs this
// task is skipped if the test environment has only an API server.
const podsOfSets = "the pods of a StatefulSet"

// runClusters starts an operator that serves only SparkClusters. Kubernetes' own controllers create the pods of
// StatefulSets, and the test plays the kubelet.
func (w *world) runClusters(cfg config.Configuration, clock controller.Clock, change ...func(*Environment)) (stop func()) {
	w.T.Helper()
	kit.NeedsControllers(w.T, podsOfSets)
	return serveAlone(w, cfg, clock, func(op *Operator) controller.Kind { return kinds.SparkClusters(op.Settings, nil) }, change)
}

// workers returns a change that sets the initial, minimum and maximum number of workers of a cluster.
func workers(first, least, most int64) func(*sparkCluster) {
	return func(sc *sparkCluster) {
		sc.Spec.ClusterTolerations.InstanceConfig = sparkv1.WorkerInstanceConfig{InitWorkers: first, MinWorkers: least, MaxWorkers: most}
	}
}

// notRolled sets the update strategy OnDelete for a cluster's workers, so that a StatefulSet does not replace the pods
// that it adopts.
func notRolled(sc *sparkCluster) {
	sc.Spec.WorkerSpec = &sparkv1.WorkerSpec{MemberSpec: sparkv1.MemberSpec{StatefulSetSpec: template(`{"updateStrategy":{"type":"OnDelete"}}`)}}
}

// sparkCluster creates a SparkCluster with one worker.
func (w *world) sparkCluster(name string, change ...func(*sparkCluster)) *sparkCluster {
	w.T.Helper()
	sc := &sparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	sc.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	sc.Spec.SparkConf = map[string]string{"spark.kubernetes.container.image": "docker.io/apache/spark:4.1.4"}
	workers(1, 1, 1)(sc)

	for _, c := range change {
		c(sc)
	}

	w.Create(sc)
	return sc
}

func (w *world) getCluster(name string) *sparkCluster {
	w.T.Helper()

	sc := &sparkCluster{}
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, sc); err != nil {
		w.T.Fatal(err)
	}
	return sc
}

func (w *world) patchCluster(name, patch string) {
	w.T.Helper()

	if err := w.API.Patch(w.T.Context(), w.getCluster(name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// waitCluster waits until a cluster is in the given state and meets all given conditions.
func (w *world) waitCluster(name string, state clusterState, holds ...func(*sparkCluster) error) *sparkCluster {
	w.T.Helper()
	var sc *sparkCluster
	kit.Wait(w.T, fmt.Sprintf("%s to be %s", name, state), func(ctx context.Context) error {
		sc = &sparkCluster{}
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

// clusterHolds returns a check that a cluster has a condition with the given status, whose reason or message contains
// all the texts.
func clusterHolds(kind string, status metav1.ConditionStatus, says ...string) func(*sparkCluster) error {
	return func(sc *sparkCluster) error {
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

// clusterLacks returns a check that a condition of a cluster is not True, or does not exist.
func clusterLacks(kind string) func(*sparkCluster) error {
	return func(sc *sparkCluster) error {
		return want(meta.IsStatusConditionTrue(sc.Status.Conditions, kind), false)
	}
}

// readyWorkers returns a check that a cluster's status reports n ready workers.
func readyWorkers(n int32) func(*sparkCluster) error {
	return func(sc *sparkCluster) error {
		if sc.Status.Workers == nil {
			return errors.New("no worker is reported")
		}
		return want(sc.Status.Workers.Ready, n)
	}
}

// clusterHistory returns the states of a status, oldest first.
func clusterHistory(sc *sparkCluster) (states []clusterState) {
	for i := range len(sc.Status.StateTransitionHistory) {
		states = append(states, sc.Status.StateTransitionHistory[fmt.Sprint(i)].CurrentStateSummary)
	}
	return states
}

// members returns the existing pods of a cluster, in the order of their names.
func (w *world) members(name string) (pods []corev1.Pod) {
	w.T.Helper()

	var list corev1.PodList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{identity.ClusterNameLabel: name}); err != nil {
		w.T.Fatal(err)
	}

	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// secretNames returns the names of a cluster's Secrets.
func (w *world) secretNames(sc *sparkCluster) (names []string) {
	w.T.Helper()

	for _, secret := range w.secretsOf(sc) {
		names = append(names, secret.Name)
	}
	return names
}

// memberUIDs returns the UIDs of a cluster's pods, by the name of the pod.
func (w *world) memberUIDs(name string) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range w.members(name) {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// waitOwned waits until a StatefulSet owns all worker pods of a cluster.
func (w *world) waitOwned(name string, set *appsv1.StatefulSet) {
	w.T.Helper()
	kit.Wait(w.T, "the pods to be taken over", func(context.Context) error {
		for _, pod := range w.members(name) {
			if pod.Labels[identity.RoleLabel] == identity.RoleWorker && !metav1.IsControlledBy(&pod, set) {
				return fmt.Errorf("%s is owned by %v", pod.Name, pod.OwnerReferences)
			}
		}
		return nil
	})
}

// kubelets plays the kubelet for all pending pods of the test's namespace, until the test ends or calls the returned
// function.
func (w *world) kubelets() (stop func()) {
	ctx, cancel := context.WithCancel(w.T.Context())

	done := make(chan struct{})
	go func() {
		defer close(done)

		for {
			var pods corev1.PodList
			if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace)); err == nil {
				for i := range pods.Items {
					w.start(ctx, &pods.Items[i])
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
func (w *world) start(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}

	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning

	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: running(), Ready: true})
	}

	_ = w.API.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// set waits until a StatefulSet meets all conditions, and returns it.
func (w *world) set(name string, holds ...func(*appsv1.StatefulSet) error) *appsv1.StatefulSet {
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

// replicas returns a check that a StatefulSet's spec has n replicas.
func replicas(n int32) func(*appsv1.StatefulSet) error {
	return func(set *appsv1.StatefulSet) error { return want(*set.Spec.Replicas, n) }
}

// scale sets the replicas of a StatefulSet, as an autoscaler does.
func (w *world) scale(set string, n int) {
	w.T.Helper()
	object := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: set}}

	patch := client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)))
	if err := w.API.SubResource("scale").Patch(w.T.Context(), object, patch); err != nil {
		w.T.Fatal(err)
	}
}
