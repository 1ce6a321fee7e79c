package trim

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/test/kit/wire"
)

// anyObjects returns a filler of objects with values that an API server could send.
func anyObjects(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(int64(c.Intn(1000)), resource.DecimalSI)
		},
		func(m *metav1.Time, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(m *metav1.MicroTime, c randfill.Continue) { m.Time = time.Unix(int64(c.Intn(1<<30)), 0) },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(int32(c.Intn(1000))) },
		func(s *string, c randfill.Continue) { *s = fmt.Sprintf("s%d", c.Intn(1000)) },
		func(c1 *corev1.PodCondition, c randfill.Continue) {
			c.FillNoCustom(c1)

			all := append([]corev1.PodConditionType{corev1.PodInitialized}, executorConditions...)
			c1.Type = all[c.Intn(len(all))]
		},
		func(e *corev1.EnvVar, c randfill.Continue) {
			c.FillNoCustom(e)

			if c.Intn(4) == 0 {
				e.Name = ServerVariable
			}
		},
		func(k *corev1.Container, c randfill.Continue) {
			c.FillNoCustom(k)
			c.Fill(&k.Resources)
			k.Name = []string{overlay.DriverContainer, overlay.ExecutorContainer, "main", "sidecar"}[c.Intn(4)]
		},
		func(s *corev1.PodSpec, c randfill.Continue) {
			c.FillNoCustom(s)

			s.Overhead = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(int64(c.Intn(9)), resource.DecimalSI)}
			if s.Resources != nil && c.Intn(2) == 0 {
				s.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7Gi")}
			}
		},
		func(end *corev1.ContainerStateTerminated, c randfill.Continue) {
			c.FillNoCustom(end)

			if c.Intn(2) == 0 {
				end.Reason = lifecycle.ReasonOOMKilled
			}
		},
		func(r *corev1.ResourceRequirements, c randfill.Continue) {
			r.Limits = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(int64(c.Intn(1000)),
				resource.BinarySI)}
			r.Requests = corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(int64(c.Intn(1000)), resource.DecimalSI), lifecycle.GPUResources[c.Intn(2)]: resource.MustParse("1"),
				corev1.ResourceMemory: *resource.NewQuantity(int64(c.Intn(10))<<30, resource.BinarySI), "example.com/fpga": resource.MustParse("3"),
			}
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(m)

			m.Labels, m.Annotations = map[string]string{"other": "x"}, map[string]string{"other": "x"}
			for _, label := range childLabels {
				if c.Intn(2) == 0 {
					m.Labels[label] = fmt.Sprintf("v%d", c.Intn(1000))
				}
			}

			roles := append([]string{identity.RoleExecutor, identity.RoleServer}, identity.RoleDriver,
				identity.RoleServer)

			m.Labels[identity.RoleLabel] = roles[c.Intn(len(roles))]
			for _, annotation := range podAnnotations {
				if c.Intn(2) == 0 {
					m.Annotations[annotation] = fmt.Sprintf("v%d", c.Intn(1000))
				}
			}
		},
	)
}

// TestKeptIsWhatTrimReads checks that Kept drops only fields that trimming drops too. If the trimming code starts to
// read another field, this test fails until Kept contains that field.
func TestKeptIsWhatTrimReads(t *testing.T) {
	trimmed := func(t *testing.T, trim func(any) (any, error), in []byte) any {
		t.Helper()

		out, err := trim(wire.Decode(t, in))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, test := range []struct {
		version, kind string
		make          func() runtime.Object
		trim          func(any) (any, error)
	}{
		{"v1", "Pod", func() runtime.Object { return &corev1.Pod{} }, Pod},
		{metav1.SchemeGroupVersion.String(), "PartialObjectMetadata",
			func() runtime.Object { return &metav1.PartialObjectMetadata{} }, Child},
		{metav1.SchemeGroupVersion.String(), "PartialObjectMetadata",
			func() runtime.Object { return &metav1.PartialObjectMetadata{} }, Metadata},
	} {
		for seed := range int64(200) {
			object := test.make()
			anyObjects(seed).Fill(object)
			object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(test.version, test.kind))
			whole := wire.Encode(t, object)

			less := Kept.Shed(whole)
			if len(less) >= len(whole) {
				t.Fatalf("%s, seed %d: nothing was left out of %d bytes", test.kind, seed, len(whole))
			}

			if diff := cmp.Diff(trimmed(t, test.trim, whole), trimmed(t, test.trim, less)); diff != "" {
				t.Fatalf("%s, seed %d (-decoded whole +decoded less):\n%s", test.kind, seed, diff)
			}
		}
	}
}

// TestKeptOfLists checks that a list keeps its resourceVersion and its continue token, and that its items are trimmed
// like single objects. An API server that does not support watch lists sends lists.
func TestKeptOfLists(t *testing.T) {
	remaining := int64(7)
	meta := metav1.ListMeta{ResourceVersion: "42", Continue: "more", RemainingItemCount: &remaining}
	var pods corev1.PodList

	var partial metav1.PartialObjectMetadataList
	for seed := range int64(20) {
		var pod corev1.Pod
		anyObjects(seed).Fill(&pod)
		pod.TypeMeta = metav1.TypeMeta{}
		pods.Items = append(pods.Items, pod)
		partial.Items = append(partial.Items, metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
	}

	pods.TypeMeta, pods.ListMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, meta
	partial.TypeMeta, partial.ListMeta = metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(),
		Kind: "PartialObjectMetadataList"}, meta

	whole := wire.Decode(t, wire.Encode(t, &pods)).(*corev1.PodList)

	less := wire.Decode(t, Kept.Shed(wire.Encode(t, &pods))).(*corev1.PodList)
	if diff := cmp.Diff(meta, less.ListMeta); diff != "" {
		t.Errorf("of pods (-want +got):\n%s", diff)
	}

	for i := range whole.Items {
		want, _ := Pod(&whole.Items[i])

		got, _ := Pod(&less.Items[i])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pod %d (-decoded whole +decoded less):\n%s", i, diff)
		}
	}

	wholeMeta := wire.Decode(t, wire.Encode(t, &partial)).(*metav1.PartialObjectMetadataList)

	lessMeta := wire.Decode(t, Kept.Shed(wire.Encode(t, &partial))).(*metav1.PartialObjectMetadataList)
	if diff := cmp.Diff(meta, lessMeta.ListMeta); diff != "" {
		t.Errorf("of metadata (-want +got):\n%s", diff)
	}

	for i := range wholeMeta.Items {
		want, _ := Child(&wholeMeta.Items[i])

		got, _ := Child(&lessMeta.Items[i])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metadata %d (-decoded whole +decoded less):\n%s", i, diff)
		}
	}
}

// TestKeptOfBookmarks checks that the annotation that marks the end of a watch's initial events is kept. Without this
// annotation, no cache would ever be synced.
func TestKeptOfBookmarks(t *testing.T) {
	done := metav1.ObjectMeta{ResourceVersion: "42",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
	for _, mark := range []runtime.Object{
		&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: done},
		&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(),
			Kind: "PartialObjectMetadata"}, ObjectMeta: done},
	} {
		if diff := cmp.Diff(wire.Decode(t, wire.Encode(t, mark)), wire.Decode(t, Kept.Shed(wire.Encode(t, mark)))); diff != "" {
			t.Errorf("%T (-sent +Kept):\n%s", mark, diff)
		}
	}
}
