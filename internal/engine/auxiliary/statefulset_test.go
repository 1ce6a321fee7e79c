package auxiliary

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

func workerSet(replicas *int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "c-worker"},
		Spec: appsv1.StatefulSetSpec{Replicas: replicas}}
	set.SetGroupVersionKind(dependents.StatefulSet)
	return set
}

func asTree(t *testing.T, object client.Object) *unstructured.Unstructured {
	t.Helper()

	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: tree}
}

// TestAutoscaled checks that autoscaled returns the name of the StatefulSet that an autoscaler scales, even if the
// autoscaler has fields that the operator's types do not declare.
func TestAutoscaled(t *testing.T) {
	t.Parallel()

	scaler := func(kind, name string) *autoscalingv2.HorizontalPodAutoscaler {
		s := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name},
		}}
		s.SetGroupVersionKind(autoscaler)
		return s
	}
	for name, test := range map[string]struct {
		objects []submit.Object
		want    []string
	}{
		"no autoscaler": {[]submit.Object{workerSet(nil)}, nil},
		"typed": {[]submit.Object{workerSet(nil), scaler("StatefulSet", "c-worker")},
			[]string{"c-worker"}},
		"with unknown fields": {[]submit.Object{asTree(t, scaler("StatefulSet", "c-worker"))},
			[]string{"c-worker"}},
		"an autoscaler of a Deployment": {[]submit.Object{scaler("Deployment", "c-worker")}, nil},
	} {
		if diff := cmp.Diff(test.want, autoscaled(test.objects)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// livePods is a reader whose lists always contain the given pods.
type livePods struct {
	client.Reader
	pods []corev1.Pod
}

func (l *livePods) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = slices.Clone(l.pods)
	return nil
}

// TestNewSetKeepsThePodsOfThePrevious checks that a new StatefulSet with an autoscaler starts with as many pods as the
// previous StatefulSet had. Without an autoscaler, it starts with the wanted number of pods.
func TestNewSetKeepsThePodsOfThePrevious(t *testing.T) {
	t.Parallel()

	stray := func(name string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: "c",
				appsv1.StatefulSetPodNameLabel: name}}}
	}
	ofSet := func(set, name string) corev1.Pod {
		pod := stray(name)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set,
			Controller: new(true)}}
		return pod
	}
	going := stray("c-worker-4")
	going.DeletionTimestamp = new(metav1.Now())
	unlike := stray("c-worker-4")
	unlike.Labels[identity.RoleLabel] = identity.RoleExecutor
	workers := []string{"c-worker"}
	single := []corev1.Pod{stray("c-worker-0")}

	two := []corev1.Pod{stray("c-worker-2"), stray("c-worker-1")}
	for name, test := range map[string]struct {
		scaled  []string
		pods    []corev1.Pod
		cached  []corev1.Pod
		existed bool
		first   *int32
		want    int64
	}{
		"no pods":                {workers, nil, nil, true, new(int32(2)), 2},
		"fewer pods than wanted": {workers, single, nil, true, new(int32(2)), 2},
		"more pods than wanted, with gaps": {workers,
			[]corev1.Pod{stray("c-worker-4"), stray("c-worker-1"), stray("c-worker-0")}, nil, true, new(int32(2)), 5},
		"no wanted number": {workers, []corev1.Pod{stray("c-worker-1")}, nil, true, nil, 2},
		"a forged pod with a high number": {workers, []corev1.Pod{stray("c-worker-0"), stray("c-worker-99999")},
			nil, true, new(int32(2)), 4},
		"pods of another StatefulSet": {workers, []corev1.Pod{stray("c-worker-x-4"), stray("d-worker-4")}, nil,
			true, new(int32(2)), 2},
		"a pod that is being deleted": {workers, []corev1.Pod{stray("c-worker-2"), going, stray("c-worker-1")},
			nil, true, new(int32(2)), 3},
		"no autoscaler": {nil, []corev1.Pod{stray("c-worker-4")}, single, true,
			new(int32(2)), 2},
		"an autoscaler of another StatefulSet": {[]string{"d-worker"}, []corev1.Pod{stray("c-worker-4")}, single, true,
			new(int32(2)), 2},

		"pods that the previous StatefulSet still owns": {workers,
			[]corev1.Pod{ofSet("c-worker", "c-worker-1"), ofSet("c-worker", "c-worker-2")}, nil, true,
			new(int32(2)), 3},
		"pods of other owners": {workers,
			[]corev1.Pod{ofSet("other", "c-worker-3"), ofSet("other", "c-worker-4"), unlike}, nil, true,
			new(int32(2)), 2},
		"more pods than in the cache":  {workers, two, single, false, new(int32(2)), 3},
		"fewer pods than in the cache": {workers, single, two, false, new(int32(2)), 2},
		"no trace of a previous set": {workers, two, []corev1.Pod{stray("c-master-0")}, false,
			new(int32(2)), 2},
	} {
		for _, object := range []client.Object{workerSet(test.first), asTree(t, workerSet(test.first))} {
			lost := min(1, len(test.cached)) // the other pods still belong to the previous set
			w := &work{scaled: test.scaled,
				View: dependents.View{Owner: &sparkv1.SparkCluster{},
					Set: dependents.Set{Strays: test.cached[:lost], Members: test.cached[lost:]}}}
			k := Keeper{Client: dependents.Client{Live: &livePods{pods: test.pods}}}

			first, err := k.objectToCreate(t.Context(), w, object, test.existed)
			if err != nil {
				t.Fatal(err)
			}

			got, _, err := unstructured.NestedInt64(asTree(t, first).Object, "spec", "replicas")
			if err != nil || got != test.want {
				t.Errorf("%s: %d pods (%v), want %d", name, got, err, test.want)
			}
		}
	}
}

// TestKeepScale checks that an apply keeps the current number of pods of an autoscaled StatefulSet.
func TestKeepScale(t *testing.T) {
	t.Parallel()

	for scaled, want := range map[string]int64{"c-worker": 7, "d-worker": 2} {
		w := &work{scaled: []string{scaled}}

		tree := asTree(t, workerSet(new(int32(2)))).Object
		if err := w.keepScale(tree, asTree(t, workerSet(new(int32(7))))); err != nil {
			t.Fatal(err)
		}

		if got, _, _ := unstructured.NestedInt64(tree, "spec", "replicas"); got != want {
			t.Errorf("with %s scaled it is applied with %d pods, want %d", scaled, got, want)
		}
	}
}

// TestInheritedContent checks that inheritedContent returns a different label for each generation, and that the label
// value is valid.
func TestInheritedContent(t *testing.T) {
	t.Parallel()

	if first, other := inheritedContent(1), inheritedContent(math.MaxInt64); first == other || len(other) > 63 {
		t.Errorf("%q and %q", first, other)
	}
}

// TestKeepScaleIgnoresZero checks that the number zero is not kept, because an autoscaler never scales a StatefulSet
// that has no pods.
func TestKeepScaleIgnoresZero(t *testing.T) {
	t.Parallel()

	w := &work{scaled: []string{"c-worker"}}

	tree := asTree(t, workerSet(new(int32(2)))).Object
	if err := w.keepScale(tree, asTree(t, workerSet(new(int32(0))))); err != nil {
		t.Fatal(err)
	}

	if got, _, _ := unstructured.NestedInt64(tree, "spec", "replicas"); got != 2 {
		t.Errorf("it is applied with %d pods, want 2", got)
	}
}
